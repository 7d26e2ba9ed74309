// Instances of take.
#include "selection/take.h"

template [[host_name("take_naive")]] [[kernel]] decltype(take_naive<int>) take_naive<int>;

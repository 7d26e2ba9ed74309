// Instances of topk.
#include "selection/topk_naive.h"
#include "selection/topk_radix.h"

template [[host_name("topk_naive")]] [[kernel]] decltype(topk_naive<float>) topk_naive<float>;
template [[host_name("topk_radix")]] [[kernel]] decltype(topk_radix<float>) topk_radix<float>;

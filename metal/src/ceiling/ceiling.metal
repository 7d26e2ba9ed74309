// The loops are plain kernels: each has one instance.
#include "ceiling/ceiling.h"

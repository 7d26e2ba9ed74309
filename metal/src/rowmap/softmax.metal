// Instances of softmax.
#include "rowmap/softmax.h"

template [[host_name("softmax_f32_naive")]] [[kernel]] decltype(softmax_naive<float>) softmax_naive<float>;
template [[host_name("softmax_f32_simdgroup")]] [[kernel]] decltype(softmax_simdgroup<float>) softmax_simdgroup<float>;
template [[host_name("softmax_bf16_naive")]] [[kernel]] decltype(softmax_naive<bf16>) softmax_naive<bf16>;
template [[host_name("softmax_bf16_simdgroup")]] [[kernel]] decltype(softmax_simdgroup<bf16>) softmax_simdgroup<bf16>;
template [[host_name("softmax_f16_naive")]] [[kernel]] decltype(softmax_naive<half>) softmax_naive<half>;
template [[host_name("softmax_f16_simdgroup")]] [[kernel]] decltype(softmax_simdgroup<half>) softmax_simdgroup<half>;

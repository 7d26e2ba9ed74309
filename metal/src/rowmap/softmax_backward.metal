// Instances of softmax_backward.
#include "rowmap/softmax_backward.h"

template [[host_name("softmax_backward_f32_naive")]] [[kernel]] decltype(softmax_backward_naive<float>) softmax_backward_naive<float>;
template [[host_name("softmax_backward_f32_simdgroup")]] [[kernel]] decltype(softmax_backward_simdgroup<float>) softmax_backward_simdgroup<float>;
template [[host_name("softmax_backward_bf16_naive")]] [[kernel]] decltype(softmax_backward_naive<bf16>) softmax_backward_naive<bf16>;
template [[host_name("softmax_backward_bf16_simdgroup")]] [[kernel]] decltype(softmax_backward_simdgroup<bf16>) softmax_backward_simdgroup<bf16>;
template [[host_name("softmax_backward_f16_naive")]] [[kernel]] decltype(softmax_backward_naive<half>) softmax_backward_naive<half>;
template [[host_name("softmax_backward_f16_simdgroup")]] [[kernel]] decltype(softmax_backward_simdgroup<half>) softmax_backward_simdgroup<half>;

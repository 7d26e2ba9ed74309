// Instances of hardest_negative_loss_backward.
#include "loss/hardest_negative_loss_backward.h"

template [[host_name("hardest_negative_loss_backward_f32_naive")]] [[kernel]] decltype(hardest_backward_naive<float>) hardest_backward_naive<float>;
template [[host_name("hardest_negative_loss_backward_f32_simdgroup")]] [[kernel]] decltype(hardest_backward_simdgroup<float>) hardest_backward_simdgroup<float>;
template [[host_name("hardest_negative_loss_backward_bf16_naive")]] [[kernel]] decltype(hardest_backward_naive<bf16>) hardest_backward_naive<bf16>;
template [[host_name("hardest_negative_loss_backward_bf16_simdgroup")]] [[kernel]] decltype(hardest_backward_simdgroup<bf16>) hardest_backward_simdgroup<bf16>;
template [[host_name("hardest_negative_loss_backward_f16_naive")]] [[kernel]] decltype(hardest_backward_naive<half>) hardest_backward_naive<half>;
template [[host_name("hardest_negative_loss_backward_f16_simdgroup")]] [[kernel]] decltype(hardest_backward_simdgroup<half>) hardest_backward_simdgroup<half>;

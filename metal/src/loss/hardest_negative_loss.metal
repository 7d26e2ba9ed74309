// Instances of hardest_negative_loss.
#include "loss/hardest_negative_loss.h"

template [[host_name("hardest_negative_loss_f32_naive_rows")]] [[kernel]] decltype(hardest_rows_naive<float>) hardest_rows_naive<float>;
template [[host_name("hardest_negative_loss_f32_naive_reduce")]] [[kernel]] decltype(hardest_reduce_naive<float>) hardest_reduce_naive<float>;
template [[host_name("hardest_negative_loss_f32_simdgroup_rows")]] [[kernel]] decltype(hardest_rows_simdgroup<float>) hardest_rows_simdgroup<float>;
template [[host_name("hardest_negative_loss_f32_simdgroup_reduce")]] [[kernel]] decltype(hardest_reduce_simdgroup<float>) hardest_reduce_simdgroup<float>;
template [[host_name("hardest_negative_loss_bf16_naive_rows")]] [[kernel]] decltype(hardest_rows_naive<bf16>) hardest_rows_naive<bf16>;
template [[host_name("hardest_negative_loss_bf16_naive_reduce")]] [[kernel]] decltype(hardest_reduce_naive<bf16>) hardest_reduce_naive<bf16>;
template [[host_name("hardest_negative_loss_bf16_simdgroup_rows")]] [[kernel]] decltype(hardest_rows_simdgroup<bf16>) hardest_rows_simdgroup<bf16>;
template [[host_name("hardest_negative_loss_bf16_simdgroup_reduce")]] [[kernel]] decltype(hardest_reduce_simdgroup<bf16>) hardest_reduce_simdgroup<bf16>;
template [[host_name("hardest_negative_loss_f16_naive_rows")]] [[kernel]] decltype(hardest_rows_naive<half>) hardest_rows_naive<half>;
template [[host_name("hardest_negative_loss_f16_naive_reduce")]] [[kernel]] decltype(hardest_reduce_naive<half>) hardest_reduce_naive<half>;
template [[host_name("hardest_negative_loss_f16_simdgroup_rows")]] [[kernel]] decltype(hardest_rows_simdgroup<half>) hardest_rows_simdgroup<half>;
template [[host_name("hardest_negative_loss_f16_simdgroup_reduce")]] [[kernel]] decltype(hardest_reduce_simdgroup<half>) hardest_reduce_simdgroup<half>;

// Instances of rms_norm_backward. Every dtype pair has its own instance even where a body uses one type only: an
// explicit instance has one host name.
#include "rownorm/rms_norm_backward.h"

template [[host_name("rms_norm_backward_f32_naive_dw")]] [[kernel]] decltype(rms_norm_backward_dw<float, float>) rms_norm_backward_dw<float, float>;
template [[host_name("rms_norm_backward_f32_naive_rows")]] [[kernel]] decltype(rms_norm_backward_rows_naive<float, float>) rms_norm_backward_rows_naive<float, float>;
template [[host_name("rms_norm_backward_f32_simdgroup_partial")]] [[kernel]] decltype(rms_norm_backward_partial<float, float>) rms_norm_backward_partial<float, float>;
template [[host_name("rms_norm_backward_f32_simdgroup_dw")]] [[kernel]] decltype(rms_norm_backward_dw_partials<float, float>) rms_norm_backward_dw_partials<float, float>;
template [[host_name("rms_norm_backward_f32_simdgroup_rows")]] [[kernel]] decltype(rms_norm_backward_rows_simdgroup<float, float>) rms_norm_backward_rows_simdgroup<float, float>;
template [[host_name("rms_norm_backward_bf16_naive_dw")]] [[kernel]] decltype(rms_norm_backward_dw<bf16, bf16>) rms_norm_backward_dw<bf16, bf16>;
template [[host_name("rms_norm_backward_bf16_naive_rows")]] [[kernel]] decltype(rms_norm_backward_rows_naive<bf16, bf16>) rms_norm_backward_rows_naive<bf16, bf16>;
template [[host_name("rms_norm_backward_bf16_simdgroup_partial")]] [[kernel]] decltype(rms_norm_backward_partial<bf16, bf16>) rms_norm_backward_partial<bf16, bf16>;
template [[host_name("rms_norm_backward_bf16_simdgroup_dw")]] [[kernel]] decltype(rms_norm_backward_dw_partials<bf16, bf16>) rms_norm_backward_dw_partials<bf16, bf16>;
template [[host_name("rms_norm_backward_bf16_simdgroup_rows")]] [[kernel]] decltype(rms_norm_backward_rows_simdgroup<bf16, bf16>) rms_norm_backward_rows_simdgroup<bf16, bf16>;
template [[host_name("rms_norm_backward_f16_naive_dw")]] [[kernel]] decltype(rms_norm_backward_dw<half, half>) rms_norm_backward_dw<half, half>;
template [[host_name("rms_norm_backward_f16_naive_rows")]] [[kernel]] decltype(rms_norm_backward_rows_naive<half, half>) rms_norm_backward_rows_naive<half, half>;
template [[host_name("rms_norm_backward_f16_simdgroup_partial")]] [[kernel]] decltype(rms_norm_backward_partial<half, half>) rms_norm_backward_partial<half, half>;
template [[host_name("rms_norm_backward_f16_simdgroup_dw")]] [[kernel]] decltype(rms_norm_backward_dw_partials<half, half>) rms_norm_backward_dw_partials<half, half>;
template [[host_name("rms_norm_backward_f16_simdgroup_rows")]] [[kernel]] decltype(rms_norm_backward_rows_simdgroup<half, half>) rms_norm_backward_rows_simdgroup<half, half>;
template [[host_name("rms_norm_backward_bf16_f32_naive_dw")]] [[kernel]] decltype(rms_norm_backward_dw<bf16, float>) rms_norm_backward_dw<bf16, float>;
template [[host_name("rms_norm_backward_bf16_f32_naive_rows")]] [[kernel]] decltype(rms_norm_backward_rows_naive<bf16, float>) rms_norm_backward_rows_naive<bf16, float>;
template [[host_name("rms_norm_backward_bf16_f32_simdgroup_partial")]] [[kernel]] decltype(rms_norm_backward_partial<bf16, float>) rms_norm_backward_partial<bf16, float>;
template [[host_name("rms_norm_backward_bf16_f32_simdgroup_dw")]] [[kernel]] decltype(rms_norm_backward_dw_partials<bf16, float>) rms_norm_backward_dw_partials<bf16, float>;
template [[host_name("rms_norm_backward_bf16_f32_simdgroup_rows")]] [[kernel]] decltype(rms_norm_backward_rows_simdgroup<bf16, float>) rms_norm_backward_rows_simdgroup<bf16, float>;
template [[host_name("rms_norm_backward_f16_f32_naive_dw")]] [[kernel]] decltype(rms_norm_backward_dw<half, float>) rms_norm_backward_dw<half, float>;
template [[host_name("rms_norm_backward_f16_f32_naive_rows")]] [[kernel]] decltype(rms_norm_backward_rows_naive<half, float>) rms_norm_backward_rows_naive<half, float>;
template [[host_name("rms_norm_backward_f16_f32_simdgroup_partial")]] [[kernel]] decltype(rms_norm_backward_partial<half, float>) rms_norm_backward_partial<half, float>;
template [[host_name("rms_norm_backward_f16_f32_simdgroup_dw")]] [[kernel]] decltype(rms_norm_backward_dw_partials<half, float>) rms_norm_backward_dw_partials<half, float>;
template [[host_name("rms_norm_backward_f16_f32_simdgroup_rows")]] [[kernel]] decltype(rms_norm_backward_rows_simdgroup<half, float>) rms_norm_backward_rows_simdgroup<half, float>;

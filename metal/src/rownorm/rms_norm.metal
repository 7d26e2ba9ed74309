// Instances of rms_norm.
#include "rownorm/rms_norm.h"

template [[host_name("rms_norm_f32_naive")]] [[kernel]] decltype(rms_norm_naive<float, float>) rms_norm_naive<float, float>;
template [[host_name("rms_norm_f32_simdgroup")]] [[kernel]] decltype(rms_norm_simdgroup<float, float>) rms_norm_simdgroup<float, float>;
template [[host_name("rms_norm_bf16_naive")]] [[kernel]] decltype(rms_norm_naive<bf16, bf16>) rms_norm_naive<bf16, bf16>;
template [[host_name("rms_norm_bf16_simdgroup")]] [[kernel]] decltype(rms_norm_simdgroup<bf16, bf16>) rms_norm_simdgroup<bf16, bf16>;
template [[host_name("rms_norm_f16_naive")]] [[kernel]] decltype(rms_norm_naive<half, half>) rms_norm_naive<half, half>;
template [[host_name("rms_norm_f16_simdgroup")]] [[kernel]] decltype(rms_norm_simdgroup<half, half>) rms_norm_simdgroup<half, half>;
template [[host_name("rms_norm_bf16_f32_naive")]] [[kernel]] decltype(rms_norm_naive<bf16, float>) rms_norm_naive<bf16, float>;
template [[host_name("rms_norm_bf16_f32_simdgroup")]] [[kernel]] decltype(rms_norm_simdgroup<bf16, float>) rms_norm_simdgroup<bf16, float>;
template [[host_name("rms_norm_f16_f32_naive")]] [[kernel]] decltype(rms_norm_naive<half, float>) rms_norm_naive<half, float>;
template [[host_name("rms_norm_f16_f32_simdgroup")]] [[kernel]] decltype(rms_norm_simdgroup<half, float>) rms_norm_simdgroup<half, float>;

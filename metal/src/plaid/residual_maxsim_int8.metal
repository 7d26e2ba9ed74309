// Instances of residual_maxsim_int8.
#include "plaid/residual_maxsim_int8.h"

template [[host_name("residual_maxsim_int8_f32_naive_offsets")]] [[kernel]] decltype(residual_maxsim_int8_offsets<float, 0>) residual_maxsim_int8_offsets<float, 0>;
template [[host_name("residual_maxsim_int8_f32_naive")]] [[kernel]] decltype(residual_maxsim_int8_naive<float>) residual_maxsim_int8_naive<float>;
template [[host_name("residual_maxsim_int8_f32_tiled_offsets")]] [[kernel]] decltype(residual_maxsim_int8_offsets<float, 1>) residual_maxsim_int8_offsets<float, 1>;
template [[host_name("residual_maxsim_int8_f32_tiled")]] [[kernel]] decltype(residual_maxsim_int8_tiled<float>) residual_maxsim_int8_tiled<float>;
template [[host_name("residual_maxsim_int8_f16_naive_offsets")]] [[kernel]] decltype(residual_maxsim_int8_offsets<half, 0>) residual_maxsim_int8_offsets<half, 0>;
template [[host_name("residual_maxsim_int8_f16_naive")]] [[kernel]] decltype(residual_maxsim_int8_naive<half>) residual_maxsim_int8_naive<half>;
template [[host_name("residual_maxsim_int8_f16_tiled_offsets")]] [[kernel]] decltype(residual_maxsim_int8_offsets<half, 1>) residual_maxsim_int8_offsets<half, 1>;
template [[host_name("residual_maxsim_int8_f16_tiled")]] [[kernel]] decltype(residual_maxsim_int8_tiled<half>) residual_maxsim_int8_tiled<half>;

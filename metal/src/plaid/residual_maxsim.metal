// Instances of residual_maxsim.
#include "plaid/residual_simdgroup.h"

template [[host_name("residual_maxsim_f32_naive_offsets")]] [[kernel]] decltype(residual_maxsim_offsets<float, 0>) residual_maxsim_offsets<float, 0>;
template [[host_name("residual_maxsim_f32_naive")]] [[kernel]] decltype(residual_maxsim_naive<float>) residual_maxsim_naive<float>;
template [[host_name("residual_maxsim_f32_tiled_offsets")]] [[kernel]] decltype(residual_maxsim_offsets<float, 1>) residual_maxsim_offsets<float, 1>;
template [[host_name("residual_maxsim_f32_tiled")]] [[kernel]] decltype(residual_maxsim_tiled<float>) residual_maxsim_tiled<float>;
template [[host_name("residual_maxsim_f16_naive_offsets")]] [[kernel]] decltype(residual_maxsim_offsets<half, 0>) residual_maxsim_offsets<half, 0>;
template [[host_name("residual_maxsim_f16_naive")]] [[kernel]] decltype(residual_maxsim_naive<half>) residual_maxsim_naive<half>;
template [[host_name("residual_maxsim_f16_tiled_offsets")]] [[kernel]] decltype(residual_maxsim_offsets<half, 1>) residual_maxsim_offsets<half, 1>;
template [[host_name("residual_maxsim_f16_tiled")]] [[kernel]] decltype(residual_maxsim_tiled<half>) residual_maxsim_tiled<half>;
template [[host_name("residual_maxsim_f16_simdgroup_offsets")]] [[kernel]] decltype(residual_maxsim_offsets<half, 2>) residual_maxsim_offsets<half, 2>;
template [[host_name("residual_maxsim_f16_simdgroup")]] [[kernel]] decltype(residual_maxsim_simdgroup<half>) residual_maxsim_simdgroup<half>;

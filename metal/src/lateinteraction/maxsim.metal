// Instances of maxsim.
#include "lateinteraction/maxsim_simdgroup.h"

template [[host_name("maxsim_f32_naive_offsets")]] [[kernel]] decltype(maxsim_offsets<float, 0>) maxsim_offsets<float, 0>;
template [[host_name("maxsim_f32_naive")]] [[kernel]] decltype(maxsim_naive<float>) maxsim_naive<float>;
template [[host_name("maxsim_f32_simdgroup_offsets")]] [[kernel]] decltype(maxsim_offsets<float, 1>) maxsim_offsets<float, 1>;
template [[host_name("maxsim_f32_simdgroup")]] [[kernel]] decltype(maxsim_simdgroup<float>) maxsim_simdgroup<float>;
template [[host_name("maxsim_bf16_naive_offsets")]] [[kernel]] decltype(maxsim_offsets<bf16, 0>) maxsim_offsets<bf16, 0>;
template [[host_name("maxsim_bf16_naive")]] [[kernel]] decltype(maxsim_naive<bf16>) maxsim_naive<bf16>;
template [[host_name("maxsim_bf16_simdgroup_offsets")]] [[kernel]] decltype(maxsim_offsets<bf16, 1>) maxsim_offsets<bf16, 1>;
template [[host_name("maxsim_bf16_simdgroup")]] [[kernel]] decltype(maxsim_simdgroup<bf16>) maxsim_simdgroup<bf16>;

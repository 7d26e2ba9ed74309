// Instances of maxsim_scaled.
#include "lateinteraction/maxsim_simdgroup.h"

template [[host_name("maxsim_scaled_f8e4m3_naive_offsets")]] [[kernel]] decltype(maxsim_scaled_offsets<f8e4m3, 0>) maxsim_scaled_offsets<f8e4m3, 0>;
template [[host_name("maxsim_scaled_f8e4m3_naive")]] [[kernel]] decltype(maxsim_scaled_naive<f8e4m3>) maxsim_scaled_naive<f8e4m3>;
template [[host_name("maxsim_scaled_f8e4m3_simdgroup_offsets")]] [[kernel]] decltype(maxsim_scaled_offsets<f8e4m3, 1>) maxsim_scaled_offsets<f8e4m3, 1>;
template [[host_name("maxsim_scaled_f8e4m3_simdgroup")]] [[kernel]] decltype(maxsim_scaled_simdgroup<f8e4m3>) maxsim_scaled_simdgroup<f8e4m3>;

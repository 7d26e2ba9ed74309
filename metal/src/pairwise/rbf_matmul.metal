// Instances of rbf_matmul. There is none in f64: MSL has no double.
#include "pairwise/rbf_matmul.h"

template [[host_name("rbf_matmul_f32_naive")]] [[kernel]] decltype(rbf_matmul_naive<float>) rbf_matmul_naive<float>;
template [[host_name("rbf_matmul_f32_tiled")]] [[kernel]] decltype(rbf_matmul_tiled<float>) rbf_matmul_tiled<float>;

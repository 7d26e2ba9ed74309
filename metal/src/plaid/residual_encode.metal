// Instances of residual_encode.
#include "plaid/residual_encode.h"

template [[host_name("residual_encode_naive")]] [[kernel]] decltype(residual_encode_naive<float>) residual_encode_naive<float>;
template [[host_name("residual_encode_simdgroup")]] [[kernel]] decltype(residual_encode_simdgroup<float>) residual_encode_simdgroup<float>;

// Instances of plaid_approx.
#include "plaid/plaid_approx.h"

template [[host_name("plaid_approx_naive_offsets")]] [[kernel]] decltype(plaid_approx_offsets<float, 0>) plaid_approx_offsets<float, 0>;
template [[host_name("plaid_approx_naive")]] [[kernel]] decltype(plaid_approx_naive<float>) plaid_approx_naive<float>;
template [[host_name("plaid_approx_simdgroup_offsets")]] [[kernel]] decltype(plaid_approx_offsets<float, 1>) plaid_approx_offsets<float, 1>;
template [[host_name("plaid_approx_simdgroup")]] [[kernel]] decltype(plaid_approx_simdgroup<float>) plaid_approx_simdgroup<float>;

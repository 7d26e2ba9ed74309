// Instances of plaid_candidates.
#include "plaid/plaid_candidates.h"

template [[host_name("plaid_candidates_bitmap_offsets")]] [[kernel]] decltype(plaid_candidates_offsets<int>) plaid_candidates_offsets<int>;
template [[host_name("plaid_candidates_bitmap_clear")]] [[kernel]] decltype(plaid_candidates_clear<int>) plaid_candidates_clear<int>;
template [[host_name("plaid_candidates_bitmap_mark")]] [[kernel]] decltype(plaid_candidates_mark<int>) plaid_candidates_mark<int>;
template [[host_name("plaid_candidates_bitmap")]] [[kernel]] decltype(plaid_candidates_bitmap<int>) plaid_candidates_bitmap<int>;

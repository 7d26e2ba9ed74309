// Instances of centroid_scores_int8.
#include "plaid/centroid_scores_int8.h"

template [[host_name("centroid_scores_int8_naive_scores")]] [[kernel]] decltype(centroid_scores_int8_naive_scores<int8_t>) centroid_scores_int8_naive_scores<int8_t>;
template [[host_name("centroid_scores_int8_naive_cells")]] [[kernel]] decltype(centroid_scores_int8_naive_cells<int8_t>) centroid_scores_int8_naive_cells<int8_t>;
template [[host_name("centroid_scores_int8_tiled_scores")]] [[kernel]] decltype(centroid_scores_int8_tiled_scores<int8_t>) centroid_scores_int8_tiled_scores<int8_t>;
template [[host_name("centroid_scores_int8_tiled_cells")]] [[kernel]] decltype(centroid_scores_int8_tiled_cells<int8_t>) centroid_scores_int8_tiled_cells<int8_t>;

// Instances of centroid_scores.
#include "plaid/centroid_scores.h"

template [[host_name("centroid_scores_naive_scores")]] [[kernel]] decltype(centroid_scores_naive_scores<float>) centroid_scores_naive_scores<float>;
template [[host_name("centroid_scores_naive_cells")]] [[kernel]] decltype(centroid_scores_naive_cells<float>) centroid_scores_naive_cells<float>;
template [[host_name("centroid_scores_tiled_scores")]] [[kernel]] decltype(centroid_scores_tiled_scores<float>) centroid_scores_tiled_scores<float>;
template [[host_name("centroid_scores_tiled_cells")]] [[kernel]] decltype(centroid_scores_tiled_cells<float>) centroid_scores_tiled_cells<float>;

// Instances of nearest_centroid.
#include "plaid/nearest_centroid.h"

template [[host_name("nearest_centroid_naive")]] [[kernel]] decltype(nearest_centroid_naive<float>) nearest_centroid_naive<float>;
template [[host_name("nearest_centroid_tiled")]] [[kernel]] decltype(nearest_centroid_tiled<float>) nearest_centroid_tiled<float>;

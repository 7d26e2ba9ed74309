// Instances of kmeans_update.
#include "plaid/kmeans_update.h"

template [[host_name("kmeans_update_segmented_clear")]] [[kernel]] decltype(kmeans_update_clear<float>) kmeans_update_clear<float>;
template [[host_name("kmeans_update_segmented_count")]] [[kernel]] decltype(kmeans_update_count<float>) kmeans_update_count<float>;
template [[host_name("kmeans_update_segmented_starts")]] [[kernel]] decltype(kmeans_update_starts<float>) kmeans_update_starts<float>;
template [[host_name("kmeans_update_segmented_place")]] [[kernel]] decltype(kmeans_update_place<float>) kmeans_update_place<float>;
template [[host_name("kmeans_update_segmented")]] [[kernel]] decltype(kmeans_update_segmented<float>) kmeans_update_segmented<float>;

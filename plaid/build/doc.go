// Package build makes late-interaction indexes: centroids by k-means, a table of buckets,
// and the code and residual of every token.
//
//	collection → lengths, checks → sample → centroids → table → chunks → index
//
// Build makes an index in a folder (package store), Add appends documents to one with the
// centroids that it has, and InMemory keeps the result, as a format.Memory, for other
// layouts or for measuring.
//
// # Determinism
//
// Collection, options and seed decide every byte of the index; the backend, its number of
// workers and the memory it may take do not. What is drawn follows from the lengths of
// documents, by a generator with a stream for each purpose. Codes are canonical nearest
// centroids and sums are integers (package canon), so neither order nor grouping shows;
// norms, the table of buckets and quantiles are made on the host, in float64, and rounded
// once. Centroids are rounded to half precision, so that layouts which store them so lose
// nothing.
//
// # Memory
//
// A collection is read from front to back, four times at most while its sample fits the
// device, and is never held. The build takes four bytes a document, 28 a component and
// centroid on host and device together, a chunk, the held-out tokens (5 % of the sample and
// at most 50,000), and the sample, which stays on the device. A sample that does not fit
// (Options.DeviceMemory) is read again for each iteration of k-means instead, which takes 12
// bytes more a component and centroid.
//
// # Sizes
//
// The rules are fast-plaid's: 1+⌊16·√(120·N)⌋ sampled documents, 2^⌊log2(16·√T)⌋ centroids,
// by the true number of tokens T and no more than there are sampled tokens, at most 256
// training tokens a centroid, and buckets measured on 5 % of the sample: those of the least
// squared error (codec.FitTable), where fast-plaid takes quantiles. One token is enough for
// an index.
package build

// Package codec is the residual codec of late-interaction indexes, as ColBERTv2, fast-plaid
// and next-plaid write it.
//
// A token is the number of its nearest centroid (its code) and, for each component, the
// bucket of what the centroid leaves over: 1, 2, 4 or 8 bits. A [Table] holds the cut points
// between buckets and the value each bucket stands for, one table for the whole index.
//
//	code, row  →  centroid[code] + weight[bucket]  →  normalised
//
// Bytes are in the writers' order. Bits leave each bucket least significant first and enter
// each byte from the most significant end, so component 0 sits in the high bits and every
// group of bits is reversed:
//
//	byte = Σ reversed(bucket k) << (8 − bits·(k+1)),  k = 0 … 8/bits − 1
//
// A reader that takes low bits first gets other vectors from the same bytes.
//
// What decides index bytes, nearest centroids ([Nearest]) and quantiles ([NewTable]), follows
// package canon: the same bits on every machine, in every grouping.
package codec

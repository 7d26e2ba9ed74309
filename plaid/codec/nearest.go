package codec

import (
	"errors"
	"fmt"

	"github.com/likbench/likbench/backend/canon"
)

// ErrNaN reports a token whose dot product with a centroid is NaN.
var ErrNaN = errors.New("NaN")

// Blocks of Nearest: 64 tokens share the reading of a block of centroids, and their scores,
// 64 KiB, stay in the second-level cache.
const (
	tokenBlock    = 64
	centroidBlock = 256
)

// Nearest writes, for each token, the centroid of the largest canonical dot product, the
// lowest on ties: the nearest one where centroids have unit norm. tokens are len(codes)×dim,
// centroids K×dim, row-major, K from 1 to 2³¹−1. No tokens × centroids matrix is made.
//
// It fails with ErrLength, and with ErrNaN, which names the token; codes are then undefined.
func Nearest(codes []int32, tokens, centroids []float32, dim int) error {
	if dim < 1 || len(tokens) != len(codes)*dim || len(centroids)%dim != 0 || len(centroids) == 0 {
		return fmt.Errorf("codec: %d values of %d tokens, %d values of centroids, %d components: %w",
			len(tokens), len(codes), len(centroids), dim, ErrLength)
	}
	k := len(centroids) / dim
	var scores [tokenBlock * centroidBlock]float32
	var best [tokenBlock]float32
	for from := 0; from < len(codes); from += tokenBlock {
		n := min(tokenBlock, len(codes)-from)
		for c := 0; c < k; c += centroidBlock {
			m := min(centroidBlock, k-c)
			canon.Matrix(scores[:n*m], tokens[from*dim:], n, centroids[c*dim:], m, dim)
			for i := range n {
				for j, s := range scores[i*m : (i+1)*m] {
					switch {
					case s != s:
						return fmt.Errorf("codec: token %d with centroid %d: %w", from+i, c+j, ErrNaN)
					case s > best[i] || c+j == 0:
						best[i], codes[from+i] = s, int32(c+j)
					}
				}
			}
		}
	}
	return nil
}

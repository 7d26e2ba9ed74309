package store

import (
	"fmt"

	"github.com/likbench/likbench/plaid/codec"
)

// Codec is what codes and residuals of an index mean. It is fixed when the index is made.
type Codec struct {
	Dim, Bits       int       // components, a multiple of 8, and residual bits of one: 1, 2, 4, 8
	Centroids       []float32 // K×Dim, row-major; K from 0 to 2³¹
	Cutoffs         []float32 // 2^Bits − 1, ascending
	Weights         []float32 // 2^Bits, ascending
	AverageResidual []float32 // of each component, one for all, or none
	Threshold       float32   // norm of residuals beyond which an update would add centroids
}

// check returns an *InputError, or an error of package codec for dimensions.
func (c *Codec) check() error {
	if _, err := codec.RowBytes(c.Dim, c.Bits); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	k := len(c.Centroids) / c.Dim
	switch {
	case k*c.Dim != len(c.Centroids):
		return input("Centroids", -1, codec.ErrLength, "%d values, no multiple of %d", len(c.Centroids), c.Dim)
	case int64(k) > maxCentroids:
		return input("Centroids", -1, ErrRange, "%d centroids, limit %d", k, int64(maxCentroids))
	}
	if at := notFinite(c.Centroids); at >= 0 {
		return input("Centroids", int64(at), ErrNotFinite, "centroid %d, component %d is %v", at/c.Dim, at%c.Dim, c.Centroids[at])
	}
	return checkTables(c.Bits, c.Dim, c.Cutoffs, c.Weights, c.AverageResidual, c.Threshold)
}

// checkTables checks the small arrays of a codec.
func checkTables(bits, dim int, cutoffs, weights, average []float32, threshold float32) error {
	for _, f := range []struct {
		name   string
		values []float32
	}{{"Cutoffs", cutoffs}, {"Weights", weights}, {"AverageResidual", average}, {"Threshold", []float32{threshold}}} {
		if at := notFinite(f.values); at >= 0 {
			return input(f.name, int64(at), ErrNotFinite, "%v", f.values[at])
		}
	}
	table := codec.Table{Bits: bits, Cutoffs: cutoffs, Weights: weights}
	if err := table.Check(); err != nil {
		return &InputError{Field: "Cutoffs and Weights", Element: -1, Err: err}
	}
	if n := len(average); n > 1 && n != dim {
		return input("AverageResidual", -1, codec.ErrLength, "%d values for %d components", n, dim)
	}
	return nil
}

package canon

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrQuantile reports a level outside [0, 1], no values, or a value that is NaN or
// infinite.
var ErrQuantile = errors.New("invalid argument of a quantile")

// squares returns the sum of squares of x in float64, in ascending order.
func squares(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(float64(v) * float64(v)) // exact, so fusing could not change it
	}
	return s
}

// Norm returns the L2 norm of x in float64; the squares are added in ascending
// order. An empty vector has norm 0.
func Norm(x []float32) float64 { return math.Sqrt(squares(x)) }

// MaxNorm returns the largest [Norm] of the rows of x, each of dim components; NaN
// if one is NaN, 0 if there is none or dim < 1.
func MaxNorm(x []float32, dim int) float64 {
	var largest float64
	if dim < 1 {
		return 0
	}
	for i := 0; i+dim <= len(x); i += dim {
		s := squares(x[i : i+dim])
		if s > largest || s != s {
			largest = s
		}
		if s != s {
			break
		}
	}
	return math.Sqrt(largest)
}

// Normalize writes src / √max(‖src‖², 1e-12) to dst: sum, root and quotient in
// float64, the quotient rounded once more to float32. An all-zero vector stays
// zero; NaN and infinities follow IEEE 754. dst has the length of src and may be
// the same slice.
func Normalize(dst, src []float32) {
	dst = dst[:len(src)]
	norm := math.Sqrt(max(squares(src), 1e-12))
	for i, v := range src {
		dst[i] = float32(float64(v) / norm)
	}
}

// Quantiles writes the quantile of values at each level to dst, which has the
// length of levels: with h = level·(n−1) and t = h − ⌊h⌋ it is x + t·(y − x), where
// x and y have ranks ⌊h⌋ and ⌊h⌋+1, in float64 (type 7 of Hyndman and Fan, 1996,
// the default of NumPy). A zero is +0, so the order of values never shows. values
// is reordered, ascending.
//
// It fails with [ErrQuantile], and leaves dst as it was, for a level outside [0, 1]
// or NaN, for no values, and for a value that is not finite.
func Quantiles(dst []float64, values []float32, levels []float64) error {
	for _, q := range levels {
		if !(q >= 0 && q <= 1) {
			return fmt.Errorf("canon: quantile at level %v: %w", q, ErrQuantile)
		}
	}
	if len(values) == 0 {
		return fmt.Errorf("canon: quantile of 0 values: %w", ErrQuantile)
	}
	for i, v := range values {
		if v-v != 0 {
			return fmt.Errorf("canon: quantile with value %d being %v: %w", i, v, ErrQuantile)
		}
	}
	slices.Sort(values)
	dst = dst[:len(levels)]
	for i, q := range levels {
		h := float64(q * float64(len(values)-1))
		low := min(int(h), len(values)-1)
		x := float64(values[low])
		y := float64(values[min(low+1, len(values)-1)])
		// The conversion keeps the compiler from fusing. The second addend is never −0,
		// so the sum is not either.
		dst[i] = x + float64((h-float64(low))*(y-x))
	}
	return nil
}

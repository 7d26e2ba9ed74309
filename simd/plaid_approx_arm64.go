//go:build !noasm

package simd

// approxMax16NEON is what its name says in approxUnit, for a vector of 16 columns, and
// approxMax4NEON for one of 4. Reference: max of approx.
//
//go:noescape
func approxMax16NEON(scores *float32, stride, last int, codes *int32, n int, best *float32)

//go:noescape
func approxMax4NEON(scores *float32, stride, last int, codes *int32, n int, best *float32)

// approxUnits are the levels' arithmetic by variant: four registers are one vector.
var approxUnits = func() map[string]*approxUnit {
	type maximum = func(*float32, int, int, *int32, int, *float32)
	four := approxUnit{width: 4, vectors: 1, max: [5]maximum{1: approxMax4NEON}}
	return map[string]*approxUnit{"neon": {width: 16, vectors: 1, narrow: &four, max: [5]maximum{1: approxMax16NEON}}}
}()

// What listing does in assembly elsewhere.
var (
	largestCode func(codes *int32, n int) uint32
	sumSteps    func(best *float32, n int, scale float64) (total int64, seen uint64)
)

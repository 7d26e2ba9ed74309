package store

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotFinite(t *testing.T) {
	inf := float32(math.Inf(1))
	v := make([]float32, 1040)
	for i := range v {
		v[i] = math.MaxFloat32
		if i%2 == 0 {
			v[i] = -math.MaxFloat32
		}
	}
	for from := range 3 { // the first value on and off a multiple of 8 bytes
		for _, n := range []int{0, 1, 2, 3, 8, 9, 31, 1024, 1025, 1033} {
			part := v[from : from+n]
			require.Equal(t, -1, notFinite(part))
			for at := range part {
				for _, x := range []float32{inf, -inf, float32(math.NaN())} {
					old := part[at]
					part[at] = x
					require.Equal(t, at, notFinite(part), "%v at %d of %d", x, at, n)
					part[at] = old
				}
			}
		}
	}
}

// TestNotFiniteAtTheEnd: with -race a pair that reaches beyond an allocation ends the process.
func TestNotFiniteAtTheEnd(t *testing.T) {
	v := slices.Repeat([]float32{1}, 1024) // not on the stack
	for n := range 6 {
		require.Equal(t, -1, notFinite(v[len(v)-n:]))
	}
}

//go:build !noasm

package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/num"
)

// TestDecodeEveryCode compares the vector decoders with the table on all 256 codes.
func TestDecodeEveryCode(t *testing.T) {
	if Detected() == Generic {
		t.Skip("level generic has no vector decoder")
	}
	var codes [256]uint8
	for i := range codes {
		codes[i] = uint8(i)
	}
	var f [256]float32
	var h [256]uint16
	decodeAVX2(&f[0], &codes[0], len(codes))
	decodeBF16AVX2(&h[0], &codes[0], len(codes))
	for i, c := range codes {
		want := num.F8E4M3ToFloat32(c)
		if want != want {
			require.True(t, f[i] != f[i], "code %#x", c)
			require.True(t, math.IsNaN(num.BF16ToFloat64(h[i])), "code %#x", c)
			continue
		}
		require.Equal(t, math.Float32bits(want), math.Float32bits(f[i]), "code %#x", c)
		require.Equal(t, math.Float32bits(want), math.Float32bits(num.BF16ToFloat32(h[i])), "code %#x", c)
	}
}

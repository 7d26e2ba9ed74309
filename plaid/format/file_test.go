package format

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/num"
)

// TestHalves compares every half with package num.
func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		var got [1]float32
		bad := halves(got[:], binary.LittleEndian.AppendUint16(nil, uint16(h)))
		want := num.F16ToFloat32(uint16(h))
		require.Equal(t, want-want != 0, bad)
		require.Equal(t, math.Float32bits(want), math.Float32bits(got[0]), "%#x", h)
	}
}

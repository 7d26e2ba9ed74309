package codec

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
)

// bitByBit is the definition of the byte order, one bit at a time: bits leave each bucket
// least significant first and fill each byte from the most significant end.
func bitByBit(buckets []uint8, width int) []byte {
	out := make([]byte, len(buckets)*width/8)
	for i, u := range buckets {
		for b := range width {
			n := i*width + b
			out[n/8] |= u >> b & 1 << (7 - n%8)
		}
	}
	return out
}

func TestEveryByteAtEveryPosition(t *testing.T) {
	for _, width := range []int{1, 2, 4, 8} {
		for position := range 3 {
			for b := range 256 {
				packed := []byte{0x5a, 0xa5, 0x3c}
				packed[position] = byte(b)
				got := make([]uint8, 24/width)
				require.NoError(t, Unpack(got, packed, width))
				require.Equal(t, packed, bitByBit(got, width), "width %d, byte %d", width, b)
				back := make([]byte, 3)
				require.NoError(t, Pack(back, got, width))
				require.Equal(t, packed, back)
			}
		}
	}
}

func TestPackingByHand(t *testing.T) {
	for _, c := range []struct {
		width   int
		buckets []uint8
		want    byte
	}{
		{1, []uint8{1, 0, 0, 0, 0, 0, 0, 1}, 0x81},
		{2, []uint8{1, 2, 3, 0}, 0x9c},
		{2, []uint8{1, 3, 1, 1}, 0xba},
		{4, []uint8{1, 2}, 0x84},
		{4, []uint8{7, 8}, 0xe1},
		{8, []uint8{1}, 0x80},
	} {
		var got [1]byte
		require.NoError(t, Pack(got[:], c.buckets, c.width))
		require.Equal(t, c.want, got[0], "%v", c.buckets)
	}
	var reversed []uint8
	for u := range uint8(16) {
		reversed = append(reversed, Reverse(u, 4))
	}
	require.Equal(t, []uint8{0, 8, 4, 0xc, 2, 0xa, 6, 0xe, 1, 9, 5, 0xd, 3, 0xb, 7, 0xf}, reversed)
}

func TestArgumentsRefused(t *testing.T) {
	for _, bits := range []int{-1, 0, 3, 5, 6, 7, 16} {
		_, err := RowBytes(128, bits)
		require.ErrorIs(t, err, ErrBits)
		require.EqualError(t, err, fmt.Sprintf("codec: %d: bits per component not 1, 2, 4 or 8", bits))
		require.ErrorIs(t, Pack(nil, nil, bits), ErrBits)
		require.ErrorIs(t, Unpack(nil, nil, bits), ErrBits)
		require.ErrorIs(t, (&Table{Bits: bits}).Check(), ErrBits)
		_, err = NewTable(bits, slices.Values([][]float32{{1}}))
		require.ErrorIs(t, err, ErrBits)
		_, err = NewDecoder(nil, 8, bits, nil)
		require.ErrorIs(t, err, ErrBits)
	}
	for _, dim := range []int{-8, 0, 1, 4, 12, 100} {
		_, err := RowBytes(dim, 4)
		require.ErrorIs(t, err, ErrDim)
		_, err = NewDecoder(nil, dim, 4, make([]float32, 16))
		require.ErrorIs(t, err, ErrDim)
	}
	require.EqualError(t, Pack(make([]byte, 1), []uint8{0, 4, 1, 9}, 2), "codec: bucket 4 at 1, 4 of them: bucket out of range")
	require.ErrorIs(t, Pack(make([]byte, 1), make([]byte, 3), 2), ErrLength)
	require.ErrorIs(t, Unpack(make([]byte, 3), make([]byte, 1), 2), ErrLength)

	d, err := NewDecoder(make([]float32, 16), 8, 1, []float32{-1, 1})
	require.NoError(t, err)
	v := make([]float32, 8)
	for _, code := range []int64{-1, 2, math.MaxInt64, math.MinInt64} {
		require.ErrorIs(t, d.Token(v, code, []byte{0}), ErrCode)
	}
	require.ErrorIs(t, d.Token(v[:7], 0, []byte{0}), ErrLength)
	require.ErrorIs(t, d.Half(v, 0, nil), ErrLength)
	_, err = d.InvNorm(v, 2, []byte{0})
	require.EqualError(t, err, "codec: code 2 of 2 centroids: code out of range")
	_, err = NewDecoder(make([]float32, 9), 8, 1, []float32{-1, 1})
	require.ErrorIs(t, err, ErrLength)
}

func TestTableCheck(t *testing.T) {
	ok := Table{Bits: 1, Cutoffs: []float32{0}, Weights: []float32{-1, 1}}
	require.NoError(t, ok.Check())
	nan := float32(math.NaN())
	for _, bad := range []Table{
		{Bits: 1, Weights: ok.Weights},
		{Bits: 1, Cutoffs: ok.Cutoffs, Weights: []float32{0}},
		{Bits: 1, Cutoffs: []float32{nan}, Weights: ok.Weights},
		{Bits: 1, Cutoffs: ok.Cutoffs, Weights: []float32{1, -1}},
		{Bits: 1, Cutoffs: ok.Cutoffs, Weights: []float32{1, float32(math.Inf(1))}},
	} {
		require.ErrorIs(t, bad.Check(), ErrTable)
	}
	require.EqualError(t, (&Table{Bits: 1, Cutoffs: ok.Cutoffs, Weights: []float32{1, -1}}).Check(),
		"codec: weight 1 is -1 after 1: no table of buckets")
}

// streams are the same values in several groupings and orders.
func streams(values []float32) []iter.Seq[[]float32] {
	reversed := slices.Clone(values)
	slices.Reverse(reversed)
	return []iter.Seq[[]float32]{
		slices.Values([][]float32{values}),
		slices.Chunk(values, 3),
		slices.Values([][]float32{{}, reversed, nil}),
	}
}

func TestQuantilesEqualCanon(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var levels []float64
	for i := range 33 {
		levels = append(levels, float64(i)/32)
	}
	negative := float32(math.Copysign(0, -1))
	samples := [][]float32{{3}, {negative}, {negative, 0, negative}, {1, 1, 1, 1}, {math.MaxFloat32, -math.MaxFloat32},
		{math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, negative}}
	for _, n := range []int{2, 7, 1000} {
		var wide, narrow []float32
		for range n {
			wide = append(wide, math.Float32frombits(random.Uint32()&^(1<<30)))
			narrow = append(narrow, float32(random.IntN(5))/4)
		}
		samples = append(samples, wide, narrow)
	}
	for _, values := range samples {
		want, got := make([]float64, len(levels)), make([]float64, len(levels))
		require.NoError(t, canon.Quantiles(want, slices.Clone(values), levels))
		for i, stream := range streams(values) {
			require.NoError(t, Quantiles(got, stream, levels))
			for l := range levels {
				require.Equal(t, math.Float64bits(want[l]), math.Float64bits(got[l]), "%d values, stream %d, level %v", len(values), i, levels[l])
			}
		}
	}
}

func TestQuantilesRefused(t *testing.T) {
	out := []float64{7}
	one := slices.Values([][]float32{{1}})
	for _, level := range []float64{-0.1, 1.1, math.NaN()} {
		require.ErrorIs(t, Quantiles(out, one, []float64{level}), canon.ErrQuantile)
	}
	require.EqualError(t, Quantiles(out, slices.Values([][]float32{{1, 2}, {3, float32(math.Inf(-1))}}), []float64{0.5}),
		"codec: quantile with value 3 being -Inf: invalid argument of a quantile")
	require.ErrorIs(t, Quantiles(out, slices.Values([][]float32{nil}), []float64{0.5}), canon.ErrQuantile)
	reading := 0
	changing := func(next []float32) iter.Seq[[]float32] {
		reading = 0
		return func(yield func([]float32) bool) {
			if reading++; reading == 1 {
				yield([]float32{1, 2})
			} else {
				yield(next)
			}
		}
	}
	require.ErrorIs(t, Quantiles(out, changing([]float32{1}), []float64{0.5}), canon.ErrQuantile)
	require.ErrorIs(t, Quantiles(out, changing([]float32{-5, -6}), []float64{0.5}), canon.ErrQuantile)
	require.Equal(t, []float64{7}, out)
}

func TestNearest(t *testing.T) {
	// 300 centroids cross a block; the best occurs twice and the lower one counts, the last
	// is the best of the second token, and −0 ties with +0.
	const dim = 2
	centroids := make([]float32, 300*dim)
	for c := range 300 {
		centroids[c*dim] = float32(c%7) / 10
	}
	centroids[5*dim], centroids[290*dim], centroids[299*dim+1] = 1, 1, 1
	codes := make([]int32, 70)
	tokens := make([]float32, 70*dim)
	for i := range codes {
		tokens[i*dim+i%2] = 1
	}
	tokens[2*dim] = float32(math.Copysign(0, -1))
	require.NoError(t, Nearest(codes, tokens, centroids, dim))
	for i, c := range codes {
		switch want := [2]int32{5, 299}[i%2]; i {
		case 2:
			require.EqualValues(t, 0, c)
		default:
			require.Equal(t, want, c, "token %d", i)
		}
	}
	tokens[68*dim] = float32(math.NaN())
	err := Nearest(codes, tokens, centroids, dim)
	require.ErrorIs(t, err, ErrNaN)
	require.EqualError(t, err, "codec: token 68 with centroid 0: NaN")
	require.ErrorIs(t, Nearest(codes, tokens[1:], centroids, dim), ErrLength)
	require.ErrorIs(t, Nearest(codes, tokens, nil, dim), ErrLength)
	require.ErrorIs(t, Nearest(codes, tokens, centroids, 0), ErrLength)
	require.NoError(t, Nearest(nil, nil, centroids, dim))
}

// TestZeroVectors: a decoded vector of norm 0 stays finite in every form.
func TestZeroVectors(t *testing.T) {
	d, err := NewDecoder([]float32{1, -1, 1, -1, 1, -1, 1, -1}, 8, 1, []float32{-1, 1})
	require.NoError(t, err)
	v := make([]float32, 8)
	row := []byte{0x55} // takes every component back to 0
	require.NoError(t, d.Token(v, 0, row))
	require.Equal(t, make([]float32, 8), v)
	require.NoError(t, d.Half(v, 0, row))
	require.Equal(t, make([]float32, 8), v)
	inv, err := d.InvNorm(v, 0, row)
	require.NoError(t, err)
	require.Equal(t, float32(1e12), inv)
}

func Example() {
	residuals := []float32{-0.3, -0.1, 0, 0.1, 0.2, 0.4, 0.5, -0.2}
	table, err := NewTable(2, slices.Values([][]float32{residuals}))
	if err != nil {
		fmt.Println(err)
		return
	}
	centroid := make([]float32, 8)
	centroid[0] = 1
	token := []float32{0.9, 0.1, 0.4, 0, 0, 0, 0, -0.2}
	row := make([]byte, 2)
	if err := table.Encode(row, token, centroid); err != nil {
		fmt.Println(err)
		return
	}
	d, _ := NewDecoder(centroid, 8, 2, table.Weights)
	back := make([]float32, 8)
	if err := d.Raw(back, 0, row); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x %.2f\n", row, back)
	// Output: 9ea8 [0.96 0.14 0.41 -0.04 -0.04 -0.04 -0.04 -0.21]
}

package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

// stream is a toy stream and its device.
func stream() (*toyDevice, *toyStream) {
	d := &toyDevice{b: &toy{}}
	return d, &toyStream{d: d}
}

// Every dtype decodes and encodes through Ref.
func TestRefDTypes(t *testing.T) {
	d, s := stream()
	for _, dt := range backend.DTypes() {
		v := view(d, dt, 3)
		r := NewRef(toyKernel, StreamMemory(s))
		r.Write(&v, []float64{1, 0, 2})
		require.Equal(t, []float64{1, 0, 2}, r.Read(&v), dt.String())
		require.NoError(t, r.Err())
	}
}

// Integers beyond 2^53 survive Ints and WriteInts.
func TestRefInts(t *testing.T) {
	d, s := stream()
	for dt, x := range map[backend.DType][]int64{
		backend.I64: {1<<53 + 1, math.MaxInt64, math.MinInt64, -1<<60 - 1}, backend.I32: {math.MaxInt32, math.MinInt32, -1, 0},
		backend.U8: {0, 127, 128, 255}, backend.I8: {-128, 127, -1, 0},
	} {
		v := view(d, dt, 4)
		r := NewRef(toyKernel, StreamMemory(s))
		r.WriteInts(&v, x)
		require.Equal(t, x, r.Ints(&v), dt.String())
		require.NoError(t, r.Err())
	}
	v := view(d, backend.I64, 1)
	r := NewRef(toyKernel, StreamMemory(s))
	r.WriteInts(&v, []int64{1<<53 + 1})
	require.Equal(t, []float64{1 << 53}, r.Read(&v), "Read is float64")
}

func TestRefStridedKeepsGaps(t *testing.T) {
	d, s := stream()
	v := view(d, backend.U8, 11)
	copy(v.Buf.(*toyBuffer).mem, []byte{9, 1, 2, 9, 9, 3, 4, 9, 9, 5, 6})
	v.Off, v.Rank, v.Dims, v.Stride = 1, 2, [backend.MaxRank]int64{3, 2}, 4
	r := NewRef(toyKernel, StreamMemory(s))
	require.Equal(t, []float64{1, 2, 3, 4, 5, 6}, r.Read(&v))
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6}, r.Ints(&v))
	r.Write(&v, []float64{11, 12, 13, 14, 15, 16})
	require.NoError(t, r.Err())
	require.Equal(t, []byte{9, 11, 12, 9, 9, 13, 14, 9, 9, 15, 16}, v.Buf.(*toyBuffer).mem)
}

func TestRefAbsentAndEmpty(t *testing.T) {
	d, s := stream()
	r := NewRef(toyKernel, StreamMemory(s))
	var absent backend.View
	require.Nil(t, r.Read(&absent))
	require.Nil(t, r.Ints(&absent))
	r.Write(&absent, []float64{1})
	r.WriteInts(&absent, []int64{1})
	empty := view(d, backend.F32, 0)
	require.Empty(t, r.Read(&empty))
	r.Write(&empty, nil)
	require.NoError(t, r.Err())
}

func TestRefAbsolute(t *testing.T) {
	d, s := stream()
	v, n := view(d, backend.F32, 3), view(d, backend.I32, 1)
	r := NewRef(toyKernel, StreamMemory(s))
	r.Write(&v, []float64{-1, 2, math.Inf(-1)})
	r.Write(&n, []float64{-5})
	r.Absolute()
	require.Equal(t, []float64{1, 2, math.Inf(1)}, r.Read(&v))
	require.Equal(t, []float64{-5}, r.Read(&n), "magnitudes are of floats")
}

// The first failure is kept; what follows reads zeros and stores nothing.
func TestRefFailures(t *testing.T) {
	d, s := stream()
	v := view(d, backend.F32, 3)
	r := NewRef(toyKernel, StreamMemory(s))
	r.Write(&v, []float64{1, 2})
	require.EqualError(t, r.Err(), "kernel: reference writes 2 elements to a view of 3")
	v.Buf.(*toyBuffer).mem[0] = 1
	require.Equal(t, []float64{0, 0, 0}, r.Read(&v))
	r.Write(&v, []float64{1, 2, 3})
	require.EqualError(t, r.Err(), "kernel: reference writes 2 elements to a view of 3")
	require.Equal(t, byte(1), v.Buf.(*toyBuffer).mem[0])

	r = NewRef(toyKernel, StreamMemory(s))
	v.Off = 4
	r.Read(&v)
	require.ErrorIs(t, r.Err(), errRange)
	r = NewRef(toyKernel, StreamMemory(s))
	r.Write(&v, []float64{1, 2, 3})
	require.ErrorIs(t, r.Err(), errRange)
}

func TestRefFaults(t *testing.T) {
	r := NewRef(toyKernel, nil)
	require.Zero(t, r.Status())
	r.Fault(1, "Y", 9)
	r.Fault(1, "Y", 8)
	r.Fault(1, "X", 1)
	require.Equal(t, StatusWord(1, 5, 0, 8), r.Status())
	require.NoError(t, r.Err())
	r.Fault(1, "Nothing", 0)
	require.EqualError(t, r.Err(), "kernel: fault of unknown operand Nothing")
}

func TestRefMargins(t *testing.T) {
	r := NewRef(toyKernel, nil)
	_, ok := r.Margins("State")
	require.False(t, ok)
	r.Margin("State", []float64{1}, []float64{2})
	m, ok := r.Margins("State")
	require.True(t, ok)
	require.Equal(t, Margin{[]float64{1}, []float64{2}}, m)
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		dt      backend.DType
		x, want float64
	}{
		{backend.F64, .1, .1}, {backend.F32, .1, float64(float32(.1))}, {backend.BF16, 1.01, 1.0078125}, {backend.F16, 65519, 65504},
		{backend.F16, 65520, math.Inf(1)}, {backend.F8E4M3, 1000, 448}, {backend.F8E5M2, 5, 5}, {backend.I8, 300, 127},
		{backend.U8, 2.5, 2}, {backend.I32, -3.5, -4}, {backend.I64, 7, 7},
		{backend.BF16, 1.00390625, 1}, // halfway: to even
	} {
		require.Equal(t, c.want, Round(c.dt, c.x), "%s of %v", c.dt, c.x)
	}
	require.True(t, math.IsNaN(Round(backend.F8E4M3, math.NaN())))
}

func TestEncodeDecode(t *testing.T) {
	raw := make([]byte, 4)
	Encode(backend.BF16, raw, []float64{1, -2})
	require.Equal(t, []byte{0x80, 0x3F, 0x00, 0xC0}, raw)
	x := make([]float64, 2)
	Decode(backend.BF16, x, raw)
	require.Equal(t, []float64{1, -2}, x)
}

package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/kernel"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// memory is operands of hand-worked cases on the host backend, which runs the references.
type memory struct {
	t   *testing.T
	dev backend.Device
	s   backend.Stream
	all []backend.Buffer
}

func newMemory(t *testing.T) *memory {
	dev, err := host.Backend{}.Open(0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	m := &memory{t: t, dev: dev, s: s}
	t.Cleanup(func() {
		for _, b := range m.all {
			require.NoError(t, b.Free())
		}
		require.NoError(t, s.Close())
		require.NoError(t, dev.Close())
	})
	return m
}

func (m *memory) alloc(n int64) backend.Buffer {
	b, err := m.dev.Alloc(n)
	require.NoError(m.t, err)
	m.all = append(m.all, b)
	return b
}

// of is a dense operand with these values, each of them exact in the dtype.
func (m *memory) of(dt backend.DType, dims []int64, x ...float64) backend.View {
	v := backend.NewView(nil, 0, dt, dims...)
	require.EqualValues(m.t, v.Elements(), len(x))
	v.Buf = m.alloc(v.Bytes())
	raw := make([]byte, v.Bytes())
	kernel.Encode(dt, raw, x)
	require.NoError(m.t, m.s.Upload(v.Buf, 0, raw))
	return v
}

// out is an operand to be written, full of 0xFB.
func (m *memory) out(dt backend.DType, dims ...int64) backend.View {
	v := backend.NewView(nil, 0, dt, dims...)
	v.Buf = m.alloc(v.Bytes())
	raw := make([]byte, v.Bytes())
	for i := range raw {
		raw[i] = 0xFB
	}
	require.NoError(m.t, m.s.Upload(v.Buf, 0, raw))
	return v
}

func (m *memory) offsets(off ...int64) kernel.Offsets {
	o, err := kernel.NewOffsets(m.s, m.alloc(int64(len(off))*8), off)
	require.NoError(m.t, err)
	return o
}

func (m *memory) read(v backend.View) []float64 {
	r := kernel.NewRef(nil, kernel.StreamMemory(m.s))
	x := r.Read(&v)
	require.NoError(m.t, r.Err())
	return x
}

// equal requires exactly these values; NaN equals NaN, and −0 equals +0.
func (m *memory) equal(v backend.View, want ...float64) { m.t.Helper(); m.near(0, v, want...) }

// near requires values within a relative error.
func (m *memory) near(rel float64, v backend.View, want ...float64) {
	m.t.Helper()
	got := m.read(v)
	require.Len(m.t, got, len(want))
	for i, w := range want {
		ok := got[i] == w || math.IsNaN(w) && math.IsNaN(got[i]) || math.Abs(got[i]-w) <= rel*math.Abs(w)
		require.True(m.t, ok, "element %d is %v, want %v: %v", i, got[i], w, got)
	}
}

// launch runs a kernel and requires that neither the call nor its data is wrong.
func launch[A any](m *memory, k *kernel.Kernel[A], a *A) {
	m.t.Helper()
	require.NoError(m.t, k.Launch(m.s, a))
	require.NoError(m.t, m.s.Sync())
}

func dims(d ...int64) []int64 { return d }

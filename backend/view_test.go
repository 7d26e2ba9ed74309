package backend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestDTypes(t *testing.T) {
	var names []string
	var sizes []int64
	floats := 0
	for _, d := range backend.DTypes() {
		names, sizes = append(names, d.String()), append(sizes, d.Size())
		require.Equal(t, d, backend.ParseDType(d.String()))
		if d.Float() {
			floats++
		}
	}
	require.Equal(t, []string{"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "u8", "i32", "i64"}, names)
	require.Equal(t, []int64{8, 4, 2, 2, 1, 1, 1, 1, 4, 8}, sizes)
	require.Equal(t, 6, floats)
	require.True(t, backend.F8E5M2.Float())
	require.False(t, backend.I8.Float())
	require.False(t, backend.Invalid.Float())
	require.Equal(t, "invalid", backend.Invalid.String())
	require.Equal(t, "dtype(77)", backend.DType(77).String())
	require.Zero(t, backend.Invalid.Size())
	require.Zero(t, backend.DType(77).Size())
	for _, s := range []string{"", "invalid", "F32", "f33"} {
		require.Equal(t, backend.Invalid, backend.ParseDType(s), s)
	}
}

func TestViewArithmetic(t *testing.T) {
	type V = backend.View
	dense := func(dt backend.DType, dims ...int64) V { return backend.NewView(buffer{}, 0, dt, dims...) }
	strided := func(stride int64, dims ...int64) V {
		v := dense(backend.F32, dims...)
		v.Stride = stride
		return v
	}
	for _, c := range []struct {
		name                            string
		v                               V
		elements, row, rowStride, bytes int64
	}{
		{"scalar", dense(backend.F64), 1, 1, 1, 8},
		{"vector", dense(backend.BF16, 5), 5, 1, 1, 10},
		{"matrix", dense(backend.F32, 3, 4), 12, 4, 4, 48},
		{"rank 5", dense(backend.U8, 2, 3, 4, 5, 6), 720, 360, 360, 720},
		{"empty", dense(backend.F32, 0, 4), 0, 4, 4, 0},
		{"no columns", dense(backend.F32, 3, 0), 0, 0, 0, 0},
		{"strided", strided(10, 3, 4), 12, 4, 10, (2*10 + 4) * 4},
		{"strided, one row", strided(10, 1, 4), 4, 4, 10, 16},
		{"strided, no row", strided(10, 0, 4), 0, 4, 10, 0},
		{"strided, rank 3", strided(20, 2, 3, 4), 24, 12, 20, (20 + 12) * 4},
		{"dense stride", strided(4, 3, 4), 12, 4, 4, 48},
		{"beyond 2^31", dense(backend.F64, 1<<20, 1<<20), 1 << 40, 1 << 20, 1 << 20, 1 << 43},
		{"absent", V{}, 1, 1, 1, 0},
	} {
		require.Equal(t, []int64{c.elements, c.row, c.rowStride, c.bytes}, []int64{c.v.Elements(), c.v.RowElements(), c.v.RowStride(), c.v.Bytes()}, c.name)
	}
	v := backend.NewView(buffer{}, 64, backend.F32, 3, 4)
	require.Equal(t, V{Buf: buffer{}, Off: 64, DType: backend.F32, Rank: 2, Dims: [backend.MaxRank]int64{3, 4}}, v)
	require.False(t, v.Absent())
	require.True(t, (&V{}).Absent())
}

type buffer struct{ backend.Buffer }

func TestInfoFeatures(t *testing.T) {
	i := backend.Info{Features: []string{"avx2", "fma"}}
	require.True(t, i.Has("fma"))
	require.False(t, i.Has("fm"))
	require.Equal(t, "", i.Missing(nil))
	require.Equal(t, "", i.Missing([]string{"avx2", "fma"}))
	require.Equal(t, "avx512", i.Missing([]string{"avx2", "avx512", "bf16"}))
}

func TestOptions(t *testing.T) {
	require.Equal(t, backend.OpenConfig{}, backend.Configure(nil))
	require.Equal(t, backend.OpenConfig{Budget: 5, Poison: true, Workers: 3},
		backend.Configure([]backend.Option{backend.WithBudget(5), backend.WithPoison(), backend.WithWorkers(3)}))
}

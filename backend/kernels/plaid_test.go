package kernels_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// tokens of the index in appendix A of the format's description: centroids e0 and e1,
// cut points ±¼ and 0, weights ±⅛ and ±⅜.
var (
	cutoffs = []float64{-.25, 0, .25}
	weights = []float64{-.375, -.125, .125, .375}
	units   = []float64{
		1, 0, 0, 0, 0, 0, 0, 0,
		0, 1, 0, 0, 0, 0, 0, 0}
)

func (m *memory) f32(dims []int64, x ...float64) backend.View { return m.of(backend.F32, dims, x...) }
func (m *memory) i32(dims []int64, x ...float64) backend.View { return m.of(backend.I32, dims, x...) }

func TestResidualEncodeByHand(t *testing.T) {
	m := newMemory(t)
	token := []float64{ // rounded to float32 by the third, which lies on no cut point
		float64(float32(.8)), float64(float32(.6)), 0, 0, 0, 0, 0, 0,
		0, 1, 0, 0, 0, 0, 0, 0,
		float64(float32(.28)), float64(float32(.96)), 0, 0, 0, 0, 0, 0}
	a := kernels.ResidualEncodeArgs{
		Token: m.f32([]int64{3, 8}, token...), Code: m.i32([]int64{3}, 0, 1, 1), Centroid: m.f32([]int64{2, 8}, units...),
		Cutoff: m.f32([]int64{3}, cutoffs...), Weight: m.f32([]int64{4}, weights...),
		Packed: m.out(backend.U8, 3, 2), InvNorm: m.out(backend.F32, 3), Bits: 2}
	require.NoError(t, kernels.ResidualEncode.Launch(m.s, &a))
	require.NoError(t, m.s.Sync())
	require.Equal(t, []float64{0xBA, 0xAA, 0xAA, 0xAA, 0xEA, 0xAA}, m.read(a.Packed))
	// Decoded: (⅞, ⅜, −⅛ …), (−⅛, ⅞, −⅛ …), (⅜, ⅞, −⅛ …): squares 1, ⅞, 1.
	require.Equal(t, []float64{1, float64(1 / float32(math.Sqrt(.875))), 1}, m.read(a.InvNorm))

	a.Code = m.i32([]int64{3}, 0, 2, 1)
	require.NoError(t, kernels.ResidualEncode.Launch(m.s, &a))
	var wrong *backend.ArgumentError
	require.ErrorAs(t, m.s.Sync(), &wrong)
	require.Equal(t, "Code", wrong.Operand)
	require.Equal(t, []float64{0xBA, 0xAA, 0, 0, 0xEA, 0xAA}, m.read(a.Packed))
}

func TestResidualMaxSimByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.ResidualMaxSimArgs{
		Query: m.f32([]int64{1, 8}, units[8:]...), QueryOff: m.offsets(0, 1), Code: m.i32([]int64{3}, 0, 1, 1),
		Packed: m.of(backend.U8, []int64{3, 2}, 0xBA, 0xAA, 0xAA, 0xAA, 0xEA, 0xAA), DocOff: m.offsets(0, 2, 3, 3),
		Centroid: m.f32([]int64{2, 8}, units...), Weight: m.f32([]int64{4}, weights...),
		Candidate: m.i32([]int64{1, 5}, 1, 0, 2, -1, 0), Count: m.of(backend.I64, []int64{1}, 4), Shift: m.i32([]int64{1}, 40),
		Score: m.out(backend.F32, 1, 5), Fixed: m.out(backend.I64, 1, 5), Bits: 2, Normalize: true}
	require.NoError(t, kernels.ResidualMaxSim.Launch(m.s, &a))
	require.NoError(t, m.s.Sync())
	second := float64(float32(.875) * float32(1/float32(math.Sqrt(.875)))) // .9354143
	require.InDelta(t, .9354143, second, 1e-7)
	ninf := math.Inf(-1)
	require.Equal(t, []float64{.875, second, ninf, ninf, ninf}, m.read(a.Score))
	require.Equal(t, math.Ldexp(second, 40), m.read(a.Fixed)[1])
}

func TestCentroidScoresByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.CentroidScoresArgs{
		Query:    m.f32([]int64{2, 2}, 1, 2, 0, -1),
		Centroid: m.f32([]int64{4, 2}, 1, 1, 3, 0, 0, 2, math.NaN(), 0),
		Score:    m.out(backend.F32, 4, 2), Cell: m.out(backend.I32, 2, 4), CellScore: m.out(backend.F32, 2, 4)}
	require.NoError(t, kernels.CentroidScores.Launch(m.s, &a))
	require.NoError(t, m.s.Sync())
	require.Equal(t, []float64{3, -1, 3, 0, 4, -2}, m.read(a.Score)[:6])
	require.Equal(t, []float64{2, 0, 1, 3, 1, 0, 2, 3}, m.read(a.Cell), "ties go to the lower cell, NaN is last")
	require.Equal(t, []float64{4, 3, 3}, m.read(a.CellScore)[:3])
	require.True(t, math.IsNaN(m.read(a.CellScore)[3]))

	b := kernels.CentroidScoresInt8Args{
		Query: m.of(backend.I8, []int64{1, 2}, -128, 127), QueryScale: m.f32([]int64{1}, .5),
		Centroid: m.of(backend.I8, []int64{2, 2}, -128, -128, 1, 1), CentroidScale: m.f32([]int64{2}, .25, 2),
		Score: m.out(backend.F32, 2, 1), Cell: m.out(backend.I32, 1, 1), CellScore: m.out(backend.F32, 1, 1)}
	require.NoError(t, kernels.CentroidScoresInt8.Launch(m.s, &b))
	require.NoError(t, m.s.Sync())
	require.Equal(t, []float64{(128*128 - 127*128) * .125, -1}, m.read(b.Score))
	require.Equal(t, []float64{0}, m.read(b.Cell))
}

func TestPlaidCandidatesByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.PlaidCandidatesArgs{
		Cell: m.i32([]int64{3, 2}, 0, 2, 2, -1, 1, 1), QueryOff: m.offsets(0, 2, 3), ListOff: m.offsets(0, 2, 3, 5),
		ListDoc: m.i32([]int64{5}, 0, 34, 1, 3, 34), Allowed: m.i32([]int64{2}, -2, 7),
		Live: m.out(backend.I32, 2, 1), Candidate: m.out(backend.I32, 2, 36), Count: m.out(backend.I64, 2), Documents: 35}
	require.NoError(t, kernels.PlaidCandidates.Launch(m.s, &a))
	require.NoError(t, m.s.Sync())
	require.Equal(t, []float64{5, 2}, m.read(a.Live))
	require.Equal(t, []float64{2, 1}, m.read(a.Count), "document 0 is not allowed")
	got := m.read(a.Candidate)
	require.Equal(t, []float64{3, 34, -1}, got[:3])
	require.Equal(t, []float64{1, -1}, got[36:38])
}

func TestPlaidApproxByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.PlaidApproxArgs{ // cells score (1, −1), (2, ½), (0, 4)
		CentroidScore: m.f32([]int64{3, 2}, 1, -1, 2, .5, 0, 4), QueryOff: m.offsets(0, 2), Code: m.i32([]int64{4}, 0, 1, 2, 0),
		DocOff: m.offsets(0, 2, 3, 4, 4), Candidate: m.i32([]int64{1, 4}, 0, 1, 2, 3), Shift: m.i32([]int64{1}, 20),
		Score: m.out(backend.F32, 1, 4)}
	launch := func() []float64 {
		require.NoError(t, kernels.PlaidApprox.Launch(m.s, &a))
		require.NoError(t, m.s.Sync())
		return m.read(a.Score)
	}
	ninf := math.Inf(-1)
	require.Equal(t, []float64{2.5, 4, 0, ninf}, launch())
	a.Live = m.i32([]int64{1, 1}, 0b101)
	require.Equal(t, []float64{0, 4, 0, ninf}, launch(), "cell 1 does not count")
	a.Live = m.i32([]int64{1, 1}, 0b100)
	require.Equal(t, []float64{ninf, 4, ninf, ninf}, launch())
	a.Floor = m.f32([]int64{2, 3}, 9, 7, .25, 9, -7, -.5)
	require.Equal(t, []float64{-.25, 4.25, -.25, ninf}, launch(), "documents without live cells have the floors")
	a.Shift, a.Floor, a.Live = m.i32([]int64{1}, -1), backend.View{}, backend.View{}
	require.Equal(t, []float64{2, 4, 0, ninf}, launch(), "steps of two: 2 is one, ½ and −1 are none (half to even), 4 is two")
	a.Shift = m.i32([]int64{1}, 60)
	require.NoError(t, kernels.PlaidApprox.Launch(m.s, &a))
	var wrong *backend.ArgumentError
	require.True(t, errors.As(m.s.Sync(), &wrong), "4 is 2^62 steps of 2^-60")
	require.Equal(t, "Shift", wrong.Operand)
	a.Floor = m.f32([]int64{2, 0})
	require.EqualError(t, kernels.PlaidApprox.Launch(m.s, &a), "kernel: plaid_approx: operand Floor: rows have no last score: axis p is 0, want 1")
}

// Norms below 1e-12 count as that: an inverse norm is 1e12 at most, and short vectors stay short.
func TestLeastNormByHand(t *testing.T) {
	m := newMemory(t)
	const short = 0x1p-44 // about 5.7e-14
	a := kernels.ResidualEncodeArgs{
		Token: m.f32([]int64{2, 8}, make([]float64, 16)...), Code: m.i32([]int64{2}, 0, 1), Centroid: m.f32([]int64{2, 8}, append(firsts([]float64{short}, 8), make([]float64, 8)...)...),
		Cutoff: m.f32([]int64{1}, 0), Weight: m.f32([]int64{2}, 0, 0), Packed: m.out(backend.U8, 2, 1), InvNorm: m.out(backend.F32, 2), Bits: 1}
	require.NoError(t, kernels.ResidualEncode.Launch(m.s, &a))
	b := kernels.ResidualMaxSimArgs{
		Query: m.f32([]int64{1, 8}, units[:8]...), QueryOff: m.offsets(0, 1), Code: a.Code, Packed: a.Packed, DocOff: m.offsets(0, 1, 2),
		Centroid: a.Centroid, Weight: a.Weight, Candidate: m.i32([]int64{1, 2}, 0, 1), Shift: m.i32([]int64{1}, 60), Score: m.out(backend.F32, 1, 2), Bits: 1, Normalize: true}
	require.NoError(t, kernels.ResidualMaxSim.Launch(m.s, &b))
	require.NoError(t, m.s.Sync())
	most := float32(1) / 1e-12
	require.Equal(t, []float64{float64(most), float64(most)}, m.read(a.InvNorm))
	require.Equal(t, []float64{float64(short * most), 0}, m.read(b.Score))
}

// Maxima between two steps go to the even one, whatever their sign: a step is ½ here. The
// count itself says so in residual_maxsim.
func TestTiesOfStepsByHand(t *testing.T) {
	m := newMemory(t)
	half := []float64{.25, .75, -.25, -.75, 1.25, .5} // ½, 1½, −½, −1½, 2½ and 1 steps
	steps := []float64{0, 2, 0, -2, 2, 1}
	a := kernels.PlaidApproxArgs{
		CentroidScore: m.f32([]int64{6, 1}, half...), QueryOff: m.offsets(0, 1), Code: m.i32([]int64{6}, 0, 1, 2, 3, 4, 5), DocOff: m.offsets(0, 1, 2, 3, 4, 5, 6),
		Candidate: m.i32([]int64{1, 6}, 0, 1, 2, 3, 4, 5), Shift: m.i32([]int64{1}, 1), Score: m.out(backend.F32, 1, 6)}
	require.NoError(t, kernels.PlaidApprox.Launch(m.s, &a))
	b := kernels.ResidualMaxSimArgs{
		Query: m.f32([]int64{1, 8}, units[:8]...), QueryOff: a.QueryOff, Code: a.Code, Packed: m.of(backend.U8, []int64{6, 1}, make([]float64, 6)...), DocOff: a.DocOff,
		Centroid: m.f32([]int64{6, 8}, firsts(half, 8)...), Weight: m.f32([]int64{2}, 0, 0), Candidate: a.Candidate, Shift: a.Shift,
		Score: m.out(backend.F32, 1, 6), Fixed: m.out(backend.I64, 1, 6), Bits: 1}
	require.NoError(t, kernels.ResidualMaxSim.Launch(m.s, &b))
	require.NoError(t, m.s.Sync())
	require.Equal(t, steps, m.read(b.Fixed))
	for i, n := range steps {
		require.Equal(t, n/2, m.read(a.Score)[i], "%v", half[i])
		require.Equal(t, n/2, m.read(b.Score)[i], "%v", half[i])
	}
}

// firsts are rows of d components of which the first is given and the others are 0.
func firsts(x []float64, d int) []float64 {
	out := make([]float64, len(x)*d)
	for i, v := range x {
		out[i*d] = v
	}
	return out
}

func TestKMeansUpdateByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.KMeansUpdateArgs{Token: m.f32([]int64{4, 2}, .5, 1.5, 2.5, -.5, 8, 8, 3, 3), Code: m.i32([]int64{4}, 1, 1, -1, 0),
		Sum: m.out(backend.I64, 3, 2), Count: m.out(backend.I64, 3)}
	require.NoError(t, kernels.KMeansUpdate.Launch(m.s, &a))
	require.NoError(t, m.s.Sync())
	require.Equal(t, []float64{3, 3, 2, 2, 0, 0}, m.read(a.Sum), "½, 1½, 2½, −½ are 0, 2, 2, 0 steps")
	require.Equal(t, []float64{1, 2, 0}, m.read(a.Count))
}

func TestResidualMaxSimInt8ByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.ResidualMaxSimInt8Args{
		CentroidScore: m.f32([]int64{2, 2}, .5, 1, -.25, 2), Query: m.of(backend.I8, []int64{2, 4}, 1, 2, 3, 4, -128, 0, 0, 1), Unit: m.f32([]int64{2}, .125, .5),
		QueryOff: m.offsets(0, 2), Code: m.i32([]int64{2}, 0, 1), Packed: m.of(backend.U8, []int64{2, 1}, 0x9C, 0),
		DocOff: m.offsets(0, 2), Table: m.of(backend.I8, []int64{4}, -3, -1, 1, 3), InvNorm: m.f32([]int64{2}, 2, .5),
		Candidate: m.i32([]int64{1, 1}, 0), Score: m.out(backend.F32, 1, 1), Bits: 2}
	require.NoError(t, kernels.ResidualMaxSimInt8.Launch(m.s, &a))
	require.NoError(t, m.s.Sync())
	// 0x9C holds buckets 1, 2, 3, 0: values −1, 1, 3, −3; row 0 holds −3 four times.
	// First query token: (−1+2+9−12 = −2)/8 + ½ = ¼, twice that ½; (−30)/8 − ¼ = −4, half of it −2.
	// Second: (128 − 3 = 125)/2 + 1 = 63½, twice 127; (384 − 3 = 381)/2 + 2 = 192½, half 96¼.
	require.Equal(t, []float64{.5 + 127}, m.read(a.Score))

	a.Table = m.of(backend.I8, []int64{3}, -3, -1, 1)
	require.ErrorContains(t, kernels.ResidualMaxSimInt8.Launch(m.s, &a), "operand Table")
}

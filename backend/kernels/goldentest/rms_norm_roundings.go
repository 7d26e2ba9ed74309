package goldentest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// The declared tolerance of rms_norm is wider than what tells its casting modes apart. Here
// sums are exact in any order, and an output counts where an r that is a little off, as
// float32 arithmetic may leave it, rounds to the same: it has one right value.

// roundings are the places where a mode rounds to T.
type roundings struct{ mean, eps, sum, r, scaled, factor bool }

// modes are what the declaration says, and by name what a backend could have got wrong.
var modes = map[kernels.Casting]struct {
	right roundings
	wrong map[string]roundings
}{
	kernels.CastLlama: {roundings{scaled: true}, map[string]roundings{
		"x·r unrounded": {}, "r rounded": {r: true, scaled: true}, "offset + weight rounded": {scaled: true, factor: true}}},
	kernels.CastGemma: {roundings{}, map[string]roundings{
		"x·r rounded": {scaled: true}, "r rounded": {r: true}, "offset + weight rounded": {factor: true}}},
	kernels.CastNone: {roundings{true, true, true, true, true, true}, map[string]roundings{
		"mean unrounded": {false, true, true, true, true, true}, "eps unrounded": {true, false, true, true, true, true}, "sum unrounded": {true, true, false, true, true, true},
		"r unrounded": {true, true, true, false, true, true}, "x·r unrounded": {true, true, true, true, false, true}, "offset + weight unrounded": {true, true, true, true, true, false}}},
}

// roundedNorm is rms_norm with an r that is off by a factor before it is rounded.
type roundedNorm struct {
	t           backend.DType
	n           int
	x, w        []float64
	eps, offset float64
}

func (m *roundedNorm) outputs(at roundings, off float64) (y, rstd []float64) {
	round := func(do bool, v float64) float64 {
		if do {
			return kernel.Round(m.t, v)
		}
		return v
	}
	for lo := 0; lo < len(m.x); lo += m.n {
		row, mean := m.x[lo:lo+m.n], 0.0
		for _, v := range row {
			mean += v * v / float64(m.n)
		}
		r := round(at.r, off/math.Sqrt(round(at.sum, round(at.mean, mean)+round(at.eps, m.eps))))
		rstd = append(rstd, r)
		for j, v := range row {
			y = append(y, kernel.Round(m.t, round(at.scaled, v*r)*round(at.factor, m.offset+m.w[j])))
		}
	}
	return y, rstd
}

// newRoundedNorm draws eighths, whose squares add up exactly, and weights that offset 1
// leaves too long for t.
func newRoundedNorm(t backend.DType, rows, n int) *roundedNorm {
	rnd, unit := rand.New(rand.NewPCG(uint64(t), uint64(n))), 0x1p-8
	if t == backend.F16 {
		unit = 0x1p-11
	}
	m := &roundedNorm{t: t, n: n, x: make([]float64, rows*n), w: make([]float64, n), eps: 37 + 45.0/2048, offset: 1}
	for i := range m.x {
		m.x[i] = float64(rnd.IntN(255)-127) / 8
	}
	for j := range m.w {
		m.w[j] = (0.5/unit + 1 + 2*float64(rnd.IntN(int(0.25/unit)))) * unit
	}
	return m
}

func (r *runner) rmsNormRoundings(t *testing.T) {
	for _, dt := range []backend.DType{backend.BF16, backend.F16} {
		for cast, mode := range modes {
			t.Run(fmt.Sprintf("%s-%d", dt, cast), func(t *testing.T) {
				m := newRoundedNorm(dt, 24, 64)
				v := m.vector(cast)
				for why, wrong := range mode.wrong {
					seen := 0
					y, _ := m.outputs(wrong, 1)
					for i, decided := range v.bits["Y"] {
						if decided && y[i] != v.want["Y"][i] {
							seen++
						}
					}
					require.Positive(t, seen, "no output shows %s", why)
				}
				r.check(t, v)
				r.check(t, newRoundedNorm(dt, 4, 1024).vector(cast)) // rows for more threads
			})
		}
	}
}

// vector has the outputs that have one right value marked.
func (m *roundedNorm) vector(cast kernels.Casting) vector {
	right := modes[cast].right
	y, rstd := m.outputs(right, 1)
	bits := map[string][]bool{"Y": make([]bool, len(y)), "RStd": make([]bool, len(rstd))}
	lowY, lowR := m.outputs(right, 1-0x1p-22)
	highY, highR := m.outputs(right, 1+0x1p-22)
	for i := range y {
		bits["Y"][i] = lowY[i] == y[i] && highY[i] == y[i]
	}
	for i := range rstd {
		bits["RStd"][i] = lowR[i] == rstd[i] && highR[i] == rstd[i]
	}
	return vector{kernel: kernels.RMSNorm, dims: kernel.Dims{"rows": int64(len(rstd)), "n": int64(m.n)}, types: []backend.DType{m.t}, ulps: 4,
		attrs: map[string]any{"Eps": m.eps, "Offset": m.offset, "Casting": cast},
		in:    map[string][]float64{"X": m.x, "Weight": m.w}, want: map[string][]float64{"Y": y, "RStd": rstd}, bits: bits}
}

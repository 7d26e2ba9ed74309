package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	f64    = backend.F64
	f32    = backend.F32
	f16    = backend.F16
	bf16   = backend.BF16
	f8     = backend.F8E4M3
	u8     = backend.U8
	i32    = backend.I32
	i64    = backend.I64
	approx = 0x1p-23 // a rounding to f32
)

// two queries, (1,2) (3,-1) | (0,1), and three documents, (1,1) (2,0) | none | (-1,-1).
//
//	dots of (1,2): 3, 2 | | -3     of (3,-1): 2, 6 | | -2     of (0,1): 1, 0 | | -1
func handMaxSim(m *memory, dt backend.DType) kernels.MaxSimArgs {
	return kernels.MaxSimArgs{
		Query: m.of(dt, dims(3, 2), 1, 2, 3, -1, 0, 1), QueryOff: m.offsets(0, 2, 3),
		Doc: m.of(dt, dims(3, 2), 1, 1, 2, 0, -1, -1), DocOff: m.offsets(0, 2, 2, 3),
		Score: m.out(f32, 2, 3), Winner: m.out(i32, 3, 3),
	}
}

func TestMaxSimByHand(t *testing.T) {
	for _, dt := range []backend.DType{f32, bf16} {
		m := newMemory(t)
		a := handMaxSim(m, dt)
		launch(m, kernels.MaxSim, &a)
		m.equal(a.Score, 3+6, -inf, -3-2, 1, -inf, -1)
		m.equal(a.Winner, 0, -1, 0, 1, -1, 0, 0, -1, 0)

		a.EmptyZero = true
		launch(m, kernels.MaxSim, &a)
		m.equal(a.Score, 9, 0, -5, 1, 0, -1)
		m.equal(a.Winner, 0, -1, 0, 1, -1, 0, 0, -1, 0)

		a.Winner = backend.View{}
		launch(m, kernels.MaxSim, &a)
		m.equal(a.Score, 9, 0, -5, 1, 0, -1)
	}
}

func TestMaxSimMasks(t *testing.T) {
	m := newMemory(t)
	a := handMaxSim(m, f32)
	a.QueryMask = m.of(u8, dims(3), 0, 1, 0) // (3,-1) | nothing active
	a.DocMask = m.of(u8, dims(3), 1, 0, 0)   // (1,1) | | nothing valid
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, 2, -inf, -inf, 0, 0, 0)
	m.equal(a.Winner, -1, -1, -1, 0, -1, -1, -1, -1, -1)
}

// A masked token never matters, an active NaN makes the score NaN and wins as the lowest.
func TestMaxSimNaNAndInfinity(t *testing.T) {
	m := newMemory(t)
	a := kernels.MaxSimArgs{
		Query: m.of(f32, dims(2, 2), 1, 1, 2, 0), QueryOff: m.offsets(0, 2),
		Doc:    m.of(f32, dims(6, 2), 1, 1, nan, 0, 9, 9, 0, nan, inf, -inf, inf, 1),
		DocOff: m.offsets(0, 4, 5, 6), Score: m.out(f32, 1, 3), Winner: m.out(i32, 2, 3),
	}
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, nan, nan, inf) // ∞ − ∞ is NaN in a dot
	// 2·∞ + 0·−∞ and 0·NaN are NaN too, and 2·∞ + 0·1 is ∞.
	m.equal(a.Winner, 1, 0, 0, 1, 0, 0)

	a.DocMask = m.of(u8, dims(6), 1, 0, 1, 0, 0, 1)
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, 18+18, -inf, inf)
	m.equal(a.Winner, 2, -1, 0, 2, -1, 0)

	a.Query = m.of(f32, dims(2, 2), nan, 1, 2, 0)
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, nan, -inf, nan) // no pair with an empty document: its rule stands
	a.QueryMask = m.of(u8, dims(2), 0, 1)
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, 18, -inf, inf)
}

func TestMaxSimTiesGoToTheLowestToken(t *testing.T) {
	m := newMemory(t)
	a := kernels.MaxSimArgs{
		Query: m.of(f32, dims(2, 2), 1, 0, -1, 0), QueryOff: m.offsets(0, 2),
		Doc:    m.of(f32, dims(4, 2), 1, 5, 2, 0, 2, 7, 1, 0), // components 1 do not count
		DocOff: m.offsets(0, 4), Score: m.out(f32, 1, 1), Winner: m.out(i32, 2, 1),
	}
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, 2-1)
	m.equal(a.Winner, 1, 0)

	a.Query = m.of(f32, dims(2, 2), 0, 0, 0, 0)
	a.Doc = m.of(f32, dims(4, 2), -1, 0, 1, 0, -1, 0, 1, 0) // −0 and +0 are equal
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, 0)
	m.equal(a.Winner, 0, 0)
}

// x/√max(‖x‖², 1e-12): (3,4) has norm 5, a zero token stays zero, and below norm 1e-6 the
// divisor is 1e-6.
func TestMaxSimNormalize(t *testing.T) {
	m := newMemory(t)
	a := kernels.MaxSimArgs{
		Query: m.of(f32, dims(2, 2), 3, 4, 0, 0), QueryOff: m.offsets(0, 1, 2),
		Doc: m.of(f32, dims(3, 2), 0, 2, 0x1p-24, 0, 0, 0), DocOff: m.offsets(0, 1, 2, 3),
		Score: m.out(f32, 2, 3), Normalize: true,
	}
	launch(m, kernels.MaxSim, &a)
	m.near(approx, a.Score, .8, .6*0x1p-24*1e6, 0, 0, 0, 0)
}

// Offsets written by a kernel may be wrong: clamped, not decreasing, and reported.
func TestMaxSimDeviceOffsets(t *testing.T) {
	m := newMemory(t)
	a := handMaxSim(m, f32)
	a.DocOff = kernel.DeviceOffsets(m.of(i64, dims(4), 0, 2, -5, 90), 3, 3)
	require.NoError(t, kernels.MaxSim.Launch(m.s, &a))
	require.EqualError(t, m.s.Sync(), "kernel: maxsim: operand DocOff: offset out of range or decreasing at element 2")
	m.equal(a.Score, 9, -inf, -5, 1, -inf, -1) // as 0, 2, 2, 3
	require.NoError(t, m.s.Sync())
}

// Tokens past the last offset are spare: their winners are -1.
func TestMaxSimSpareCapacity(t *testing.T) {
	m := newMemory(t)
	a := handMaxSim(m, f32)
	a.QueryOff, a.DocOff = m.offsets(0, 1), m.offsets(0, 2)
	a.Score, a.Winner = m.out(f32, 1, 1), m.out(i32, 3, 1)
	launch(m, kernels.MaxSim, &a)
	m.equal(a.Score, 3)
	m.equal(a.Winner, 0, -1, -1)
}

func TestMaxSimRefusals(t *testing.T) {
	m := newMemory(t)
	for want, change := range map[string]func(*kernels.MaxSimArgs){
		"kernel: maxsim: operand Query: tokens need at least one component: axis d is 0, want 1": func(a *kernels.MaxSimArgs) {
			a.Query, a.Doc = m.of(f32, dims(3, 0)), m.of(f32, dims(3, 0))
		},
		"kernel: maxsim: operand Doc: sizes differ between operands: axis d is 1, want 2": func(a *kernels.MaxSimArgs) { a.Doc = m.of(f32, dims(3, 1), 1, 2, 3) },
		"kernel: maxsim: operand Score: dtype f64, want f32":                              func(a *kernels.MaxSimArgs) { a.Score = m.out(f64, 2, 3) },
		"kernel: maxsim: no instance for dtypes f64": func(a *kernels.MaxSimArgs) {
			a.Query, a.Doc, a.Score = m.out(f64, 3, 2), m.out(f64, 3, 2), m.out(f64, 2, 3)
		},
		"kernel: maxsim: operand DocOff: longest document has more tokens than a winner index holds (got 2147483648, want 2147483647)": func(a *kernels.MaxSimArgs) {
			a.DocOff = kernel.DeviceOffsets(a.DocOff.View, 1<<31, 1<<31)
			a.Doc = backend.View{} // refused before it matters
		},
	} {
		a := handMaxSim(m, f32)
		change(&a)
		if a.Doc.Absent() {
			a.Doc = hugeTokens(m, 1<<31, 2)
		}
		require.EqualError(t, kernels.MaxSim.Launch(m.s, &a), want)
	}
}

// huge is a buffer that only claims its length.
type huge struct {
	backend.Buffer
	n int64
}

func (h huge) Len() int64 { return h.n }

func hugeTokens(m *memory, n, d int64) backend.View {
	return backend.NewView(huge{m.alloc(8), 4 * n * d}, 0, f32, n, d)
}

// Scales multiply before the maximum and so decide the winner; a negative one turns the order.
func TestMaxSimScaledByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.MaxSimScaledArgs{
		Query: m.of(f8, dims(2, 2), 1, 2, 3, -1), QueryScale: m.of(f32, dims(2), 2, -1), QueryOff: m.offsets(0, 2),
		Doc: m.of(f8, dims(4, 2), 1, 1, 2, 0, 448, -448, 1, 0), DocScale: m.of(f32, dims(4), 1, 4, .5, 8), DocOff: m.offsets(0, 2, 2, 4),
		Score: m.out(f32, 1, 3), Winner: m.out(i32, 2, 3),
	}
	launch(m, kernels.MaxSimScaled, &a)
	// (1,2): 3·2·1, 2·2·4 | | -448·2·.5, 1·2·8     (3,-1): -2, -6·4 | | -1792·.5, -3·8
	m.equal(a.Score, 16-2, -inf, 16-24)
	m.equal(a.Winner, 1, -1, 1, 0, -1, 1)

	a.EmptyZero = true
	a.DocMask = m.of(u8, dims(4), 1, 0, 1, 0)
	a.QueryMask = m.of(u8, dims(2), 1, 0)
	launch(m, kernels.MaxSimScaled, &a)
	m.equal(a.Score, 6, 0, -448)
	m.equal(a.Winner, 0, -1, 0, -1, -1, -1)
}

package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

func TestRMSNormByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.RMSNormArgs{X: m.of(f32, dims(1, 4), 1, 2, 3, 4), Y: m.out(f32, 1, 4), RStd: m.out(f32, 1), Eps: 1e-6}
	launch(m, kernels.RMSNorm, &a)
	m.near(approx, a.Y, .36514835, .73029670, 1.09544504, 1.46059339)

	// Mean squares 25 and 0: r = 1/5 and 1/√eps.
	a = kernels.RMSNormArgs{X: m.of(f32, dims(2, 2), 1, -7, 0, 0), Weight: m.of(f32, dims(2), 9, -1), Offset: 1,
		Y: m.out(f32, 2, 2), RStd: m.out(f32, 2), Eps: 0x1p-40}
	launch(m, kernels.RMSNorm, &a)
	m.near(approx, a.Y, 2, 0, 0, 0)
	m.near(approx, a.RStd, .2, 0x1p20)

	a.Weight = backend.View{} // absent: ones, and the offset does not count
	a.Y = a.X                 // in place
	launch(m, kernels.RMSNorm, &a)
	m.near(approx, a.X, .2, -1.4, 0, 0)
}

// x = (1, 7), r = 1/5, w = (21, 35)/256 with offset 1, rounded by hand to bf16 (8 bits):
//
//	llama  x·r → .2001953125, 1.3984375; times 1.08203125, 1.13671875 → .216796875, 1.5859375
//	gemma  .21640625, 1.59140625 rounded once                        → .216796875, 1.59375
//	none   r → .2001953125; x·r → the same, 1.3984375 (of 1.4013671875);
//	       offset + w → 1.078125 (tie), 1.140625 (tie)               → .2158203125, 1.59375
func TestRMSNormCasting(t *testing.T) {
	for cast, want := range map[kernels.Casting][3]float64{
		kernels.CastLlama: {.216796875, 1.5859375, .2},
		kernels.CastGemma: {.216796875, 1.59375, .2},
		kernels.CastNone:  {.2158203125, 1.59375, .2001953125},
	} {
		m := newMemory(t)
		a := kernels.RMSNormArgs{X: m.of(bf16, dims(1, 2), 1, 7), Weight: m.of(f32, dims(2), 21./256, 35./256), Offset: 1,
			Y: m.out(bf16, 1, 2), RStd: m.out(f32, 1), Casting: cast}
		launch(m, kernels.RMSNorm, &a)
		m.equal(a.Y, want[0], want[1])
		m.near(approx, a.RStd, want[2])
	}
}

// The none mode rounds the mean before it adds eps: 272.5 → 272, 273 → 272 (tie), and
// 1/√272 = .06063 → 248/4096. Without the first rounding it would be 247/4096.
func TestRMSNormCastingNoneRoundsTheMean(t *testing.T) {
	m := newMemory(t)
	a := kernels.RMSNormArgs{X: m.of(bf16, dims(1, 2), 16, 17), Y: m.out(bf16, 1, 2), RStd: m.out(f32, 1), Eps: 1, Casting: kernels.CastNone}
	launch(m, kernels.RMSNorm, &a)
	m.equal(a.RStd, 248./4096)
}

// Squares beyond the largest f16 are legal: x = ±4096, r = 1/4096.
func TestRMSNormSquaresBeyondF16(t *testing.T) {
	m := newMemory(t)
	a := kernels.RMSNormArgs{X: m.of(f16, dims(1, 2), 4096, -4096), Y: m.out(f16, 1, 2), RStd: m.out(f32, 1)}
	launch(m, kernels.RMSNorm, &a)
	m.equal(a.Y, 1, -1)
	m.equal(a.RStd, 0x1p-12)
}

// r = 1/2, x = (1, 3), m = dy·(1 + w) = (4, 12): Σ m·x = 40, r³/n = 1/16, so
// dx = (2 − 2.5, 6 − 7.5) and dw = dy·x·r = (1, 6); the second row has r = 0.
func TestRMSNormBackwardByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.RMSNormBackwardArgs{
		DY: m.of(f32, dims(2, 2), 2, 4, 5, 6), X: m.of(f32, dims(2, 2), 1, 3, 7, 8), Weight: m.of(f32, dims(2), 1, 2), Offset: 1,
		RStd: m.of(f32, dims(2), .5, 0), DX: m.out(f32, 2, 2), DW: m.out(f32, 2), Casting: kernels.CastGemma,
	}
	launch(m, kernels.RMSNormBackward, &a)
	m.equal(a.DX, -.5, -1.5, 0, 0)
	m.equal(a.DW, 1, 6)

	a.RStd = m.of(f32, dims(2), .5, .5)
	launch(m, kernels.RMSNormBackward, &a) // dw sums over rows
	m.equal(a.DW, 1+17.5, 6+24)

	a.Weight, a.DW, a.DX = backend.View{}, backend.View{}, a.DY // m = dy = (2, 4): Σ 14, in place
	a.RStd = m.of(f32, dims(2), .5, 0)
	launch(m, kernels.RMSNormBackward, &a)
	m.equal(a.DY, 1-.875, 2-2.625, 0, 0)
}

// In the llama and none modes dw takes x·r rounded to the storage type: 7·.2 is 1.3984375
// in bf16. r comes rounded from the forward kernel, here .2001953125, so gemma has
// 1.4013671875.
func TestRMSNormBackwardRoundsLikeForward(t *testing.T) {
	for cast, want := range map[kernels.Casting]float64{kernels.CastLlama: 1.3984375, kernels.CastNone: 1.3984375, kernels.CastGemma: 1.4013671875} {
		m := newMemory(t)
		a := kernels.RMSNormBackwardArgs{DY: m.of(bf16, dims(1, 1), 1), X: m.of(bf16, dims(1, 1), 7), Weight: m.of(f32, dims(1), 1),
			RStd: m.of(f32, dims(1), .2001953125), DX: m.out(bf16, 1, 1), DW: m.out(f32, 1), Casting: cast}
		launch(m, kernels.RMSNormBackward, &a)
		m.equal(a.DW, want)
	}
}

func TestRMSNormRefusals(t *testing.T) {
	m := newMemory(t)
	good := kernels.RMSNormArgs{X: m.of(f32, dims(1, 1), 1), Y: m.out(f32, 1, 1), RStd: m.out(f32, 1)}
	for want, change := range map[string]func(*kernels.RMSNormArgs){
		"kernel: rms_norm: operand Eps: -1 is negative or not finite":                          func(a *kernels.RMSNormArgs) { a.Eps = -1 },
		"kernel: rms_norm: operand Eps: NaN is negative or not finite":                         func(a *kernels.RMSNormArgs) { a.Eps = nan },
		"kernel: rms_norm: operand Offset: +Inf is not finite":                                 func(a *kernels.RMSNormArgs) { a.Offset = inf },
		"kernel: rms_norm: operand Casting: unknown casting mode (got 3, want 2)":              func(a *kernels.RMSNormArgs) { a.Casting = 3 },
		"kernel: rms_norm: no instance for dtypes f32,bf16":                                    func(a *kernels.RMSNormArgs) { a.Weight = m.of(bf16, dims(1), 1) },
		"kernel: rms_norm: operand Y: overlaps operand X":                                      func(a *kernels.RMSNormArgs) { a.X, a.Y = overlapping(m) },
		"kernel: rms_norm: operand Weight: sizes differ between operands: axis n is 2, want 1": func(a *kernels.RMSNormArgs) { a.Weight = m.of(f32, dims(2), 1, 1) },
	} {
		a := good
		change(&a)
		require.EqualError(t, kernels.RMSNorm.Launch(m.s, &a), want)
	}
	b := kernels.RMSNormBackwardArgs{DY: good.X, X: good.X, RStd: good.RStd, DX: good.Y, Offset: nan}
	require.EqualError(t, kernels.RMSNormBackward.Launch(m.s, &b), "kernel: rms_norm_backward: operand Offset: NaN is not finite")
}

// overlapping are two rows of two elements in a buffer of three.
func overlapping(m *memory) (a, b backend.View) {
	a = m.of(f32, dims(1, 3), 1, 2, 3)
	a.Dims[1] = 2
	b = a
	b.Off = 4
	return a, b
}

package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// Points 0, 1 and 3 on a line with γ = ln 2: weights are 2 to the minus squared distance.
func TestRBFMatmulByHand(t *testing.T) {
	for typ, rel := range map[backend.DType]float64{f32: approx, f64: 1e-15} {
		m := newMemory(t)
		a := kernels.RBFMatmulArgs{
			X: m.of(typ, dims(2, 1), 0, 1), Y: m.of(typ, dims(3, 1), 0, 1, 3), V: m.of(typ, dims(3, 2), 1, 8, 2, -16, 512, 0),
			O: m.out(typ, 2, 2), Gamma: math.Ln2,
		}
		launch(m, kernels.RBFMatmul, &a)
		// row 0: distances 0, 1, 9; row 1: distances 1, 0, 4
		m.near(rel, a.O, 1+1+1, 0, .5+2+32, 4-16)

		a.Gamma = 0
		launch(m, kernels.RBFMatmul, &a)
		m.equal(a.O, 515, -8, 515, -8)
	}
}

func TestRBFMatmulEdges(t *testing.T) {
	m := newMemory(t)
	a := kernels.RBFMatmulArgs{X: m.of(f32, dims(2, 1), 0, 1), Y: m.of(f32, dims(0, 1)), V: m.of(f32, dims(0, 3)), O: m.out(f32, 2, 3), Gamma: 1}
	launch(m, kernels.RBFMatmul, &a)
	m.equal(a.O, 0, 0, 0, 0, 0, 0) // no columns
	a = kernels.RBFMatmulArgs{X: m.of(f32, dims(2, 0)), Y: m.of(f32, dims(2, 0)), V: m.of(f32, dims(2, 1), 3, 4), O: m.out(f32, 2, 1), Gamma: 1}
	require.EqualError(t, kernels.RBFMatmul.Launch(m.s, &a), "kernel: rbf_matmul: operand X: points need at least one component: axis d is 0, want 1")
	a = kernels.RBFMatmulArgs{X: m.of(f32, dims(2, 1), nan, 1e30), Y: m.of(f32, dims(1, 1), 0), V: m.of(f32, dims(1, 1), 3), O: m.out(f32, 2, 1), Gamma: 1}
	launch(m, kernels.RBFMatmul, &a)
	m.equal(a.O, nan, 0)
	for text, g := range map[string]float64{"-1": -1, "NaN": nan, "+Inf": inf} {
		a.Gamma = g
		require.EqualError(t, kernels.RBFMatmul.Launch(m.s, &a), "kernel: rbf_matmul: operand Gamma: "+text+" is negative or not finite")
	}
}

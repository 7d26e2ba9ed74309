package kernels_test

import (
	"math"
	"testing"

	"github.com/likbench/likbench/backend/kernels"
)

func TestSoftmaxByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.SoftmaxArgs{X: m.of(f32, dims(6, 3),
		-inf, nan, -inf,
		1000, 1000, -inf,
		-inf, -inf, -inf,
		1, nan, -inf,
		inf, 1, 2,
		-20000, 0, -20000), Y: m.out(f32, 6, 3)}
	launch(m, kernels.Softmax, &a)
	m.equal(a.Y, nan, nan, nan, .5, .5, 0, 0, 0, 0, nan, nan, nan, nan, nan, nan, 0, 1, 0)

	a = kernels.SoftmaxArgs{X: m.of(f32, dims(1, 3), 0, float64(float32(math.Ln2)), float64(float32(2*math.Ln2))), Y: m.out(f32, 1, 3)}
	launch(m, kernels.Softmax, &a)
	m.near(approx, a.Y, 1./7, 2./7, 4./7)
	a.Y = a.X // in place
	launch(m, kernels.Softmax, &a)
	m.near(approx, a.X, 1./7, 2./7, 4./7)
}

// y = (1/4, 3/4), dy = (4, 8): Σ dy·y = 7. A row of zeros gives zeros.
func TestSoftmaxBackwardByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.SoftmaxBackwardArgs{Y: m.of(bf16, dims(2, 2), .25, .75, 0, 0), DY: m.of(bf16, dims(2, 2), 4, 8, 4, 8), DX: m.out(bf16, 2, 2)}
	launch(m, kernels.SoftmaxBackward, &a)
	m.equal(a.DX, -.75, .75, 0, 0)
	a.DX = a.DY
	launch(m, kernels.SoftmaxBackward, &a)
	m.equal(a.DY, -.75, .75, 0, 0)
}

package kernels_test

import (
	"testing"

	"github.com/likbench/likbench/backend/kernels"
)

func TestTakeByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.TakeArgs{
		Value: m.of(i32, dims(2, 3), 70, 71, 72, 80, 81, 82),
		Index: m.of(i32, dims(2, 4), 2, 0, -1, 3, 1, 1, 0, -9),
		Out:   m.out(i32, 2, 4),
	}
	launch(m, kernels.Take, &a)
	m.equal(a.Out, 72, 70, -1, -1, 81, 81, 80, -1)
}

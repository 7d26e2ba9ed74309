package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/kernels"
)

func TestTopKByHand(t *testing.T) {
	m := newMemory(t)
	minusZero := math.Copysign(0, -1)
	a := kernels.TopKArgs{
		Score: m.of(f32, dims(2, 7), 1, nan, minusZero, 2, 0, 2, nan, -inf, nan, inf, 3, -inf, inf, 3),
		Value: m.out(f32, 2, 7), Index: m.out(i32, 2, 7),
	}
	launch(m, kernels.TopK, &a)
	m.equal(a.Value, 2, 2, 1, 0, 0, nan, nan, inf, inf, 3, 3, -inf, -inf, nan)
	m.equal(a.Index, 3, 5, 0, 2, 4, 1, 6, 2, 5, 3, 6, 0, 4, 1)

	a.Value, a.Index = m.out(f32, 2, 3), m.out(i32, 2, 3)
	launch(m, kernels.TopK, &a)
	m.equal(a.Value, 2, 2, 1, inf, inf, 3)
	m.equal(a.Index, 3, 5, 0, 2, 5, 3)
}

// Live scores are the first of a row; the rest of the results is −∞ with index -1, a live
// −∞ keeps its index, and counts are clamped to the row.
func TestTopKLive(t *testing.T) {
	m := newMemory(t)
	a := kernels.TopKArgs{
		Score: m.of(f32, dims(4, 3), 1, 2, 3, 1, 2, 3, -inf, 2, 3, 1, 2, 3), Live: m.of(i64, dims(4), 2, -4, 1, 99),
		Value: m.out(f32, 4, 3), Index: m.out(i32, 4, 3),
	}
	launch(m, kernels.TopK, &a)
	m.equal(a.Value, 2, 1, -inf, -inf, -inf, -inf, -inf, -inf, -inf, 3, 2, 1)
	m.equal(a.Index, 1, 0, -1, -1, -1, -1, 0, -1, -1, 2, 1, 0)
}

// Labels stand in place of positions, which still break ties; what is not live stays -1.
func TestTopKLabels(t *testing.T) {
	m := newMemory(t)
	a := kernels.TopKArgs{
		Score: m.of(f32, dims(2, 4), 1, 3, 3, nan, 5, 6, 7, 8), Live: m.of(i64, dims(2), 4, 2), Label: m.of(i32, dims(2, 4), 50, 9, 8, -1, 70, 70, 71, 72),
		Value: m.out(f32, 2, 4), Index: m.out(i32, 2, 4),
	}
	launch(m, kernels.TopK, &a)
	m.equal(a.Value, 3, 3, 1, nan, 6, 5, -inf, -inf)
	m.equal(a.Index, 9, 8, 50, -1, 70, 70, -1, -1)
}

func TestTopKStrided(t *testing.T) {
	m := newMemory(t)
	a := kernels.TopKArgs{Score: m.of(f32, dims(2, 4), 1, 2, 50, 60, 4, 3, 70, 80), Value: m.out(f32, 2, 1), Index: m.out(i32, 2, 1)}
	a.Score.Dims[1], a.Score.Stride = 2, 4
	launch(m, kernels.TopK, &a)
	m.equal(a.Value, 2, 4)
	m.equal(a.Index, 1, 0)
}

func TestTopKRefusals(t *testing.T) {
	m := newMemory(t)
	a := kernels.TopKArgs{Score: m.of(f32, dims(1, 2), 1, 2), Value: m.out(f32, 1, 3), Index: m.out(i32, 1, 3)}
	require.EqualError(t, kernels.TopK.Launch(m.s, &a), "kernel: topk: operand Value: more results than scores: axis k is 3, want 2")
	a = kernels.TopKArgs{Score: hugeTokens(m, 1, 1<<31), Value: m.out(f32, 1, 3), Index: m.out(i32, 1, 3)}
	require.EqualError(t, kernels.TopK.Launch(m.s, &a), "kernel: topk: operand Score: more scores in a row than an index holds: axis n is 2147483648, want 2147483647")
}

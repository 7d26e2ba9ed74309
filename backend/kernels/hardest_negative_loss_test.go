package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	softplus1 = 1.31326168751822286 // log(1 + e)
	softplus2 = 2.12692801104297252 // log(1 + e²)
	sigmoid1  = 0.73105857863000490 // 1/(1 + 1/e)
	sigmoid2  = 0.88079707797788243 // 1/(1 + 1/e²)
)

// Rows (1,3,2) with positive 1 and (5,1,5) with positive 1, the second; at temperature 2
// the gaps are 1 and 2, and the second row has its hardest negative twice.
func handScores(m *memory) backend.View { return m.of(f32, dims(2, 3), 1, 3, 2, 5, 1, 5) }

func TestHardestNegativeLossByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.HardestNegativeLossArgs{Score: handScores(m), Loss: m.out(f32, 2), Negative: m.out(i32, 2), Temperature: 2}
	launch(m, kernels.HardestNegativeLoss, &a)
	m.near(approx, a.Loss, softplus1, softplus2)
	m.equal(a.Negative, 1, 0)
	a.Negative = backend.View{}
	for reduction, want := range map[kernels.Reduction]float64{kernels.ReduceSum: softplus1 + softplus2, kernels.ReduceMean: (softplus1 + softplus2) / 2} {
		a.Reduction, a.Loss = reduction, m.out(f32, 1)
		launch(m, kernels.HardestNegativeLoss, &a)
		m.near(approx, a.Loss, want)
	}
}

// With offset 1 the positives are columns 1 and 2: gaps (2−3)/1 and (5−5)/1.
func TestHardestNegativeLossOffset(t *testing.T) {
	m := newMemory(t)
	a := kernels.HardestNegativeLossArgs{Score: handScores(m), Loss: m.out(f32, 2), Negative: m.out(i32, 2), Temperature: 1, Offset: 1}
	launch(m, kernels.HardestNegativeLoss, &a)
	m.near(approx, a.Loss, math.Log1p(math.Exp(-1)), math.Ln2)
	m.equal(a.Negative, 2, 0)
}

func TestHardestNegativeLossExtremes(t *testing.T) {
	m := newMemory(t)
	a := kernels.HardestNegativeLossArgs{Score: m.of(f32, dims(3, 3), 10000, -10000, -inf, 10000, -10000, 10000, 30, -inf, 0), Loss: m.out(f32, 3), Temperature: 1}
	launch(m, kernels.HardestNegativeLoss, &a)
	m.near(approx, a.Loss, 0, 20000, 30+math.Log1p(math.Exp(-30))) // the exact form, not torch's linear one

	a = kernels.HardestNegativeLossArgs{Score: m.of(f32, dims(0, 2)), Loss: m.out(f32, 1), Temperature: 1}
	for _, a.Reduction = range []kernels.Reduction{kernels.ReduceMean, kernels.ReduceSum} {
		launch(m, kernels.HardestNegativeLoss, &a)
		m.equal(a.Loss, 0) // no rows
	}
}

func TestHardestNegativeLossBackwardByHand(t *testing.T) {
	m := newMemory(t)
	a := kernels.HardestNegativeLossBackwardArgs{Score: handScores(m), DLoss: m.of(f32, dims(2), 1, 4), DScore: m.out(f32, 2, 3), Temperature: 2}
	launch(m, kernels.HardestNegativeLossBackward, &a)
	m.near(approx, a.DScore, -sigmoid1/2, sigmoid1/2, 0, 2*sigmoid2, -2*sigmoid2, 0)
	a.Tie = kernels.TieEvenSplit
	launch(m, kernels.HardestNegativeLossBackward, &a)
	m.near(approx, a.DScore, -sigmoid1/2, sigmoid1/2, 0, sigmoid2, -2*sigmoid2, sigmoid2)

	a.DLoss, a.Reduction = m.of(f32, dims(1), 4), kernels.ReduceMean // 4 over 2 rows
	launch(m, kernels.HardestNegativeLossBackward, &a)
	m.near(approx, a.DScore, -sigmoid1, sigmoid1, 0, sigmoid2/2, -sigmoid2, sigmoid2/2)
	a.Reduction = kernels.ReduceSum
	launch(m, kernels.HardestNegativeLossBackward, &a)
	m.near(approx, a.DScore, -2*sigmoid1, 2*sigmoid1, 0, sigmoid2, -2*sigmoid2, sigmoid2)

	// All equal: half of the gradient from the positive, a quarter to each negative.
	a = kernels.HardestNegativeLossBackwardArgs{Score: m.of(f32, dims(1, 3), 0, 0, 0), DLoss: m.of(f32, dims(1), 1), DScore: m.out(f32, 1, 3),
		Temperature: 1, Tie: kernels.TieEvenSplit}
	launch(m, kernels.HardestNegativeLossBackward, &a)
	m.equal(a.DScore, -.5, .25, .25)
}

// One row is wrong, the other is not: its loss and gradients are NaN, and Sync names the
// score. Of several faults the highest code is reported, of equal codes the first.
func TestHardestNegativeLossFaults(t *testing.T) {
	for _, c := range []struct {
		row  []float64 // the positive is the second
		want string
	}{
		{[]float64{1, nan, 2}, "the positive score is not finite at element 4"},
		{[]float64{1, inf, 2}, "the positive score is not finite at element 4"},
		{[]float64{1, -inf, 2}, "the positive score is not finite at element 4"},
		{[]float64{1, 0, nan}, "NaN or +Inf score at element 5"},
		{[]float64{inf, 0, nan}, "NaN or +Inf score at element 3"},
		{[]float64{nan, inf, 1}, "NaN or +Inf score at element 3"},
		{[]float64{-inf, 0, -inf}, "no finite negative score in the row at element 3"},
		{[]float64{-inf, nan, nan}, "no finite negative score in the row at element 3"},
	} {
		m := newMemory(t)
		score := m.of(f32, dims(2, 3), append([]float64{0, 0, -inf}, c.row...)...)
		a := kernels.HardestNegativeLossArgs{Score: score, Loss: m.out(f32, 2), Negative: m.out(i32, 2), Temperature: 1}
		require.NoError(t, kernels.HardestNegativeLoss.Launch(m.s, &a))
		require.EqualError(t, m.s.Sync(), "kernel: hardest_negative_loss: operand Score: "+c.want)
		m.near(approx, a.Loss, math.Ln2, nan)
		m.equal(a.Negative, 1, -1)
		a.Loss, a.Reduction = m.out(f32, 1), kernels.ReduceMean
		require.NoError(t, kernels.HardestNegativeLoss.Launch(m.s, &a))
		require.Error(t, m.s.Sync())
		m.equal(a.Loss, nan)

		b := kernels.HardestNegativeLossBackwardArgs{Score: score, DLoss: m.of(f32, dims(2), 2, 2), DScore: m.out(f32, 2, 3), Temperature: 1}
		require.NoError(t, kernels.HardestNegativeLossBackward.Launch(m.s, &b))
		require.EqualError(t, m.s.Sync(), "kernel: hardest_negative_loss_backward: operand Score: "+c.want)
		m.equal(b.DScore, -1, 1, 0, nan, nan, nan)
	}
}

func TestHardestNegativeLossRefusals(t *testing.T) {
	m := newMemory(t)
	good := kernels.HardestNegativeLossArgs{Score: handScores(m), Loss: m.out(f32, 2), Temperature: 1}
	for want, change := range map[string]func(*kernels.HardestNegativeLossArgs){
		"Temperature: 0 is not a positive finite number":                      func(a *kernels.HardestNegativeLossArgs) { a.Temperature = 0 },
		"Temperature: NaN is not a positive finite number":                    func(a *kernels.HardestNegativeLossArgs) { a.Temperature = nan },
		"Reduction: unknown reduction (got 3, want 2)":                        func(a *kernels.HardestNegativeLossArgs) { a.Reduction = 3 },
		"Score: a negative needs a second column: axis cols is 1, want 2":     func(a *kernels.HardestNegativeLossArgs) { a.Score = m.out(f32, 2, 1) },
		"Offset: offset + rows must stay within the columns (got 2, want 1)":  func(a *kernels.HardestNegativeLossArgs) { a.Offset = 2 },
		"Offset: offset + rows must stay within the columns (got -1, want 1)": func(a *kernels.HardestNegativeLossArgs) { a.Offset = -1 },
		"Loss: size does not fit the reduction: axis o is 2, want 1":          func(a *kernels.HardestNegativeLossArgs) { a.Reduction = kernels.ReduceMean },
		"Loss: size does not fit the reduction: axis o is 1, want 2":          func(a *kernels.HardestNegativeLossArgs) { a.Loss = m.out(f32, 1) },
		"Score: more columns than an index holds: axis cols is 2147483648, want 2147483647": func(a *kernels.HardestNegativeLossArgs) {
			a.Score = hugeTokens(m, 2, 1<<31)
		},
	} {
		a := good
		change(&a)
		require.EqualError(t, kernels.HardestNegativeLoss.Launch(m.s, &a), "kernel: hardest_negative_loss: operand "+want)
	}
	b := kernels.HardestNegativeLossBackwardArgs{Score: good.Score, DLoss: good.Loss, DScore: m.out(f32, 2, 3), Temperature: 1, Tie: 2}
	require.EqualError(t, kernels.HardestNegativeLossBackward.Launch(m.s, &b),
		"kernel: hardest_negative_loss_backward: operand Tie: unknown tie mode (got 2, want 1)")
}

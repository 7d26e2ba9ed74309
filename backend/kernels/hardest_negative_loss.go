package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Reduction says how row losses become the output.
type Reduction uint8

// Reductions.
const (
	ReduceNone Reduction = iota
	ReduceMean
	ReduceSum
)

// Tie says who takes the gradient among equal negatives.
type Tie uint8

// Tie modes.
const (
	TieLowest Tie = iota
	TieEvenSplit
)

// HardestNegativeLossArgs are the operands of [HardestNegativeLoss]. Axes: rows queries,
// cols documents, o = rows with ReduceNone and 1 otherwise. The positive of row i is
// column i + Offset.
type HardestNegativeLossArgs struct {
	Score       backend.View `kernel:"in T rows,cols strided"`
	Loss        backend.View `kernel:"out acc(T) o"`
	Negative    backend.View `kernel:"out i32 rows opt"` // column of the hardest negative, lowest of ties; -1 in a row with a data error
	Temperature float64      `kernel:"attr"`
	Offset      int64        `kernel:"attr"`
	Reduction   Reduction    `kernel:"attr"`
}

// HardestNegativeLossBackwardArgs are the operands of [HardestNegativeLossBackward]; DLoss
// is the gradient of the loss.
type HardestNegativeLossBackwardArgs struct {
	Score       backend.View `kernel:"in T rows,cols strided"`
	DLoss       backend.View `kernel:"in acc(T) o"`
	DScore      backend.View `kernel:"out T rows,cols"`
	Temperature float64      `kernel:"attr"`
	Offset      int64        `kernel:"attr"`
	Reduction   Reduction    `kernel:"attr"`
	Tie         Tie          `kernel:"attr"`
}

// hardestFaults are the data errors, by code from 1.
var hardestFaults = []string{"the positive score is not finite", "NaN or +Inf score", "no finite negative score in the row"}

// HardestNegativeLoss is softplus((max over j≠pos of s_ij − s_pos) / Temperature), reduced.
// −∞ is legal as a losing negative. A row with a data error has loss NaN, and Sync names
// it; no rows give 0.
var HardestNegativeLoss = kernel.Declare(kernel.Spec[HardestNegativeLossArgs]{
	Name: "hardest_negative_loss", Family: "loss",
	Source: "Faysse et al., ColPali, 2024: the in-batch objective of colpali-triton",
	Doc: "softplus((hardest negative − positive) / temperature) per row, then none, mean or sum. −∞ negatives are legal; a non-finite positive, NaN, +∞, or a row " +
		"without a finite negative is a data error reported at Sync, with loss NaN.",
	Vars: []string{"T"}, Instances: rowTypes, Faults: hardestFaults,
	Check: func(a *HardestNegativeLossArgs) error {
		return checkHardest("hardest_negative_loss", &a.Score, &a.Loss, "Loss", a.Temperature, a.Offset, a.Reduction)
	},
	Reference: hardestRef,
	Tolerance: map[string]kernel.Tolerance{
		// One subtraction, one division, softplus in a few roundings; then a sum over rows.
		"Loss": kernel.Rounding[HardestNegativeLossArgs]{Terms: "rows+8", Slack: 2,
			Scale: func(r *kernel.Ref, a *HardestNegativeLossArgs) []float64 {
				h := readHardest(r, &a.Score, a.Offset, a.Temperature)
				return reduceRows(h.magnitude(), a.Reduction)
			}},
		"Negative": kernel.Exact{},
	},
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{FLOP: float64(c.Axes[0] * c.Axes[1]), Special: 2 * float64(c.Axes[0]), Read: viewBytes(c, 0), Write: viewBytes(c, 1, 2)}
	},
	Derive: deriveHardest,
	Cases:  hardestCases(false),
	Bench:  hardestBench("Negative"),
})

// HardestNegativeLossBackward is the gradient with respect to the scores. Every element
// is written: the positive, the hardest negative (TieLowest) or all equal ones
// (TieEvenSplit), zero elsewhere, NaN in a row with a data error.
var HardestNegativeLossBackward = kernel.Declare(kernel.Spec[HardestNegativeLossBackwardArgs]{
	Name: "hardest_negative_loss_backward", Family: "loss",
	Source: "derivative of hardest_negative_loss",
	Doc:    "Gradient of hardest_negative_loss with respect to the scores; ties give all to the lowest index or split evenly. Rows with a data error are NaN.",
	Vars:   []string{"T"}, Instances: rowTypes, Faults: hardestFaults,
	Check: func(a *HardestNegativeLossBackwardArgs) error {
		if a.Tie > TieEvenSplit {
			return argument("hardest_negative_loss_backward", "Tie", "", "unknown tie mode", int64(TieEvenSplit), int64(a.Tie))
		}
		return checkHardest("hardest_negative_loss_backward", &a.Score, &a.DLoss, "DLoss", a.Temperature, a.Offset, a.Reduction)
	},
	Reference: hardestBackwardRef,
	Tolerance: map[string]kernel.Tolerance{
		"DScore": kernel.Rounding[HardestNegativeLossBackwardArgs]{Terms: "16", Slack: 2,
			Scale: func(r *kernel.Ref, a *HardestNegativeLossBackwardArgs) []float64 {
				h := readHardest(r, &a.Score, a.Offset, a.Temperature)
				g, m := rowGradients(r, a), h.magnitude()
				out := make([]float64, h.rows*h.cols)
				for i := range out {
					row := i / h.cols
					out[i] = math.Abs(g[row]) / a.Temperature * (1 + m[row])
				}
				return out
			}},
	},
	Cost: func(c *backend.Call) kernel.Cost {
		return kernel.Cost{FLOP: float64(c.Axes[0] * c.Axes[1]), Special: float64(c.Axes[0]), Read: viewBytes(c, 0, 1), Write: viewBytes(c, 2)}
	},
	Derive: deriveHardest,
	Cases:  hardestCases(true),
	Bench:  hardestBench(),
})

func checkHardest(name string, score, loss *backend.View, lossField string, temperature float64, offset int64, red Reduction) error {
	rows, cols := score.Dims[0], score.Dims[1]
	if !(temperature > 0) || math.IsInf(temperature, 1) {
		return number(name, "Temperature", temperature, "is not a positive finite number")
	}
	if red > ReduceSum {
		return argument(name, "Reduction", "", "unknown reduction", int64(ReduceSum), int64(red))
	}
	if cols < 2 {
		return argument(name, "Score", "cols", "a negative needs a second column", 2, cols)
	}
	if cols > math.MaxInt32 {
		return argument(name, "Score", "cols", "more columns than an index holds", math.MaxInt32, cols)
	}
	if offset < 0 || offset > cols-rows {
		return argument(name, "Offset", "", "offset + rows must stay within the columns", cols-rows, offset)
	}
	want := int64(1)
	if red == ReduceNone {
		want = rows
	}
	if loss.Dims[0] != want {
		return argument(name, lossField, "o", "size does not fit the reduction", want, loss.Dims[0])
	}
	return nil
}

// hardest is what the references know of each row.
type hardest struct {
	rows, cols  int
	score       []float64
	pos, neg    []float64
	at          []int64 // column of the hardest negative; -1
	fault       []int   // 0 = fine
	faultAt     []int64
	offset      int
	temperature float64
}

func readHardest(r *kernel.Ref, score *backend.View, offset int64, temperature float64) *hardest {
	rows, cols := int(score.Dims[0]), int(score.Dims[1])
	h := &hardest{rows: rows, cols: cols, score: r.Read(score), offset: int(offset), temperature: temperature,
		pos: make([]float64, rows), neg: make([]float64, rows), at: make([]int64, rows),
		fault: make([]int, rows), faultAt: make([]int64, rows)}
	for i := range rows {
		h.row(i)
	}
	return h
}

func (h *hardest) row(i int) {
	row := h.score[i*h.cols : (i+1)*h.cols]
	p := i + h.offset
	h.pos[i], h.neg[i], h.at[i] = row[p], negInf, -1
	bad := func(code, col int) {
		if code > h.fault[i] {
			h.fault[i], h.faultAt[i] = code, int64(i*h.cols+col)
		}
	}
	if math.IsNaN(row[p]) || math.IsInf(row[p], 0) {
		bad(1, p)
	}
	for j, s := range row {
		if j == p {
			continue
		}
		if math.IsNaN(s) || math.IsInf(s, 1) {
			bad(2, j)
		}
		if s > h.neg[i] {
			h.neg[i], h.at[i] = s, int64(j)
		}
	}
	if h.at[i] < 0 {
		bad(3, 0)
	}
}

// losses gives the rows' losses and sends the faults to the status word.
func (h *hardest) losses(r *kernel.Ref) []float64 {
	out := make([]float64, h.rows)
	for i := range out {
		if h.fault[i] > 0 {
			r.Fault(h.fault[i], "Score", h.faultAt[i])
			out[i] = math.NaN()
			continue
		}
		z := (h.neg[i] - h.pos[i]) / h.temperature
		out[i] = math.Max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
	}
	return out
}

// magnitude is the scale of a row's rounding: both scores over the temperature, plus one
// for softplus.
func (h *hardest) magnitude() []float64 {
	out := make([]float64, h.rows)
	for i := range out {
		out[i] = 1 + (math.Abs(h.neg[i])+math.Abs(h.pos[i]))/h.temperature
	}
	return out
}

func reduceRows(x []float64, red Reduction) []float64 {
	if red == ReduceNone {
		return x
	}
	var s float64
	for _, v := range x {
		s += v
	}
	if red == ReduceMean && len(x) > 0 {
		s /= float64(len(x))
	}
	return []float64{s}
}

func hardestRef(r *kernel.Ref, a *HardestNegativeLossArgs) error {
	h := readHardest(r, &a.Score, a.Offset, a.Temperature)
	r.Write(&a.Loss, reduceRows(h.losses(r), a.Reduction))
	for i, f := range h.fault {
		if f > 0 {
			h.at[i] = -1
		}
	}
	r.WriteInts(&a.Negative, h.at)
	return nil
}

// rowGradients spreads the gradient of the reduced loss over rows.
func rowGradients(r *kernel.Ref, a *HardestNegativeLossBackwardArgs) []float64 {
	d, rows := r.Read(&a.DLoss), int(a.Score.Dims[0])
	if a.Reduction == ReduceNone {
		return d
	}
	g := make([]float64, rows)
	for i := range g {
		g[i] = d[0]
		if a.Reduction == ReduceMean {
			g[i] /= float64(rows)
		}
	}
	return g
}

func hardestBackwardRef(r *kernel.Ref, a *HardestNegativeLossBackwardArgs) error {
	h := readHardest(r, &a.Score, a.Offset, a.Temperature)
	h.losses(r) // for the faults
	g := rowGradients(r, a)
	out := make([]float64, h.rows*h.cols)
	for i := range h.rows {
		row := out[i*h.cols : (i+1)*h.cols]
		if h.fault[i] > 0 {
			for j := range row {
				row[j] = math.NaN()
			}
			continue
		}
		z := (h.neg[i] - h.pos[i]) / h.temperature
		s := g[i] / (1 + math.Exp(-z)) / h.temperature
		h.spread(i, s, a.Tie, row)
		row[i+h.offset] = -s
	}
	r.Write(&a.DScore, out)
	return nil
}

func (h *hardest) spread(i int, s float64, tie Tie, row []float64) {
	if tie == TieLowest {
		row[h.at[i]] = s
		return
	}
	var equal []int
	for j, v := range h.score[i*h.cols : (i+1)*h.cols] {
		if j != i+h.offset && v == h.neg[i] {
			equal = append(equal, j)
		}
	}
	for _, j := range equal {
		row[j] = s / float64(len(equal))
	}
}

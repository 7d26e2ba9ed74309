package simd

import (
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindHardestNegativeLoss()

func bindHardestNegativeLoss() bool {
	for _, u := range rowUnits() {
		for _, i := range kernels.HardestNegativeLoss.Instances() {
			b := u.binding(i, "cols")
			b.Class = "exact" // the search compares and the loss is scalar f64, the same at every level
			Bind(kernels.HardestNegativeLoss, b, kernelHardest(u))
		}
		for _, i := range kernels.HardestNegativeLossBackward.Instances() {
			b := u.binding(i, "cols")
			b.Class = "exact"
			Bind(kernels.HardestNegativeLossBackward, b, kernelHardestBackward(u))
		}
	}
	return true
}

const hardestAxisRows = 0

// hardestSum rows are added to one f64 before the sums are added: in order, whatever the workers.
const hardestSum = 1024

func kernelHardest(u *rowUnit) Body[kernels.HardestNegativeLossArgs] {
	return Body[kernels.HardestNegativeLossArgs]{
		Tiles: func(a *kernels.HardestNegativeLossArgs, _ *backend.Call) int64 {
			return rowTiles(a.Score.Dims[0], a.Score.Dims[1])
		},
		Workspace: func(c *backend.Call) int64 { return 8 * c.Axes[hardestAxisRows] },
		Local:     func(*backend.Call) int64 { return rowLocalBytes },
		Run: func(t *Task, a *kernels.HardestNegativeLossArgs) {
			h := newHardest(u, t, &a.Score, a.Offset, a.Temperature)
			loss, negative := Words[float64](t.Scratch), Slice[int32](&a.Negative)
			per := rowsPerTile(int64(h.cols))
			for i := t.Lo * per; i < min(t.Hi*per, a.Score.Dims[0]); i++ {
				r := h.find(int(i))
				loss[i] = math.NaN()
				if r.at >= 0 {
					loss[i] = math.Max(r.z, 0) + math.Log1p(math.Exp(-math.Abs(r.z)))
				}
				if negative != nil {
					negative[i] = int32(r.at)
				}
			}
		},
		Finish: func(t *Task, a *kernels.HardestNegativeLossArgs) {
			hardestReduce(Slice[float32](&a.Loss), Words[float64](t.Scratch), int(a.Score.Dims[0]), a.Reduction)
		},
	}
}

// hardestReduce writes the row losses, or their sum in row order, or that over their number.
func hardestReduce(out []float32, loss []float64, rows int, r kernels.Reduction) {
	if r == kernels.ReduceNone {
		for i := range rows {
			out[i] = float32(loss[i])
		}
		return
	}
	var sum float64
	for lo := 0; lo < rows; lo += hardestSum {
		var s float64
		for _, v := range loss[lo:min(lo+hardestSum, rows)] {
			s += v
		}
		sum += s
	}
	if r == kernels.ReduceMean && rows > 0 {
		sum /= float64(rows)
	}
	out[0] = float32(sum)
}

// hardestRows is what the rows of a tile share.
type hardestRows struct {
	*rowUnit
	task        *Task
	score       *byte
	t           int
	cols        int
	stride      int
	offset      int
	temperature float64
}

func newHardest(u *rowUnit, t *Task, score *backend.View, offset int64, temperature float64) hardestRows {
	return hardestRows{u, t, (*byte)(Pointer(score)), rowType(score.DType), int(score.Dims[1]), int(score.RowStride()), int(offset), temperature}
}

// hardestRow is one row's result; a row with a data error has at = -1.
type hardestRow struct {
	positive int
	at       int // lowest column of the hardest negative
	negative float32
	z        float64 // (negative - positive) / temperature
}

func (h *hardestRows) row(i int) *byte { return step(h.score, h.t, i*h.stride) }

// find searches row i on both sides of its positive.
func (h *hardestRows) find(i int) hardestRow {
	x, l := h.row(i), h.task.row()
	raceRead(unsafe.Pointer(x), int64(h.cols*rowSize(h.t)))
	r := hardestRow{positive: i + h.offset, at: -1}
	right := r.positive + 1
	behind, rest := step(x, h.t, right), h.cols-right
	if rest == 0 {
		behind = x // never one past the end
	}
	before, after := h.rowMax(l, x, h.t, r.positive), h.rowMax(l, behind, h.t, rest)
	positive := loadRow(x, h.t, r.positive)
	bad := before != before || after != after || positive-positive != 0
	if r.negative = max(before, after); bad || r.negative-r.negative != 0 {
		h.fault(i, x, r.positive)
		return r
	}
	r.z = (float64(r.negative) - float64(positive)) / h.temperature
	if before >= after {
		r.at = h.rowFind(x, h.t, r.positive, r.negative)
	} else {
		r.at = right + h.rowFind(behind, h.t, rest, r.negative)
	}
	return r
}

// fault raises the data error of row i with the largest code, at its lowest column.
func (h *hardestRows) fault(i int, x *byte, positive int) {
	code, at, negatives := 0, 0, false
	raise := func(c, col int) {
		if c > code {
			code, at = c, col
		}
	}
	for j := range h.cols {
		v := loadRow(x, h.t, j)
		switch {
		case j == positive:
			if v-v != 0 {
				raise(1, j)
			}
		case v != v || v > math.MaxFloat32:
			raise(2, j)
		}
		negatives = negatives || j != positive && v >= -math.MaxFloat32
	}
	if !negatives {
		raise(3, 0)
	}
	h.task.Fail(code, 0, int64(i)*int64(h.cols)+int64(at))
}

func kernelHardestBackward(u *rowUnit) Body[kernels.HardestNegativeLossBackwardArgs] {
	return Body[kernels.HardestNegativeLossBackwardArgs]{
		Tiles: func(a *kernels.HardestNegativeLossBackwardArgs, _ *backend.Call) int64 {
			return rowTiles(a.Score.Dims[0], a.Score.Dims[1])
		},
		Local: func(*backend.Call) int64 { return rowLocalBytes },
		Run: func(t *Task, a *kernels.HardestNegativeLossBackwardArgs) {
			h := newHardest(u, t, &a.Score, a.Offset, a.Temperature)
			out, d := (*byte)(Pointer(&a.DScore)), Slice[float32](&a.DLoss)
			rows := a.Score.Dims[0]
			per := rowsPerTile(int64(h.cols))
			for i := int(t.Lo * per); i < int(min(t.Hi*per, rows)); i++ {
				g := float64(d[0])
				switch a.Reduction {
				case kernels.ReduceNone:
					g = float64(d[i])
				case kernels.ReduceMean:
					g /= float64(rows)
				}
				h.spread(i, step(out, h.t, i*h.cols), g, a.Tie)
			}
		},
	}
}

// spread writes the gradient of row i, whose loss has gradient g.
func (h *hardestRows) spread(i int, out *byte, g float64, tie kernels.Tie) {
	raceWrite(unsafe.Pointer(out), int64(h.cols*rowSize(h.t)))
	r := h.find(i)
	if r.at < 0 {
		fillRow(out, h.t, h.cols, float32(math.NaN()))
		return
	}
	clear(bytesAt(out, h.t, h.cols))
	s := g / (1 + math.Exp(-r.z)) / h.temperature
	storeRow64(out, h.t, r.positive, -s)
	if tie == kernels.TieLowest {
		storeRow64(out, h.t, r.at, s)
		return
	}
	ties := 0
	h.equal(i, r, func(int) { ties++ })
	h.equal(i, r, func(j int) { storeRow64(out, h.t, j, s/float64(ties)) })
}

// equal visits the columns of row i that tie with its hardest negative, in order.
func (h *hardestRows) equal(i int, r hardestRow, visit func(j int)) {
	x := h.row(i)
	for j := r.at; j < h.cols; {
		if j != r.positive {
			visit(j)
		}
		if j++; j == h.cols {
			return
		}
		k := h.rowFind(step(x, h.t, j), h.t, h.cols-j, r.negative)
		if k < 0 {
			return
		}
		j += k
	}
}

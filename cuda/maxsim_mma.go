package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
)

const (
	mmaThreads = 128
	mmaScales  = 256 // bytes a stage grows by
	mmaSpills  = "division of work and loads of query rows, once a segment; none in the loop over documents"
)

// mmaForm is one compiled form of the warp-product variant: rows of tokens of at most span bytes (0: any), query
// rows of a block, and whether it finds winners.
type mmaForm struct {
	name   string
	span   int64
	rows   int64
	winner bool
}

// shared is the dynamic shared memory of a form: 3 stages of 64 tokens, or 4 of 32; without a bound on rows, 128
// bytes of K of both sides.
func (f *mmaForm) shared(scaled bool) int {
	stages, tokens := 3, 64
	if f.rows == 128 {
		stages, tokens = 4, 32
	}
	stage := tokens * int(f.span)
	if f.span == 0 {
		stage = (tokens + int(f.rows)) * 128
	}
	if scaled {
		stage += mmaScales
	}
	return stages * stage
}

// mmaStages are the forms for rows of tokens up to 128 bytes, 256 and any length, named after the d that fills
// them; one of them runs.
func mmaStages[A any](of func(*A) ragged, l *tileLimits) []Stage[A] {
	var out []Stage[A]
	for _, rows := range []int64{32, 128} {
		for _, span := range []int64{128, 256, 0} {
			stem := "wide"
			if span > 0 {
				stem = fmt.Sprintf("d%d", span/l.bytes)
			}
			stem += fmt.Sprintf("r%d", rows)
			out = append(out, mmaStageOf(of, l, mmaForm{stem, span, rows, false}), mmaStageOf(of, l, mmaForm{stem + "w", span, rows, true}))
		}
	}
	return out
}

func mmaStageOf[A any](of func(*A) ragged, l *tileLimits, f mmaForm) Stage[A] {
	shared := f.shared(l.scaled)
	blocks := 4 // of a multiprocessor, by registers
	if f.span == 256 {
		blocks = 3
	}
	return Stage[A]{Name: f.name, Shared: shared, Geometry: func(a *A, c *backend.Call, g *Geometry) {
		r := of(a)
		rows, span, winner := int64(128), int64(0), !c.Operands[l.winner].Absent()
		if r.queryOff.Total <= 32 {
			rows = 32
		}
		switch bytes := c.Axes[axisD] * l.bytes; {
		case bytes <= 128:
			span = 128
		case bytes <= 256:
			span = 256
		}
		g.Line(int64(g.Units*blocks), mmaThreads)
		g.Shared = uint32(shared)
		// Winners of rows that belong to no query are written even without queries.
		g.Skip = f.rows != rows || f.span != span || f.winner != winner || c.Axes[axisND] == 0 || c.Axes[axisNQ] == 0 && !winner
	}}
}

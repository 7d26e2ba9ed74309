package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// Axes of maxsim and maxsim_scaled.
const (
	axisTQ = iota
	axisD
	axisNQ
	axisTD
	axisND
)

const (
	naiveThreads = 128

	// maxRagged is the most rows, tokens, queries or documents of the tiled bodies, whose coordinates have 32 bits.
	maxRagged = 1 << 30
)

// ragged are the operands that the tiled variants look at; scale is nil for maxsim.
type ragged struct {
	query, doc, scale *backend.View
	queryOff, docOff  *kernel.Offsets
}

// naiveGeometry is a block for each document and query. Winners of rows that belong to no query are written even
// without queries.
func naiveGeometry(c *backend.Call, g *Geometry, noWinner bool) {
	nq := c.Axes[axisNQ]
	if !noWinner {
		nq = max(nq, 1)
	}
	g.Plane(c.Axes[axisND], nq, naiveThreads)
}

// tileLimits describes an instance to the variants that copy rows in units of 16 bytes.
type tileLimits struct {
	kernel, variant string
	bytes           int64 // of an element
	operands        []int // that must be aligned
	winner          int   // operand
	scaled          bool
}

func (l *tileLimits) refuse(format string, a ...any) error {
	return &backend.UnsupportedError{Backend: name, Kernel: l.kernel, Variant: l.variant, Reason: fmt.Sprintf(format, a...)}
}

// accept holds what 16-byte copies and 32-bit coordinates ask for.
func (l *tileLimits) accept(c *backend.Call) error {
	if d := c.Axes[axisD]; d*l.bytes%16 != 0 {
		return l.refuse("d %d is not a multiple of %d", d, 16/l.bytes)
	}
	for _, i := range l.operands {
		if c.Operands[i].Off%16 != 0 {
			return l.refuse("operand %d is not aligned to 16 bytes", i)
		}
	}
	for _, axis := range []int{axisTQ, axisNQ, axisTD, axisND} {
		if n := c.Axes[axis]; n > maxRagged {
			return l.refuse("an axis of %d, at most %d", n, maxRagged)
		}
	}
	return nil
}

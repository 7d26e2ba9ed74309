package simd

import "github.com/likbench/likbench/backend"

const (
	// maxsimChunk is the document tokens multiplied before their maxima are taken: a multiple
	// of every tile, so that only a document's end meets a smaller one, and 6 KiB of products.
	maxsimChunk = 48
	// maxsimGroup is the query tokens that a tile of the launch aims at: at 128 components
	// their panels fill a quarter of a 512 KiB second-level cache.
	maxsimGroup = 256
	// maxsimWork is the multiply-adds that a tile aims at, some 20 µs on one core.
	maxsimWork = 1 << 20
)

// maxsimShape is the axes of a launch, and how it splits into tiles: by groups of whole
// queries and blocks of documents, from the axes alone.
type maxsimShape struct{ tq, d, nq, td, nd int64 }

func shapeOf(c *backend.Call) maxsimShape {
	return maxsimShape{tq: c.Axes[0], d: c.Axes[1], nq: c.Axes[2], td: c.Axes[3], nd: c.Axes[4]}
}

// groups is the number of query groups; group g has queries g*nq/groups to (g+1)*nq/groups.
func (s *maxsimShape) groups() int64 {
	return min(ceilDiv(s.tq, maxsimGroup), s.nq)
}

// block is the documents of a tile.
func (s *maxsimShape) block() int64 {
	if s.nd <= 1 {
		return 1
	}
	document := float64(max(1, s.tq/max(1, s.groups()))) * float64(s.d) * float64(max(1, s.td/s.nd))
	return min(max(1, int64(maxsimWork/document)), s.nd)
}

// tiles: tile i is document block i/groups and query group i%groups, so that neighbours
// share documents.
func (s *maxsimShape) tiles() int64 {
	if s.nq == 0 {
		return 0
	}
	blocks := s.nd
	if blocks > 1 {
		blocks = ceilDiv(s.nd, s.block())
	}
	return max(1, s.groups()) * blocks // queries without tokens have scores too
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// roundUp rounds up to a multiple of w, a power of two.
func roundUp(a, w int64) int64 { return (a + w - 1) &^ (w - 1) }

// maxsimSharedLayout is the byte offsets of the launch's scratch.
type maxsimSharedLayout struct{ queryOff, docOff, scale, panel, bytes int64 }

// maxsimShared lays out: clamped offsets, one scale per lane, panels.
func maxsimShared(u *maxsimUnit, s *maxsimShape) maxsimSharedLayout {
	w := int64(u.width)
	// Each group starts at a vector of its own; bounded in tq alone, so that it is monotone.
	lanes := s.tq + w*(ceilDiv(s.tq, maxsimGroup)+2)
	var l maxsimSharedLayout
	l.docOff = align64((s.nq + 1) * 8)
	l.scale = l.docOff + align64((s.nd+1)*8)
	l.panel = l.scale + align64(lanes*4)
	l.bytes = l.panel + align64(lanes*u.panelRows(s.d)*4)
	return l
}

// panelRows is the 32-bit rows of a panel for d components.
func (u *maxsimUnit) panelRows(d int64) int64 {
	if u.pairs {
		return ceilDiv(d, 2)
	}
	return d
}

// maxsimLocalLayout is the byte offsets of a worker's scratch.
type maxsimLocalLayout struct{ winner, dots, scale, index, rows, bytes int64 }

// maxsimLocal lays out: maxima and winners of a group's lanes, products of a chunk, scales
// and token numbers of a chunk, and its rows where they are converted.
func maxsimLocal(s *maxsimShape) maxsimLocalLayout {
	const widest = 64                 // lanes of a panel
	lanes := align64((s.tq + 16) * 4) // a group may be one query with every token
	var l maxsimLocalLayout
	l.winner = lanes
	l.dots = 2 * lanes
	l.scale = l.dots + maxsimChunk*widest*4
	l.index = l.scale + align64(maxsimChunk*4)
	l.rows = l.index + align64(maxsimChunk*4)
	l.bytes = l.rows + maxsimChunk*rowPitch(s.d)
	return l
}

// rowPitch is the bytes between converted rows, whole vectors of f32.
func rowPitch(d int64) int64 { return (d + 7) &^ 7 * 4 }

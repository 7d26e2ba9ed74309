package metal

// Row kernels take a thread a row (naive) or a threadgroup a row (simdgroup).
const (
	rowNaiveThreads = 32
	rowShort        = 512 // elements up to which one simdgroup takes a row: 16 a thread
	rowFewThreads   = 32
	rowManyThreads  = 256
	rowMemory       = 128 // part of the reductions: MAX_SIMDGROUPS floats in src/msl/reduce.h
)

// rowLine gives each thread a row.
func rowLine(rows int64, g *Geometry) { g.Line(CeilDiv(rows, rowNaiveThreads), rowNaiveThreads) }

// rowGroups gives each row a threadgroup; its size depends on the row's length alone, so a row's bits do not depend on
// the other rows.
func rowGroups(rows, n int64, g *Geometry) {
	threads := rowManyThreads
	if n <= rowShort {
		threads = rowFewThreads
	}
	g.Line(rows, threads)
}

// rowTiles are the sizes to straddle: a simdgroup, and the two sizes of threadgroups.
var rowTiles = map[string]int64{"n": rowShort}

package canon

const (
	lanes = 16  // rows of a panel: two AVX vectors, four NEON vectors
	group = 4   // queries of a tile
	depth = 128 // components packed at a time: the usual token width, 8 KiB
	chunk = 64  // queries that share one packed panel
)

// chains holds the running dot products of up to chunk queries with a panel of
// rows: query i with row j of the panel at i*lanes+j.
type chains [chunk * lanes]float32

// Dot returns the canonical dot product of q and d: acc = FMA(q[i], d[i], acc) for
// i ascending, from +0. An empty product is +0; d must be at least as long as q.
func Dot(q, d []float32) float32 {
	d = d[:len(q)]
	if len(q) == 0 {
		return 0
	}
	raceRead(q)
	raceRead(d)
	return quiet(chain(&q[0], &d[0], len(q)))
}

// Dots writes the canonical dot products of q with each row: dst[j] is
// Dot(q, rows[j*dim:(j+1)*dim]). q has dim elements, rows len(dst)*dim, row-major.
// dst must not overlap q or rows.
func Dots(dst []float32, q, rows []float32, dim int) {
	Matrix(dst, q, 1, rows, len(dst), dim)
}

// Matrix writes the canonical dot products of each query with each row: dst[i*n+j]
// is Dot of query i and row j. q is nq×dim, rows n×dim, dst nq×n, all row-major;
// longer slices are legal. dst must not overlap q or rows. It allocates nothing and
// runs on the calling goroutine.
func Matrix(dst []float32, q []float32, nq int, rows []float32, n, dim int) {
	dst, q, rows = dst[:nq*n], q[:nq*dim], rows[:n*dim]
	raceRead(q)
	raceRead(rows)
	var state chains
	for i := 0; i < nq; i += chunk {
		queries := min(chunk, nq-i)
		for j := 0; j < n; j += lanes {
			width := min(lanes, n-j)
			state.run(q[i*dim:], queries, rows[j*dim:], width, dim)
			for k := range queries {
				out := dst[(i+k)*n+j:][:width]
				for l, x := range state[k*lanes : k*lanes+width] {
					out[l] = quiet(x)
				}
			}
		}
	}
}

// run sets the chains of nq queries with the first width rows; the remaining lanes
// and the rest of an incomplete group are undefined. NaNs have any bits.
func (c *chains) run(q []float32, nq int, rows []float32, width, dim int) {
	clear(c[:min(chunk, nq+group-1)*lanes])
	var panel [depth * lanes]float32
	for from := 0; from < dim; from += depth {
		k := min(depth, dim-from)
		pack(&panel, rows[from:], width, dim, k)
		for i := 0; i < nq; i += group {
			// An incomplete group repeats its last query; its chains are not read.
			at := func(j int) *float32 { return &q[min(i+j, nq-1)*dim+from] }
			tile(&c[i*lanes], at(0), at(1), at(2), at(3), &panel[0], k)
		}
	}
}

// packGeneric transposes rows into panel: component i of row j at i*lanes+j. Lanes
// from width on are zero.
func packGeneric(panel *[depth * lanes]float32, rows []float32, from, width, dim, k int) {
	for j := from; j < lanes; j++ {
		if j >= width {
			for i := range k {
				panel[i*lanes+j] = 0
			}
			continue
		}
		for i, x := range rows[j*dim : j*dim+k] {
			panel[i*lanes+j] = x
		}
	}
}

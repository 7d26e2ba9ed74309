package simd

import (
	"math"
	"slices"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindRBFMatmul()

func bindRBFMatmul() bool {
	for _, u := range rbfUnits() {
		b := backend.Binding{Variant: u.variant, Requires: u.requires, Class: u.class}
		b.Kernel, b.Tile = "rbf_matmul_f32", map[string]int64{"n": rbfQuad, "m": rbfPanelBytes / 4}
		Bind(kernels.RBFMatmul, b, kernelRBF(u.single))
		b.Kernel, b.Tile = "rbf_matmul_f64", map[string]int64{"n": rbfQuad, "m": rbfPanelBytes / 8}
		Bind(kernels.RBFMatmul, b, kernelRBF(u.double))
	}
	return true
}

// rbfUnit is the arithmetic of a level.
type rbfUnit struct {
	variant  string
	requires []string
	class    string
	single   rbfRoutines[float32]
	double   rbfRoutines[float64]
}

// rbfRoutines work on 4 rows and panels of 128 bytes of columns.
type rbfRoutines[F float32 | float64] struct {
	// tile writes k = 2^(c·u), for float32 2^(c·u/4), for the squared distances u of the rows of x, [d][4], from the
	// columns of panels of y, each [d][panel]; row r of k is r·stride bytes on. u is cut at
	// limit, where k is 0; clow is the part of c beyond its type.
	tile func(x, y, k *F, d, panels, stride int, c, clow, limit F)
	// sum adds to acc[r] the dot product of row r of k with w. A lane takes every 16th column
	// in f32, every 8th in f64; lanes are added in f64.
	sum func(k, w *F, acc *float64, panels, stride int)
}

// rbfUnits are the units of every architecture, as rowUnits.
func rbfUnits() []*rbfUnit {
	out := append(rbfAssembly(), &rbfGeneric)
	for _, name := range []string{"avx512", "avx2", "neon"} {
		if slices.ContainsFunc(out, func(u *rbfUnit) bool { return u.variant == name }) {
			continue
		}
		u := rbfGeneric
		u.variant, u.requires, u.class = name, []string{name}, rowFused
		out = append(out, &u)
	}
	return out
}

const (
	rbfQuad       = 4   // rows of a register tile
	rbfPanelBytes = 128 // columns of a register tile
	rbfRowsMost   = 256 // rows that share a packed tile of columns
	rbfTilesMost  = 64  // tiles that splitting the columns may make of few rows
	// rbfColumnBytes bounds a row's columns between two f64 additions: 4 rows of values take a
	// quarter of a level 1 cache, and an f32 lane has 32 terms.
	rbfColumnBytes = 2048
	// rbfNear is what of the packed columns stays in a level 1 cache while rbfGroup quads of
	// rows pass over it: a panel of 128 components would come from level 2 for each quad.
	rbfNear  = 16 << 10
	rbfGroup = 4
	// rbfSkew keeps the rows of values out of one cache set: 1.4 times as fast at 16 columns of V.
	rbfSkew = 64
	// rbfPackedBytes is what the packed columns of a tile may take: well inside a level 2 cache.
	rbfPackedBytes = 192 << 10
)

// rbfShape is how a launch is cut. It follows from the axes alone, and the order of the
// additions from it.
type rbfShape struct {
	n, d, m, c int // d at least 1: no components are one that is 0
	rows       int // of a tile
	columns    int // packed at once, whole panels
	blocks     int // of rows
	groups     int // of columns
	splits     int // ranges of groups, each its own tile
}

func rbfShapeOf(n, d, m, c int64, size int) rbfShape {
	s := rbfShape{n: int(n), d: int(max(d, 1)), m: int(m), c: int(c)}
	panel := rbfPanelBytes / size
	s.columns = min(max(rbfPackedBytes/size/(s.d+s.c)/panel*panel, panel), rbfColumnBytes/size)
	s.rows = min(max((1<<16)/(s.d+s.c)&^(rbfQuad-1), 8*rbfQuad), rbfRowsMost)
	s.blocks, s.groups = ceil(s.n, s.rows), ceil(s.m, s.columns)
	s.splits = 1
	if s.blocks > 0 {
		s.splits = max(min(rbfTilesMost/s.blocks, s.groups/2), 1)
	}
	return s
}

func ceil(a, b int) int { return (a + b - 1) / b }

// workspace is the partial sums of split columns. It bounds them monotonically: splits·n is at most
// rbfTilesMost blocks of rows, and at most n for each two groups.
func (s rbfShape) workspace() int64 {
	if s.groups < 4 {
		return 0
	}
	return 8 * int64(s.c) * min(int64(s.n)*int64(s.groups/2), rbfTilesMost*rbfRowsMost)
}

// local is the layout of a worker's memory, in elements behind one another.
func (s rbfShape) local(size int) (x, y, v, k, total int64) {
	quads := int64(ceil(s.rows, rbfQuad))
	acc := 8 * quads * rbfQuad * int64(s.c)
	z := int64(size)
	x = align64(acc)
	y = x + align64(quads*rbfQuad*int64(s.d)*z)
	v = y + align64(int64(s.columns)*int64(s.d)*z)
	k = v + align64(int64(s.columns)*int64(s.c)*z)
	return x, y, v, k, k + rbfGroup*rbfQuad*(rbfColumnBytes+rbfSkew)
}

func kernelRBF[F float32 | float64](r rbfRoutines[F]) Body[kernels.RBFMatmulArgs] {
	size := int(unsafe.Sizeof(F(0)))
	shape := func(a *kernels.RBFMatmulArgs) rbfShape {
		return rbfShapeOf(a.X.Dims[0], a.X.Dims[1], a.Y.Dims[0], a.V.Dims[1], size)
	}
	ofCall := func(c *backend.Call) rbfShape { return rbfShapeOf(c.Axes[0], c.Axes[1], c.Axes[2], c.Axes[3], size) }
	return Body[kernels.RBFMatmulArgs]{
		Tiles: func(a *kernels.RBFMatmulArgs, _ *backend.Call) int64 {
			s := shape(a)
			if s.c == 0 {
				return 0 // nothing to write
			}
			return int64(s.blocks * s.splits)
		},
		Workspace: func(c *backend.Call) int64 { return ofCall(c).workspace() },
		Local: func(c *backend.Call) int64 {
			s := ofCall(c)
			s.rows, s.columns = rbfRowsMost, rbfColumnBytes/size // bounds that do not fall as d and c grow
			_, _, _, _, total := s.local(size)
			return total
		},
		Run: func(t *Task, a *kernels.RBFMatmulArgs) {
			w := rbfWorker[F]{rbfRoutines: r, rbfShape: shape(a)}
			w.open(t, a)
			for i := t.Lo; i < t.Hi; i++ {
				w.run(int(i)/w.splits, int(i)%w.splits)
			}
		},
		Finish: func(t *Task, a *kernels.RBFMatmulArgs) {
			if s := shape(a); s.splits > 1 && s.c > 0 {
				rbfMerge(Slice[F](&a.O), Words[float64](t.Scratch), s)
			}
		},
	}
}

// rbfWorker is one worker's part of a launch.
type rbfWorker[F float32 | float64] struct {
	rbfRoutines[F]
	rbfShape
	x, y, v, o        []F
	parts             []float64
	acc               []float64 // [c][rows]
	px                []F       // [quads][d][4]
	py                []F       // [panels][d][panel]
	pv                []F       // [c][columns]
	k                 []F       // [4][columns]
	scale, low, limit F
}

// open finds the operands and lays the worker's memory out.
func (w *rbfWorker[F]) open(t *Task, a *kernels.RBFMatmulArgs) {
	w.x, w.y, w.v, w.o = Slice[F](&a.X), Slice[F](&a.Y), Slice[F](&a.V), Slice[F](&a.O)
	w.parts = Words[float64](t.Scratch)
	x, y, v, k, total := w.local(int(unsafe.Sizeof(F(0))))
	w.acc = Words[float64](t.Local[:x])
	w.px, w.py = Words[F](t.Local[x:y]), Words[F](t.Local[y:v])
	w.pv, w.k = Words[F](t.Local[v:k]), Words[F](t.Local[k:total])
	w.scale, w.low, w.limit = rbfExponent[F](a.Gamma)
	if math.IsInf(float64(w.limit), 1) {
		w.tile = rbfTileFlat[F]
	}
}

// rbfQuarters is the unit of the float32 exponent: its routines look 2^(n/4) up.
const rbfQuarters = 4

// rbfExponent turns γ into base 2: c = -γ log2 e as a number of type F, for float32 in
// quarters, and what F leaves of it, and the u at which the result is 2^-127, or 2^-1023,
// which the routines give as 0: +∞ where no finite u is that far.
func rbfExponent[F float32 | float64](gamma float64) (c, low, limit F) {
	const log2eLow = 2.0355273740931033e-17 // log2 e - math.Log2E
	hi := -gamma * math.Log2E
	lo := math.FMA(-gamma, math.Log2E, -hi) - gamma*log2eLow
	most, least, unit := math.MaxFloat64, 1023.0, 1.0
	if unsafe.Sizeof(F(0)) == 4 {
		most, least, unit = math.MaxFloat32, 127, rbfQuarters
	}
	hi = max(hi, -most/unit)
	c = F(hi * unit)
	low = F(hi*unit - float64(c) + lo*unit)
	if low-low != 0 {
		low = 0
	}
	limit = F(math.Inf(1))
	if l := least / -hi; l > 0 && l <= most { // γ = 0 makes it an infinity
		limit = F(l)
	}
	return c, low, limit
}

// run does the columns of one split for one block of rows.
func (w *rbfWorker[F]) run(block, split int) {
	lo := block * w.rows
	rows := min(w.rows, w.n-lo)
	quads := ceil(rows, rbfQuad)
	panel := rbfPanelBytes / int(unsafe.Sizeof(F(0)))
	clear(w.acc)
	w.packRows(lo, rows)
	for g := w.groups * split / w.splits; g < w.groups*(split+1)/w.splits; g++ {
		first := g * w.columns
		panels := ceil(min(w.columns, w.m-first), panel)
		w.packColumns(first, panels)
		group := rbfGroup
		if panels*rbfPanelBytes*w.d <= rbfNear {
			group = 1 // all of them stay near
		}
		for q := 0; q < quads; q += group {
			w.quads(q, min(group, quads-q), panels, panel)
		}
	}
	w.store(lo, rows, split)
}

// quads does count quads of rows from the first on, for the packed columns.
func (w *rbfWorker[F]) quads(first, count, panels, panel int) {
	stride := panels*rbfPanelBytes + rbfSkew
	values := len(w.k) / rbfGroup // of a quad
	near := max(rbfNear/(rbfPanelBytes*w.d), 1)
	for p := 0; p < panels; p += near {
		for q := range count {
			w.tile(&w.px[(first+q)*rbfQuad*w.d], &w.py[p*panel*w.d], &w.k[q*values+p*panel], w.d, min(near, panels-p), stride, w.scale, w.low, w.limit)
		}
	}
	row := ceil(w.rows, rbfQuad)
	for c := range w.c {
		for q := range count {
			w.sum(&w.k[q*values], &w.pv[c*w.columns], &w.acc[(c*row+first+q)*rbfQuad], panels, stride)
		}
	}
}

// packRows interleaves rows by four; rows beyond the last repeat it.
func (w *rbfWorker[F]) packRows(lo, rows int) {
	if w.x == nil { // no components
		clear(w.px)
		return
	}
	raceRead(unsafe.Pointer(&w.x[lo*w.d]), int64(rows*w.d)*int64(unsafe.Sizeof(F(0))))
	for i := range ceil(rows, rbfQuad) * rbfQuad {
		src := w.x[(lo+min(i, rows-1))*w.d:][:w.d]
		dst := w.px[i/rbfQuad*rbfQuad*w.d+i%rbfQuad:]
		for k, v := range src {
			dst[k*rbfQuad] = v
		}
	}
}

// packColumns transposes panels of y and of v. Columns beyond the last repeat it with weights 0.
func (w *rbfWorker[F]) packColumns(first, panels int) {
	size := int(unsafe.Sizeof(F(0)))
	panel := rbfPanelBytes / size
	count := min(panels*panel, w.m-first)
	raceRead(unsafe.Pointer(&w.v[first*w.c]), int64(count*w.c*size))
	for c := range w.c {
		dst := w.pv[c*w.columns:][:panels*panel]
		for j := range count {
			dst[j] = w.v[(first+j)*w.c+c]
		}
		clear(dst[count:])
	}
	if w.y == nil { // no components
		clear(w.py)
		return
	}
	raceRead(unsafe.Pointer(&w.y[first*w.d]), int64(count*w.d*size))
	row := func(j int) []F { return w.y[(first+min(j, count-1))*w.d:][:w.d] }
	for j := 0; j < panels*panel; j += 4 { // four columns at a time fill a quarter of a line
		a, b, c, d := row(j), row(j+1), row(j+2), row(j+3)
		dst := w.py[j/panel*panel*w.d+j%panel:]
		for k := range a {
			q := (*[4]F)(dst[k*panel:])
			q[0], q[1], q[2], q[3] = a[k], b[k], c[k], d[k]
		}
	}
}

// store writes the sums of a block of rows, or keeps them for Finish.
func (w *rbfWorker[F]) store(lo, rows, split int) {
	rounded := ceil(w.rows, rbfQuad) * rbfQuad
	if w.splits == 1 {
		raceWrite(unsafe.Pointer(&w.o[lo*w.c]), int64(rows*w.c)*int64(unsafe.Sizeof(F(0))))
	}
	for i := range rows {
		for c := range w.c {
			v := w.acc[c*rounded+i]
			if w.splits == 1 {
				w.o[(lo+i)*w.c+c] = F(v)
			} else {
				w.parts[(split*w.n+lo+i)*w.c+c] = v
			}
		}
	}
}

// rbfMerge adds the splits in order.
func rbfMerge[F float32 | float64](o []F, parts []float64, s rbfShape) {
	row := s.n * s.c
	for i := range row {
		var sum float64
		for p := range s.splits {
			sum += parts[p*row+i]
		}
		o[i] = F(sum)
	}
}

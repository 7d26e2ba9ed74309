package simd

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// Rows of 8-bit floats are widened, which is exact, and then as in maxsim; the scales
// multiply the products before the maximum.
var _ = maxsimScaledBind("generic", "generic", "portable loops, rows widened")
var _ = maxsimScaledBind("avx2", maxsimClass, "rows widened to f32", "avx2")
var _ = maxsimScaledBind("avx512", maxsimClass, "rows widened to f32", "avx512")
var _ = maxsimScaledBind("avx512bf16", "avx512bf16", "rows widened to bf16, VDPBF16PS on pairs", "avx512", "avx512_bf16")
var _ = maxsimScaledBind("amx", "amx", "rows widened to bf16, TDPBF16PS on tiles of 16 by 16; d a multiple of 8", "avx512", "amx_bf16")
var _ = maxsimScaledBind("neon", maxsimClass, "rows widened to f32", "neon")
var _ = maxsimScaledBind("neonbf16", "neonbf16", "rows widened to bf16, BFDOT on pairs", "neon", "bf16")

// maxsimScaledBind binds maxsim_scaled at one level.
func maxsimScaledBind(variant, class, note string, requires ...string) bool {
	u := maxsimUnitOf(variant)
	b := backend.Binding{Kernel: "maxsim_scaled_f8e4m3", Variant: variant, Requires: requires, Class: class, Note: note, Tile: maxsimTile(u)}
	if u.pairs {
		b.Accept = func(c *backend.Call) error { return u.accept("maxsim_scaled_f8e4m3", variant, shapeOf(c).d) }
	}
	return Bind(kernels.MaxSimScaled, b, Body[kernels.MaxSimScaledArgs]{
		Tiles: func(_ *kernels.MaxSimScaledArgs, c *backend.Call) int64 {
			s := shapeOf(c)
			return s.tiles()
		},
		Start: func(t *Task, a *kernels.MaxSimScaledArgs) {
			m := maxsim{unit: u, kind: rowE4M3}
			m.openScaled(a, t.Call)
			m.start(t)
		},
		Run: func(t *Task, a *kernels.MaxSimScaledArgs) {
			m := maxsim{unit: u, kind: rowE4M3}
			m.openScaled(a, t.Call)
			m.run(t)
		},
		Workspace: func(c *backend.Call) int64 { s := shapeOf(c); return maxsimShared(u, &s).bytes },
		Local:     func(c *backend.Call) int64 { s := shapeOf(c); return maxsimLocal(&s).bytes },
	})
}

// openScaled takes the operands of a launch.
func (m *maxsim) openScaled(a *kernels.MaxSimScaledArgs, c *backend.Call) {
	m.maxsimShape = shapeOf(c)
	m.query, m.doc = Pointer(&a.Query), Pointer(&a.Doc)
	m.queryScale, m.docScale = Slice[float32](&a.QueryScale), Slice[float32](&a.DocScale)
	m.queryOff, m.docOff, m.offOperands = Slice[int64](&a.QueryOff.View), Slice[int64](&a.DocOff.View), [2]int{2, 5}
	m.queryMask, m.docMask = Slice[uint8](&a.QueryMask), Slice[uint8](&a.DocMask)
	m.score, m.winner = Slice[float32](&a.Score), Slice[int32](&a.Winner)
	m.emptyZero = a.EmptyZero
}

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
	open := func(a *kernels.MaxSimScaledArgs, c *backend.Call) maxsim {
		return maxsim{
			unit: u, kind: rowE4M3, maxsimShape: shapeOf(c),
			query: Pointer(&a.Query), doc: Pointer(&a.Doc),
			queryScale: Slice[float32](&a.QueryScale), docScale: Slice[float32](&a.DocScale),
			queryOff: Slice[int64](&a.QueryOff.View), docOff: Slice[int64](&a.DocOff.View), offOperands: [2]int{2, 5},
			queryMask: Slice[uint8](&a.QueryMask), docMask: Slice[uint8](&a.DocMask),
			score: Slice[float32](&a.Score), winner: Slice[int32](&a.Winner),
			emptyZero: a.EmptyZero,
		}
	}
	return Bind(kernels.MaxSimScaled, b, Body[kernels.MaxSimScaledArgs]{
		Tiles: func(_ *kernels.MaxSimScaledArgs, c *backend.Call) int64 {
			s := shapeOf(c)
			return s.tiles()
		},
		Start: func(t *Task, a *kernels.MaxSimScaledArgs) {
			m := open(a, t.Call)
			m.start(t)
			if t.Hi == 1 { // while all is at hand
				m.tile(0)
			}
		},
		Run: func(t *Task, a *kernels.MaxSimScaledArgs) {
			if s := shapeOf(t.Call); s.tiles() == 1 {
				return // done
			}
			m := open(a, t.Call)
			m.run(t)
		},
		Workspace: func(c *backend.Call) int64 { return maxsimShared(u, c).bytes },
		Local:     func(c *backend.Call) int64 { return maxsimLocal(c).bytes },
	})
}

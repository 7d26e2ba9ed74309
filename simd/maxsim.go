package simd

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// The variants of maxsim. avx2, avx512 and neon add the products of a pair of tokens in
// one chain of fused multiply-adds over ascending components, so they are one class;
// generic rounds products first, and amx, avx512bf16 and neonbf16 add them in pairs, each
// with rounding of its own.
const maxsimClass = "fma_chain"

var _ = maxsimBind("maxsim_f32", "generic", "generic", "portable loops")
var _ = maxsimBind("maxsim_f32", "avx2", maxsimClass, "panel of 32 query tokens by 3 document tokens", "avx2")
var _ = maxsimBind("maxsim_f32", "avx512", maxsimClass, "panel of 32 query tokens by 12 document tokens", "avx512")
var _ = maxsimBind("maxsim_f32", "neon", maxsimClass, "panel of 16 query tokens by 4 document tokens", "neon")

var _ = maxsimBind("maxsim_bf16", "generic", "generic", "portable loops, rows widened")
var _ = maxsimBind("maxsim_bf16", "avx2", maxsimClass, "as f32, widened on load", "avx2")
var _ = maxsimBind("maxsim_bf16", "avx512", maxsimClass, "as f32, widened on load", "avx512")
var _ = maxsimBind("maxsim_bf16", "avx512bf16", "avx512bf16", "VDPBF16PS on pairs; not with Normalize", "avx512", "avx512_bf16")
var _ = maxsimBind("maxsim_bf16", "amx", "amx", "TDPBF16PS on tiles of 16 by 16; not with Normalize, d a multiple of 8", "avx512", "amx_bf16")
var _ = maxsimBind("maxsim_bf16", "neon", maxsimClass, "as f32, widened on load", "neon")
var _ = maxsimBind("maxsim_bf16", "neonbf16", "neonbf16", "BFDOT on pairs; not with Normalize", "neon", "bf16")

// maxsimBind binds one instance of maxsim at one level.
func maxsimBind(instance, variant, class, note string, requires ...string) bool {
	u := maxsimUnitOf(variant)
	kind := rowF32
	if instance == "maxsim_bf16" {
		kind = rowBF16
	}
	b := backend.Binding{Kernel: instance, Variant: variant, Requires: requires, Class: class, Note: note, Tile: maxsimTile(u)}
	if u.pairs {
		b.Accept = func(c *backend.Call) error {
			if c.Args.(*kernels.MaxSimArgs).Normalize {
				return &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variant, Reason: "Normalize needs f32 rows"}
			}
			return u.accept(instance, variant, shapeOf(c).d)
		}
	}
	return Bind(kernels.MaxSim, b, Body[kernels.MaxSimArgs]{
		Tiles: func(_ *kernels.MaxSimArgs, c *backend.Call) int64 {
			s := shapeOf(c)
			return s.tiles()
		},
		Start: func(t *Task, a *kernels.MaxSimArgs) {
			m := maxsim{unit: u, kind: kind}
			m.open(a, t.Call)
			m.start(t)
		},
		Run: func(t *Task, a *kernels.MaxSimArgs) {
			m := maxsim{unit: u, kind: kind}
			m.open(a, t.Call)
			m.run(t)
		},
		Workspace: func(c *backend.Call) int64 { s := shapeOf(c); return maxsimShared(u, &s).bytes },
		Local:     func(c *backend.Call) int64 { s := shapeOf(c); return maxsimLocal(&s).bytes },
	})
}

// open takes the operands of a launch.
func (m *maxsim) open(a *kernels.MaxSimArgs, c *backend.Call) {
	m.maxsimShape = shapeOf(c)
	m.query, m.doc = Pointer(&a.Query), Pointer(&a.Doc)
	m.queryOff, m.docOff, m.offOperands = Slice[int64](&a.QueryOff.View), Slice[int64](&a.DocOff.View), [2]int{1, 3}
	m.queryMask, m.docMask = Slice[uint8](&a.QueryMask), Slice[uint8](&a.DocMask)
	m.score, m.winner = Slice[float32](&a.Score), Slice[int32](&a.Winner)
	m.normalize, m.emptyZero = a.Normalize, a.EmptyZero
}

// maxsimUnitOf is a variant's arithmetic. Variants of other architectures are bound too,
// so that tables are the same everywhere; no device loads them.
func maxsimUnitOf(variant string) *maxsimUnit {
	if u := maxsimUnits[variant]; u != nil {
		return u
	}
	return &genericUnit
}

// accept refuses components that a variant cannot take.
func (u *maxsimUnit) accept(instance, variant string, d int64) error {
	if u.step == 0 || d%int64(u.step) == 0 {
		return nil
	}
	return &backend.UnsupportedError{Backend: name, Kernel: instance, Variant: variant,
		Reason: fmt.Sprintf("%d components are not a multiple of %d", d, u.step)}
}

func maxsimTile(u *maxsimUnit) map[string]int64 {
	return map[string]int64{"tq": int64(u.width * u.vectors), "td": maxsimChunk, "d": 8}
}

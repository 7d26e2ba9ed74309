package simd

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// takeWork is the positions of a tile, some 20 µs of loads that miss the cache.
const takeWork = 1 << 12

// take is loads from anywhere: one body for every level.
var _ = Bind(kernels.Take,
	backend.Binding{Kernel: "take", Variant: "generic", Class: "exact", Note: "a load each"},
	Body[kernels.TakeArgs]{
		Tiles: func(a *kernels.TakeArgs, _ *backend.Call) int64 { return ceilDiv(a.Index.Elements(), takeWork) },
		Run: func(t *Task, a *kernels.TakeArgs) {
			value, index, out := Slice[int32](&a.Value), Slice[int32](&a.Index), Slice[int32](&a.Out)
			n, k := a.Value.Dims[1], a.Index.Dims[1]
			lo, hi := t.Lo*takeWork, min(t.Hi*takeWork, int64(len(index)))
			for e := lo; e < hi; e++ {
				at := int64(index[e])
				out[e] = -1
				if at >= 0 && at < n {
					out[e] = value[e/k*n+at]
				}
			}
		},
	})

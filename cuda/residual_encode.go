package cuda

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	encodeTokens  = 32 // of a block at a time
	encodeThreads = 256
	encodeBlocks  = 1 << 12 // they stride over the tokens
)

var _ = Bind(kernels.ResidualEncode, backend.Binding{
	Kernel: "residual_encode", Variant: "rows", Requires: []string{"sm_80"}, Class: canonicalClass,
	Tile: map[string]int64{"n": encodeTokens, "d": 128},
	Note: "buckets by 256 threads, bytes and sums of squares from shared memory",
}, Launcher[kernels.ResidualEncodeArgs]{
	Source: "residual_encode",
	Stages: []Stage[kernels.ResidualEncodeArgs]{{Geometry: func(a *kernels.ResidualEncodeArgs, _ *backend.Call, g *Geometry) {
		g.Line(min(CeilDiv(a.Token.Dims[0], encodeTokens), encodeBlocks), encodeThreads)
	}}},
})

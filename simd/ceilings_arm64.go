//go:build !noasm

package simd

//go:noescape
func ceilingFMAF32NEON(n int)

//go:noescape
func ceilingFMAF64NEON(n int)

//go:noescape
func ceilingMaxF32NEON(n int)

// ceilingReadNEON loads n bytes, a multiple of 512, in order.
//
//go:noescape
func ceilingReadNEON(p *byte, n int)

// rateLoops are loops on registers by level and ceiling, with the operations of one pass:
// 16 instructions of 4 or 2 lanes.
var rateLoops = map[Level]map[string]rateLoop{
	Generic: genericLoops[Generic],
	NEON: {
		"fma_f32": {ceilingFMAF32NEON, 16 * 4 * 2, "", "128-bit fused multiply-add"},
		"fma_f64": {ceilingFMAF64NEON, 16 * 2 * 2, "", "128-bit fused multiply-add"},
		"max_f32": {ceilingMaxF32NEON, 16 * 4, "", "128-bit maximum"},
	},
}

var memoryLoops = map[Level]memoryLoop{NEON: {read: ceilingReadNEON}}

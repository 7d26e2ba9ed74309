//go:build !noasm

package simd

// rateLoops are loops on registers by level and ceiling, with the operations of one pass:
// 12 instructions of 8 or 16 lanes.
var rateLoops = map[Level]map[string]rateLoop{
	Generic: genericLoops[Generic],
	AVX2: {
		"fma_f32": {ceilingFMAF32AVX2, 12 * 8 * 2, "", "256-bit fused multiply-add"},
		"fma_f64": {ceilingFMAF64AVX2, 12 * 4 * 2, "", "256-bit fused multiply-add"},
		"max_f32": {ceilingMaxF32AVX2, 12 * 8, "", "256-bit maximum"},
		"dot_i8":  {ceilingDotI8AVX2, 12 * 32 * 2, "", "256-bit VPMADDUBSW, VPMADDWD and VPADDD"},
	},
	AVX512: {
		"fma_f32":  {ceilingFMAF32AVX512, 12 * 16 * 2, "", "512-bit fused multiply-add"},
		"fma_f64":  {ceilingFMAF64AVX512, 12 * 8 * 2, "", "512-bit fused multiply-add"},
		"max_f32":  {ceilingMaxF32AVX512, 12 * 16, "", "512-bit maximum"},
		"dot_i8":   {ceilingDotI8AVX512VNNI, 12 * 64 * 2, "avx512_vnni", "512-bit VPDPBUSD"},
		"dot_bf16": {ceilingDotBF16AVX512BF16, 12 * 32 * 2, "avx512_bf16", "512-bit VDPBF16PS"},
	},
}

func init() {
	matrixLoops = map[string]rateLoop{"dot_bf16": {ceilingDotBF16AMX, 12 * 16 * 16 * 32 * 2, "amx_bf16", "TDPBF16PS on tiles of 16 by 32"}}
}

var memoryLoops = map[Level]memoryLoop{
	AVX2:   {ceilingReadAVX2, ceilingCopyNTAVX2},
	AVX512: {ceilingReadAVX512, ceilingCopyNTAVX512},
}

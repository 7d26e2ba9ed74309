//go:build !noasm

package simd

import "github.com/klauspost/cpuid/v2"

// f16 is converted by instructions with a flag of their own, although every processor with
// AVX2 so far has them.
func init() {
	extensions = append(extensions, struct {
		level   Level
		feature cpuid.FeatureID
		word    string
	}{AVX2, cpuid.F16C, "f16c"})
}

// rowAssembly are the units with assembly, best first.
func rowAssembly() []*rowUnit { return []*rowUnit{&rowAVX512, &rowAVX2} }

var rowAVX2 = rowUnit{
	variant: "avx2", requires: []string{"avx2"}, half: []string{"f16c"}, class: rowFused,
	max:      [rowTypes]func(x *byte, groups int, lanes *float32){rowMaxF32AVX2, rowMaxBF16AVX2, rowMaxF16AVX2},
	find:     [rowTypes]func(x *byte, groups int, value float32) int{rowFindF32AVX2, rowFindBF16AVX2, rowFindF16AVX2},
	square:   [rowTypes]func(x *byte, groups int, lanes *float32){rowSquareF32AVX2, rowSquareBF16AVX2, rowSquareF16AVX2},
	dot:      [rowTypes]func(a, b *byte, groups int, lanes *float32, ahead int){rowDotF32AVX2, rowDotBF16AVX2, rowDotF16AVX2},
	scale:    [rowTypes]func(e *float32, y *byte, groups int, s float32, nt int){rowScaleF32AVX2, rowScaleBF16AVX2, rowScaleF16AVX2},
	exp:      [rowTypes]func(x *byte, e *float32, groups int, lanes, row *float32, ahead int){softmaxExpF32AVX2, softmaxExpBF16AVX2, softmaxExpF16AVX2},
	extremes: [rowTypes]func(x *byte, groups int) uint64{nil, rowExtremesBF16AVX2, rowExtremesF16AVX2},
	pipe: [2][rowTypes]func(x *byte, e *float32, groups int, lanes, row *float32, ahead int, y *byte){
		{softmaxPipeF32AVX2, softmaxPipeBF16AVX2, softmaxPipeF16AVX2},
		{softmaxPipeF32AVX2, softmaxPipeNearBF16AVX2, softmaxPipeNearF16AVX2},
	},
	softmaxGrad: [rowTypes]func(y, dy, dx *byte, groups int, dot float32, ahead, nt int){softmaxGradF32AVX2, softmaxGradBF16AVX2, softmaxGradF16AVX2},
	rmsDot:      [rowTypes]func(dy, x *byte, w *float32, groups int, lanes *float32, ahead int){rmsDotF32AVX2, rmsDotBF16AVX2, rmsDotF16AVX2},
	rmsGrad:     [rowTypes]func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int){rmsGradF32AVX2, rmsGradBF16AVX2, rmsGradF16AVX2},
	rmsScale: [2][rowTypes]func(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int){
		{rmsScaleF32AVX2, rmsScaleBF16AVX2, rmsScaleF16AVX2},
		{rmsScaleF32AVX2, rmsScaleRoundBF16AVX2, rmsScaleRoundF16AVX2},
	},
	rmsDotWeight: [2][rowTypes]func(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int){
		{rmsDotWeightF32AVX2, rmsDotWeightBF16AVX2, rmsDotWeightF16AVX2},
		{rmsDotWeightF32AVX2, rmsDotWeightRoundBF16AVX2, rmsDotWeightRoundF16AVX2},
	},
	rmsPipe: [2][rowTypes]func(x *byte, w *float32, y *byte, groups int, r float32, next *byte, lanes *float32, ahead int){
		{rmsPipeF32AVX2, rmsPipeBF16AVX2, rmsPipeF16AVX2},
		{rmsPipeF32AVX2, rmsPipeRoundBF16AVX2, rmsPipeRoundF16AVX2},
	},
	rmsGradPipe: [2][rowTypes]func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, nextDY, nextX *byte, part, lanes *float32, nextR float32, ahead int){
		{rmsGradPipeF32AVX2, rmsGradPipeBF16AVX2, rmsGradPipeF16AVX2},
		{rmsGradPipeF32AVX2, rmsGradPipeRoundBF16AVX2, rmsGradPipeRoundF16AVX2},
	},
	fence: rowFence,
	topk:  topkFindAVX2,
}

var rowAVX512 = rowUnit{
	variant: "avx512", requires: []string{"avx512"}, class: rowFused,
	max:      [rowTypes]func(x *byte, groups int, lanes *float32){rowMaxF32AVX512, rowMaxBF16AVX512, rowMaxF16AVX512},
	find:     [rowTypes]func(x *byte, groups int, value float32) int{rowFindF32AVX512, rowFindBF16AVX512, rowFindF16AVX512},
	square:   [rowTypes]func(x *byte, groups int, lanes *float32){rowSquareF32AVX512, rowSquareBF16AVX512, rowSquareF16AVX512},
	dot:      [rowTypes]func(a, b *byte, groups int, lanes *float32, ahead int){rowDotF32AVX512, rowDotBF16AVX512, rowDotF16AVX512},
	scale:    [rowTypes]func(e *float32, y *byte, groups int, s float32, nt int){rowScaleF32AVX512, rowScaleBF16AVX512, rowScaleF16AVX512},
	exp:      [rowTypes]func(x *byte, e *float32, groups int, lanes, row *float32, ahead int){softmaxExpF32AVX512, softmaxExpBF16AVX512, softmaxExpF16AVX512},
	extremes: [rowTypes]func(x *byte, groups int) uint64{nil, rowExtremesBF16AVX512, rowExtremesF16AVX512},
	pipe: [2][rowTypes]func(x *byte, e *float32, groups int, lanes, row *float32, ahead int, y *byte){
		{softmaxPipeF32AVX512, softmaxPipeBF16AVX512, softmaxPipeF16AVX512},
		{softmaxPipeF32AVX512, softmaxPipeNearBF16AVX512, softmaxPipeNearF16AVX512},
	},
	softmaxGrad: [rowTypes]func(y, dy, dx *byte, groups int, dot float32, ahead, nt int){softmaxGradF32AVX512, softmaxGradBF16AVX512, softmaxGradF16AVX512},
	rmsDot:      [rowTypes]func(dy, x *byte, w *float32, groups int, lanes *float32, ahead int){rmsDotF32AVX512, rmsDotBF16AVX512, rmsDotF16AVX512},
	rmsGrad:     [rowTypes]func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int){rmsGradF32AVX512, rmsGradBF16AVX512, rmsGradF16AVX512},
	rmsScale: [2][rowTypes]func(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int){
		{rmsScaleF32AVX512, rmsScaleBF16AVX512, rmsScaleF16AVX512},
		{rmsScaleF32AVX512, rmsScaleRoundBF16AVX512, rmsScaleRoundF16AVX512},
	},
	rmsDotWeight: [2][rowTypes]func(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int){
		{rmsDotWeightF32AVX512, rmsDotWeightBF16AVX512, rmsDotWeightF16AVX512},
		{rmsDotWeightF32AVX512, rmsDotWeightRoundBF16AVX512, rmsDotWeightRoundF16AVX512},
	},
	rmsPipe: [2][rowTypes]func(x *byte, w *float32, y *byte, groups int, r float32, next *byte, lanes *float32, ahead int){
		{rmsPipeF32AVX512, rmsPipeBF16AVX512, rmsPipeF16AVX512},
		{rmsPipeF32AVX512, rmsPipeRoundBF16AVX512, rmsPipeRoundF16AVX512},
	},
	rmsGradPipe: [2][rowTypes]func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, nextDY, nextX *byte, part, lanes *float32, nextR float32, ahead int){
		{rmsGradPipeF32AVX512, rmsGradPipeBF16AVX512, rmsGradPipeF16AVX512},
		{rmsGradPipeF32AVX512, rmsGradPipeRoundBF16AVX512, rmsGradPipeRoundF16AVX512},
	},
	fence: rowFence,
	topk:  topkFindAVX512,
}

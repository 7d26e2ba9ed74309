//go:build !noasm

package simd

// rowAssembly are the units with assembly, best first.
func rowAssembly() []*rowUnit { return []*rowUnit{&rowNEON} }

var rowNEON = rowUnit{
	variant: "neon", requires: []string{"neon"}, class: rowFused,
	max:         [rowTypes]func(x *byte, groups int, lanes *float32){rowMaxF32NEON, rowMaxBF16NEON, rowMaxF16NEON},
	find:        [rowTypes]func(x *byte, groups int, value float32) int{rowFindF32NEON, rowFindBF16NEON, rowFindF16NEON},
	square:      [rowTypes]func(x *byte, groups int, lanes *float32){rowSquareF32NEON, rowSquareBF16NEON, rowSquareF16NEON},
	dot:         [rowTypes]func(a, b *byte, groups int, lanes *float32, ahead int){rowDotF32NEON, rowDotBF16NEON, rowDotF16NEON},
	scale:       [rowTypes]func(e *float32, y *byte, groups int, s float32, nt int){rowScaleF32NEON, rowScaleBF16NEON, rowScaleF16NEON},
	exp:         [rowTypes]func(x *byte, e *float32, groups int, lanes, row *float32, ahead int){softmaxExpF32NEON, softmaxExpBF16NEON, softmaxExpF16NEON},
	softmaxGrad: [rowTypes]func(y, dy, dx *byte, groups int, dot float32, ahead, nt int){softmaxGradF32NEON, softmaxGradBF16NEON, softmaxGradF16NEON},
	rmsDot:      [rowTypes]func(dy, x *byte, w *float32, groups int, lanes *float32, ahead int){rmsDotF32NEON, rmsDotBF16NEON, rmsDotF16NEON},
	rmsGrad:     [rowTypes]func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int){rmsGradF32NEON, rmsGradBF16NEON, rmsGradF16NEON},
	rmsScale: [2][rowTypes]func(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int){
		{rmsScaleF32NEON, rmsScaleBF16NEON, rmsScaleF16NEON},
		{rmsScaleF32NEON, rmsScaleRoundBF16NEON, rmsScaleRoundF16NEON},
	},
	rmsDotWeight: [2][rowTypes]func(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int){
		{rmsDotWeightF32NEON, rmsDotWeightBF16NEON, rmsDotWeightF16NEON},
		{rmsDotWeightF32NEON, rmsDotWeightRoundBF16NEON, rmsDotWeightRoundF16NEON},
	},
	topk: topkFindNEON,
}

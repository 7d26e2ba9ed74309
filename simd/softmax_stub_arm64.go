//go:build !noasm

package simd

// softmaxExpF32NEON writes e = c*exp(x-max), which must be neither above c nor NaN, in places, and adds
// it to its lane. It prefetches x ahead bytes further on.
// Reference: softmaxExpGeneric.
//
//go:noescape
func softmaxExpF32NEON(x *byte, e *float32, groups int, lanes, row *float32, ahead int)

// softmaxGradF32NEON writes dx = y*(dy-dot). It prefetches dy ahead bytes further on; nt does
// nothing here.
// Reference: softmaxGradGeneric.
//
//go:noescape
func softmaxGradF32NEON(y, dy, dx *byte, groups int, dot float32, ahead, nt int)

// softmaxExpBF16NEON writes e = c*exp(x-max), which must be neither above c nor NaN, in places, and adds
// it to its lane. It prefetches x ahead bytes further on.
// Reference: softmaxExpGeneric.
//
//go:noescape
func softmaxExpBF16NEON(x *byte, e *float32, groups int, lanes, row *float32, ahead int)

// softmaxGradBF16NEON writes dx = y*(dy-dot). It prefetches dy ahead bytes further on; nt does
// nothing here.
// Reference: softmaxGradGeneric.
//
//go:noescape
func softmaxGradBF16NEON(y, dy, dx *byte, groups int, dot float32, ahead, nt int)

// softmaxExpF16NEON writes e = c*exp(x-max), which must be neither above c nor NaN, in places, and adds
// it to its lane. It prefetches x ahead bytes further on.
// Reference: softmaxExpGeneric.
//
//go:noescape
func softmaxExpF16NEON(x *byte, e *float32, groups int, lanes, row *float32, ahead int)

// softmaxGradF16NEON writes dx = y*(dy-dot). It prefetches dy ahead bytes further on; nt does
// nothing here.
// Reference: softmaxGradGeneric.
//
//go:noescape
func softmaxGradF16NEON(y, dy, dx *byte, groups int, dot float32, ahead, nt int)

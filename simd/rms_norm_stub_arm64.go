//go:build !noasm

package simd

// rmsGradF32NEON writes dx = r*(dy*w) - c*x, w in places. It prefetches x ahead bytes further on; nt
// does nothing here.
// Reference: rmsGradGeneric.
//
//go:noescape
func rmsGradF32NEON(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)

// rmsScaleF32NEON writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt does
// nothing here.
// Reference: rmsScaleGeneric.
//
//go:noescape
func rmsScaleF32NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)

// rmsGradBF16NEON writes dx = r*(dy*w) - c*x, w in places. It prefetches x ahead bytes further on; nt
// does nothing here.
// Reference: rmsGradGeneric.
//
//go:noescape
func rmsGradBF16NEON(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)

// rmsScaleBF16NEON writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt does
// nothing here.
// Reference: rmsScaleGeneric.
//
//go:noescape
func rmsScaleBF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)

// rmsScaleRoundBF16NEON writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt does
// nothing here.
// Reference: rmsScaleGeneric.
//
//go:noescape
func rmsScaleRoundBF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)

// rmsGradF16NEON writes dx = r*(dy*w) - c*x, w in places. It prefetches x ahead bytes further on; nt
// does nothing here.
// Reference: rmsGradGeneric.
//
//go:noescape
func rmsGradF16NEON(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)

// rmsScaleF16NEON writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt does
// nothing here.
// Reference: rmsScaleGeneric.
//
//go:noescape
func rmsScaleF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)

// rmsScaleRoundF16NEON writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt does
// nothing here.
// Reference: rmsScaleGeneric.
//
//go:noescape
func rmsScaleRoundF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)

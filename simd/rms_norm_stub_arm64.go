//go:build !noasm

package simd

// rmsDotF32NEON adds dy*w*x to their lanes, w in places. It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotF32NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)

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

// rmsDotWeightF32NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightF32NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsDotBF16NEON adds dy*w*x to their lanes, w in places. It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotBF16NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)

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

// rmsDotWeightBF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightBF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsScaleRoundBF16NEON writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt does
// nothing here.
// Reference: rmsScaleGeneric.
//
//go:noescape
func rmsScaleRoundBF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)

// rmsDotWeightRoundBF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightRoundBF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsDotF16NEON adds dy*w*x to their lanes, w in places. It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotF16NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)

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

// rmsDotWeightF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsScaleRoundF16NEON writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt does
// nothing here.
// Reference: rmsScaleGeneric.
//
//go:noescape
func rmsScaleRoundF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)

// rmsDotWeightRoundF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightRoundF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

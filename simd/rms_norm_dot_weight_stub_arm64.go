//go:build !noasm

package simd

// rmsDotWeightF32NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightF32NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsDotWeightBF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightBF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsDotWeightRoundBF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightRoundBF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsDotWeightF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

// rmsDotWeightRoundF16NEON adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.
// It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotWeightRoundF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)

//go:build !noasm

package simd

// rmsDotF32NEON adds dy*w*x to their lanes, w in places. It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotF32NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)

// rmsDotBF16NEON adds dy*w*x to their lanes, w in places. It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotBF16NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)

// rmsDotF16NEON adds dy*w*x to their lanes, w in places. It prefetches dy ahead bytes further on.
// Reference: rmsDotGeneric.
//
//go:noescape
func rmsDotF16NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)

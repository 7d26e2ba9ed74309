//go:build !noasm

package simd

// rowScaleF32NEON writes e*s rounded to the type of y; e is in places. nt does nothing here.
// Reference: rowScaleGeneric.
//
//go:noescape
func rowScaleF32NEON(e *float32, y *byte, groups int, s float32, nt int)

// rowScaleBF16NEON writes e*s rounded to the type of y; e is in places. nt does nothing here.
// Reference: rowScaleGeneric.
//
//go:noescape
func rowScaleBF16NEON(e *float32, y *byte, groups int, s float32, nt int)

// rowScaleF16NEON writes e*s rounded to the type of y; e is in places. nt does nothing here.
// Reference: rowScaleGeneric.
//
//go:noescape
func rowScaleF16NEON(e *float32, y *byte, groups int, s float32, nt int)

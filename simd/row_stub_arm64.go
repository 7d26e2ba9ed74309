//go:build !noasm

package simd

// rowMaxF32NEON keeps the larger of each lane and its elements; a NaN stays in its lane.
// Reference: rowMaxGeneric.
//
//go:noescape
func rowMaxF32NEON(x *byte, groups int, lanes *float32)

// rowFindF32NEON returns the first group that has an element equal to value, or groups.
// Reference: rowFindGeneric.
//
//go:noescape
func rowFindF32NEON(x *byte, groups int, value float32) int

// rowSquareF32NEON adds the squares of the elements to their lanes.
// Reference: rowDotGeneric.
//
//go:noescape
func rowSquareF32NEON(x *byte, groups int, lanes *float32)

// rowDotF32NEON adds the products of the elements of a and b to their lanes.
// It prefetches a ahead bytes further on.
// Reference: rowDotGeneric.
//
//go:noescape
func rowDotF32NEON(a, b *byte, groups int, lanes *float32, ahead int)

// rowMaxBF16NEON keeps the larger of each lane and its elements; a NaN stays in its lane.
// Reference: rowMaxGeneric.
//
//go:noescape
func rowMaxBF16NEON(x *byte, groups int, lanes *float32)

// rowFindBF16NEON returns the first group that has an element equal to value, or groups.
// Reference: rowFindGeneric.
//
//go:noescape
func rowFindBF16NEON(x *byte, groups int, value float32) int

// rowSquareBF16NEON adds the squares of the elements to their lanes.
// Reference: rowDotGeneric.
//
//go:noescape
func rowSquareBF16NEON(x *byte, groups int, lanes *float32)

// rowDotBF16NEON adds the products of the elements of a and b to their lanes.
// It prefetches a ahead bytes further on.
// Reference: rowDotGeneric.
//
//go:noescape
func rowDotBF16NEON(a, b *byte, groups int, lanes *float32, ahead int)

// rowMaxF16NEON keeps the larger of each lane and its elements; a NaN stays in its lane.
// Reference: rowMaxGeneric.
//
//go:noescape
func rowMaxF16NEON(x *byte, groups int, lanes *float32)

// rowFindF16NEON returns the first group that has an element equal to value, or groups.
// Reference: rowFindGeneric.
//
//go:noescape
func rowFindF16NEON(x *byte, groups int, value float32) int

// rowSquareF16NEON adds the squares of the elements to their lanes.
// Reference: rowDotGeneric.
//
//go:noescape
func rowSquareF16NEON(x *byte, groups int, lanes *float32)

// rowDotF16NEON adds the products of the elements of a and b to their lanes.
// It prefetches a ahead bytes further on.
// Reference: rowDotGeneric.
//
//go:noescape
func rowDotF16NEON(a, b *byte, groups int, lanes *float32, ahead int)

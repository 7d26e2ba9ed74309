//go:build !noasm

package simd

// Each routine is what its name says in residualInt8Unit, for panels of 16 lanes, four
// registers. Steps of residualDots16NEON are a multiple of four.

//go:noescape
func residualBytes1NEON(rows *byte, pitch int, packed *uint8, row, n int, table *int8)

//go:noescape
func residualBytes2NEON(rows *byte, pitch int, packed *uint8, row, n int, table *int8)

//go:noescape
func residualBytes4NEON(rows *byte, pitch int, packed *uint8, row, n int, table *int8)

//go:noescape
func residualDots16NEON(panel *uint32, rows *byte, pitch, steps, n int, bias, out *int32)

//go:noescape
func residualFinishF32x16NEON(dots *int32, n int, codes *int32, scores *float32, stride, last int, unit, inv, best *float32)

//go:noescape
func residualFinishF16x16NEON(dots *int32, n int, codes *int32, scores *uint16, stride, last int, unit, inv, best *float32)

// residualInt8Units are the levels' arithmetic by variant: without SDOT the portable loops.
var residualInt8Units = map[string]*residualInt8Unit{"neondot": {
	width: 16, vectors: 1, group: 4,
	decode:    [3]func(*byte, int, *uint8, int, int, *int8){residualBytes1NEON, residualBytes2NEON, residualBytes4NEON},
	dots:      [5]func(*uint32, *byte, int, int, int, *int32, *int32){1: residualDots16NEON},
	finish:    [5]func(*int32, int, *int32, *float32, int, int, *float32, *float32, *float32){1: residualFinishF32x16NEON},
	finishF16: [5]func(*int32, int, *int32, *uint16, int, int, *float32, *float32, *float32){1: residualFinishF16x16NEON},
}}

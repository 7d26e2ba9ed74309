//go:build !noasm

package simd

// Each routine is what its name says in residualUnit, and decodeGeneric its reference.

//go:noescape
func residualDecode1xF32NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv *float32)

//go:noescape
func residualDecode2xF32NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv *float32)

//go:noescape
func residualDecode4xF32NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv *float32)

//go:noescape
func residualDecode1xF16NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv *float32)

//go:noescape
func residualDecode2xF16NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv *float32)

//go:noescape
func residualDecode4xF16NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv *float32)

// residualUnits are the levels' arithmetic by variant.
var residualUnits = map[string]*residualUnit{"neon": {
	maxsimUnit: maxsimUnits["neon"],
	decode: [4]func(*float32, int, *uint8, int, *int32, int, int, *float32, int, *float32, *float32){
		residualDecode1xF32NEON, residualDecode2xF32NEON, residualDecode4xF32NEON},
	decodeF16: [4]func(*float32, int, *uint8, int, *int32, int, int, *uint16, int, *float32, *float32){
		residualDecode1xF16NEON, residualDecode2xF16NEON, residualDecode4xF16NEON},
}}

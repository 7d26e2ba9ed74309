//go:build !noasm

#include "textflag.h"

// func approxMax16NEON(scores *float32, stride, last int, codes *int32, n int, best *float32)
TEXT ·approxMax16NEON(SB), NOSPLIT, $0-48
	MOVD scores+0(FP), R0
	MOVD stride+8(FP), R1
	MOVD last+16(FP), R2
	MOVD codes+24(FP), R3
	MOVD n+32(FP), R4
	MOVD best+40(FP), R5
	ADD  R2, R0
	ADD  R2, R5
	VLD1 (R5), [V0.S4, V1.S4, V2.S4, V3.S4]

row:
	CMP   $8, R4
	BLE   near
	MOVWU 32(R3), R6
	MADD  R1, R0, R6, R6
	PRFM  (R6), PLDL1KEEP
	PRFM  63(R6), PLDL1KEEP

near:
	// The maximum is NaN if either operand is, so a NaN stays.
	MOVWU.P 4(R3), R6
	MADD    R1, R0, R6, R6
	VLD1    (R6), [V4.S4, V5.S4, V6.S4, V7.S4]
	WORD    $0x4e24f400                        // fmax v0.4s, v0.4s, v4.4s
	WORD    $0x4e25f421                        // fmax v1.4s, v1.4s, v5.4s
	WORD    $0x4e26f442                        // fmax v2.4s, v2.4s, v6.4s
	WORD    $0x4e27f463                        // fmax v3.4s, v3.4s, v7.4s
	SUBS    $1, R4
	BNE     row
	VST1    [V0.S4, V1.S4, V2.S4, V3.S4], (R5)
	RET

// func approxMax4NEON(scores *float32, stride, last int, codes *int32, n int, best *float32)
TEXT ·approxMax4NEON(SB), NOSPLIT, $0-48
	MOVD scores+0(FP), R0
	MOVD stride+8(FP), R1
	MOVD last+16(FP), R2
	MOVD codes+24(FP), R3
	MOVD n+32(FP), R4
	MOVD best+40(FP), R5
	ADD  R2, R0
	ADD  R2, R5
	VLD1 (R5), [V0.S4]

row:
	MOVWU.P 4(R3), R6
	MADD    R1, R0, R6, R6
	VLD1    (R6), [V4.S4]
	WORD    $0x4e24f400    // fmax v0.4s, v0.4s, v4.4s
	SUBS    $1, R4
	BNE     row
	VST1    [V0.S4], (R5)
	RET

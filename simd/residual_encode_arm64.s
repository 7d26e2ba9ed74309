//go:build !noasm

#include "textflag.h"

// Eight components at a time: V0 and V1 are the centroid, V2 and V3 the difference, V4 and V5
// the number of the entry that is next; times V30 plus V31 it is the bytes that VTBL looks up.
// V16 is the first level, V17 the second, V18 the third, V19 and V20 the fourth; V24 to V27 are
// weights.

// func encodeBucket1NEON(x, c, levels, weight *float32, n int, bucket *uint8, square *float32)
TEXT ·encodeBucket1NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  c+8(FP), R1
	MOVD  levels+16(FP), R2
	MOVD  weight+24(FP), R3
	MOVD  n+32(FP), R4
	MOVD  bucket+40(FP), R5
	MOVD  square+48(FP), R6
	MOVD  $0x04040404, R7
	VDUP  R7, V30.S4
	MOVD  $0x03020100, R7
	VDUP  R7, V31.S4
	VLD1R (R2), [V16.S4]
	FMOVD (R3), F24
	LSR   $3, R4
	CBZ   R4, end

group:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	VLD1.P 32(R0), [V2.S4, V3.S4]
	WORD   $0x4ea0d442               // fsub v2.4s, v2.4s, v0.4s
	WORD   $0x4ea1d463               // fsub v3.4s, v3.4s, v1.4s
	WORD   $0x6eb0e446               // fcmgt v6.4s, v2.4s, v16.4s
	VUSHR  $31, V6.S4, V4.S4
	WORD   $0x6eb0e467               // fcmgt v7.4s, v3.4s, v16.4s
	VUSHR  $31, V7.S4, V5.S4
	WORD   $0x4ebe9c86               // mul v6.4s, v4.4s, v30.4s
	VADD   V31.S4, V6.S4, V6.S4
	VTBL   V6.B16, [V24.B16], V6.B16
	WORD   $0x4e26d406               // fadd v6.4s, v0.4s, v6.4s
	WORD   $0x6e26dcc6               // fmul v6.4s, v6.4s, v6.4s
	WORD   $0x4ebe9ca7               // mul v7.4s, v5.4s, v30.4s
	VADD   V31.S4, V7.S4, V7.S4
	VTBL   V7.B16, [V24.B16], V7.B16
	WORD   $0x4e27d427               // fadd v7.4s, v1.4s, v7.4s
	WORD   $0x6e27dce7               // fmul v7.4s, v7.4s, v7.4s
	VST1.P [V6.S4, V7.S4], 32(R6)
	WORD   $0x0e612884               // xtn v4.4h, v4.4s
	WORD   $0x4e6128a4               // xtn2 v4.8h, v5.4s
	WORD   $0x0e212884               // xtn v4.8b, v4.8h
	FMOVD  F4, (R5)
	ADD    $8, R5
	SUB    $1, R4
	CBNZ   R4, group

end:
	RET

// func encodeBucket2NEON(x, c, levels, weight *float32, n int, bucket *uint8, square *float32)
TEXT ·encodeBucket2NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  c+8(FP), R1
	MOVD  levels+16(FP), R2
	MOVD  weight+24(FP), R3
	MOVD  n+32(FP), R4
	MOVD  bucket+40(FP), R5
	MOVD  square+48(FP), R6
	MOVD  $0x04040404, R7
	VDUP  R7, V30.S4
	MOVD  $0x03020100, R7
	VDUP  R7, V31.S4
	VLD1R (R2), [V16.S4]
	ADD   $32, R2, R7
	VLD1  (R7), [V17.S4]
	VLD1  (R3), [V24.S4]
	LSR   $3, R4
	CBZ   R4, end

group:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	VLD1.P 32(R0), [V2.S4, V3.S4]
	WORD   $0x4ea0d442               // fsub v2.4s, v2.4s, v0.4s
	WORD   $0x4ea1d463               // fsub v3.4s, v3.4s, v1.4s
	WORD   $0x6eb0e446               // fcmgt v6.4s, v2.4s, v16.4s
	VUSHR  $31, V6.S4, V4.S4
	WORD   $0x6eb0e467               // fcmgt v7.4s, v3.4s, v16.4s
	VUSHR  $31, V7.S4, V5.S4
	WORD   $0x4ebe9c86               // mul v6.4s, v4.4s, v30.4s
	VADD   V31.S4, V6.S4, V6.S4
	VTBL   V6.B16, [V17.B16], V6.B16
	WORD   $0x6ea6e446               // fcmgt v6.4s, v2.4s, v6.4s
	VADD   V4.S4, V4.S4, V4.S4
	VSUB   V6.S4, V4.S4, V4.S4
	WORD   $0x4ebe9ca7               // mul v7.4s, v5.4s, v30.4s
	VADD   V31.S4, V7.S4, V7.S4
	VTBL   V7.B16, [V17.B16], V7.B16
	WORD   $0x6ea7e467               // fcmgt v7.4s, v3.4s, v7.4s
	VADD   V5.S4, V5.S4, V5.S4
	VSUB   V7.S4, V5.S4, V5.S4
	WORD   $0x4ebe9c86               // mul v6.4s, v4.4s, v30.4s
	VADD   V31.S4, V6.S4, V6.S4
	VTBL   V6.B16, [V24.B16], V6.B16
	WORD   $0x4e26d406               // fadd v6.4s, v0.4s, v6.4s
	WORD   $0x6e26dcc6               // fmul v6.4s, v6.4s, v6.4s
	WORD   $0x4ebe9ca7               // mul v7.4s, v5.4s, v30.4s
	VADD   V31.S4, V7.S4, V7.S4
	VTBL   V7.B16, [V24.B16], V7.B16
	WORD   $0x4e27d427               // fadd v7.4s, v1.4s, v7.4s
	WORD   $0x6e27dce7               // fmul v7.4s, v7.4s, v7.4s
	VST1.P [V6.S4, V7.S4], 32(R6)
	WORD   $0x0e612884               // xtn v4.4h, v4.4s
	WORD   $0x4e6128a4               // xtn2 v4.8h, v5.4s
	WORD   $0x0e212884               // xtn v4.8b, v4.8h
	FMOVD  F4, (R5)
	ADD    $8, R5
	SUB    $1, R4
	CBNZ   R4, group

end:
	RET

// func encodeBucket4NEON(x, c, levels, weight *float32, n int, bucket *uint8, square *float32)
TEXT ·encodeBucket4NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  c+8(FP), R1
	MOVD  levels+16(FP), R2
	MOVD  weight+24(FP), R3
	MOVD  n+32(FP), R4
	MOVD  bucket+40(FP), R5
	MOVD  square+48(FP), R6
	MOVD  $0x04040404, R7
	VDUP  R7, V30.S4
	MOVD  $0x03020100, R7
	VDUP  R7, V31.S4
	VLD1R (R2), [V16.S4]
	ADD   $32, R2, R7
	VLD1  (R7), [V17.S4]
	ADD   $64, R2, R7
	VLD1  (R7), [V18.S4]
	ADD   $96, R2, R7
	VLD1  (R7), [V19.S4, V20.S4]
	VLD1  (R3), [V24.S4, V25.S4, V26.S4, V27.S4]
	LSR   $3, R4
	CBZ   R4, end

group:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	VLD1.P 32(R0), [V2.S4, V3.S4]
	WORD   $0x4ea0d442                                          // fsub v2.4s, v2.4s, v0.4s
	WORD   $0x4ea1d463                                          // fsub v3.4s, v3.4s, v1.4s
	WORD   $0x6eb0e446                                          // fcmgt v6.4s, v2.4s, v16.4s
	VUSHR  $31, V6.S4, V4.S4
	WORD   $0x6eb0e467                                          // fcmgt v7.4s, v3.4s, v16.4s
	VUSHR  $31, V7.S4, V5.S4
	WORD   $0x4ebe9c86                                          // mul v6.4s, v4.4s, v30.4s
	VADD   V31.S4, V6.S4, V6.S4
	VTBL   V6.B16, [V17.B16], V6.B16
	WORD   $0x6ea6e446                                          // fcmgt v6.4s, v2.4s, v6.4s
	VADD   V4.S4, V4.S4, V4.S4
	VSUB   V6.S4, V4.S4, V4.S4
	WORD   $0x4ebe9ca7                                          // mul v7.4s, v5.4s, v30.4s
	VADD   V31.S4, V7.S4, V7.S4
	VTBL   V7.B16, [V17.B16], V7.B16
	WORD   $0x6ea7e467                                          // fcmgt v7.4s, v3.4s, v7.4s
	VADD   V5.S4, V5.S4, V5.S4
	VSUB   V7.S4, V5.S4, V5.S4
	WORD   $0x4ebe9c86                                          // mul v6.4s, v4.4s, v30.4s
	VADD   V31.S4, V6.S4, V6.S4
	VTBL   V6.B16, [V18.B16], V6.B16
	WORD   $0x6ea6e446                                          // fcmgt v6.4s, v2.4s, v6.4s
	VADD   V4.S4, V4.S4, V4.S4
	VSUB   V6.S4, V4.S4, V4.S4
	WORD   $0x4ebe9ca7                                          // mul v7.4s, v5.4s, v30.4s
	VADD   V31.S4, V7.S4, V7.S4
	VTBL   V7.B16, [V18.B16], V7.B16
	WORD   $0x6ea7e467                                          // fcmgt v7.4s, v3.4s, v7.4s
	VADD   V5.S4, V5.S4, V5.S4
	VSUB   V7.S4, V5.S4, V5.S4
	WORD   $0x4ebe9c86                                          // mul v6.4s, v4.4s, v30.4s
	VADD   V31.S4, V6.S4, V6.S4
	VTBL   V6.B16, [V19.B16, V20.B16], V6.B16
	WORD   $0x6ea6e446                                          // fcmgt v6.4s, v2.4s, v6.4s
	VADD   V4.S4, V4.S4, V4.S4
	VSUB   V6.S4, V4.S4, V4.S4
	WORD   $0x4ebe9ca7                                          // mul v7.4s, v5.4s, v30.4s
	VADD   V31.S4, V7.S4, V7.S4
	VTBL   V7.B16, [V19.B16, V20.B16], V7.B16
	WORD   $0x6ea7e467                                          // fcmgt v7.4s, v3.4s, v7.4s
	VADD   V5.S4, V5.S4, V5.S4
	VSUB   V7.S4, V5.S4, V5.S4
	WORD   $0x4ebe9c86                                          // mul v6.4s, v4.4s, v30.4s
	VADD   V31.S4, V6.S4, V6.S4
	VTBL   V6.B16, [V24.B16, V25.B16, V26.B16, V27.B16], V6.B16
	WORD   $0x4e26d406                                          // fadd v6.4s, v0.4s, v6.4s
	WORD   $0x6e26dcc6                                          // fmul v6.4s, v6.4s, v6.4s
	WORD   $0x4ebe9ca7                                          // mul v7.4s, v5.4s, v30.4s
	VADD   V31.S4, V7.S4, V7.S4
	VTBL   V7.B16, [V24.B16, V25.B16, V26.B16, V27.B16], V7.B16
	WORD   $0x4e27d427                                          // fadd v7.4s, v1.4s, v7.4s
	WORD   $0x6e27dce7                                          // fmul v7.4s, v7.4s, v7.4s
	VST1.P [V6.S4, V7.S4], 32(R6)
	WORD   $0x0e612884                                          // xtn v4.4h, v4.4s
	WORD   $0x4e6128a4                                          // xtn2 v4.8h, v5.4s
	WORD   $0x0e212884                                          // xtn v4.8b, v4.8h
	FMOVD  F4, (R5)
	ADD    $8, R5
	SUB    $1, R4
	CBNZ   R4, group

end:
	RET

// func encodeSumNEON(square *float32, stride, n int, sums *float32)
TEXT ·encodeSumNEON(SB), NOSPLIT, $0-32
	MOVD  square+0(FP), R0
	MOVD  stride+8(FP), R8
	MOVD  n+16(FP), R9
	MOVD  sums+24(FP), R10
	LSL   $2, R8
	ADD   R8, R0, R1
	ADD   R8, R1, R2
	ADD   R8, R2, R3
	ADD   R8, R3, R4
	ADD   R8, R4, R5
	ADD   R8, R5, R6
	ADD   R8, R6, R7
	FMOVS ZR, F0
	FMOVS ZR, F1
	FMOVS ZR, F2
	FMOVS ZR, F3
	FMOVS ZR, F4
	FMOVS ZR, F5
	FMOVS ZR, F6
	FMOVS ZR, F7
	CBZ   R9, end

next:
	FMOVS.P 4(R0), F8
	FMOVS.P 4(R1), F9
	FMOVS.P 4(R2), F10
	FMOVS.P 4(R3), F11
	FMOVS.P 4(R4), F12
	FMOVS.P 4(R5), F13
	FMOVS.P 4(R6), F14
	FMOVS.P 4(R7), F15
	FADDS   F8, F0, F0
	FADDS   F9, F1, F1
	FADDS   F10, F2, F2
	FADDS   F11, F3, F3
	FADDS   F12, F4, F4
	FADDS   F13, F5, F5
	FADDS   F14, F6, F6
	FADDS   F15, F7, F7
	SUB     $1, R9
	CBNZ    R9, next

end:
	FMOVS F0, 0(R10)
	FMOVS F1, 4(R10)
	FMOVS F2, 8(R10)
	FMOVS F3, 12(R10)
	FMOVS F4, 16(R10)
	FMOVS F5, 20(R10)
	FMOVS F6, 24(R10)
	FMOVS F7, 28(R10)
	RET

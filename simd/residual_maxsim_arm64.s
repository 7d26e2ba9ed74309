//go:build !noasm

#include "textflag.h"

// Weights are looked up by bytes: a bucket b becomes the numbers 4b to 4b+3 of the bytes of
// a table of float32.

// Shifts of 8 components of 1 bits, then mask, factor and addend of a bucket.
DATA residualShift1<>+0(SB)/4, $0xfffffff9
DATA residualShift1<>+4(SB)/4, $0xfffffffa
DATA residualShift1<>+8(SB)/4, $0xfffffffb
DATA residualShift1<>+12(SB)/4, $0xfffffffc
DATA residualShift1<>+16(SB)/4, $0xfffffffd
DATA residualShift1<>+20(SB)/4, $0xfffffffe
DATA residualShift1<>+24(SB)/4, $0xffffffff
DATA residualShift1<>+28(SB)/4, $0x00000000
DATA residualShift1<>+32(SB)/4, $0x00000001
DATA residualShift1<>+36(SB)/4, $0x00000001
DATA residualShift1<>+40(SB)/4, $0x00000001
DATA residualShift1<>+44(SB)/4, $0x00000001
DATA residualShift1<>+48(SB)/4, $0x04040404
DATA residualShift1<>+52(SB)/4, $0x04040404
DATA residualShift1<>+56(SB)/4, $0x04040404
DATA residualShift1<>+60(SB)/4, $0x04040404
DATA residualShift1<>+64(SB)/4, $0x03020100
DATA residualShift1<>+68(SB)/4, $0x03020100
DATA residualShift1<>+72(SB)/4, $0x03020100
DATA residualShift1<>+76(SB)/4, $0x03020100
GLOBL residualShift1<>(SB), RODATA|NOPTR, $80

DATA residualShift2<>+0(SB)/4, $0xfffffffa
DATA residualShift2<>+4(SB)/4, $0xfffffffc
DATA residualShift2<>+8(SB)/4, $0xfffffffe
DATA residualShift2<>+12(SB)/4, $0x00000000
DATA residualShift2<>+16(SB)/4, $0xfffffff2
DATA residualShift2<>+20(SB)/4, $0xfffffff4
DATA residualShift2<>+24(SB)/4, $0xfffffff6
DATA residualShift2<>+28(SB)/4, $0xfffffff8
DATA residualShift2<>+32(SB)/4, $0x00000003
DATA residualShift2<>+36(SB)/4, $0x00000003
DATA residualShift2<>+40(SB)/4, $0x00000003
DATA residualShift2<>+44(SB)/4, $0x00000003
DATA residualShift2<>+48(SB)/4, $0x04040404
DATA residualShift2<>+52(SB)/4, $0x04040404
DATA residualShift2<>+56(SB)/4, $0x04040404
DATA residualShift2<>+60(SB)/4, $0x04040404
DATA residualShift2<>+64(SB)/4, $0x03020100
DATA residualShift2<>+68(SB)/4, $0x03020100
DATA residualShift2<>+72(SB)/4, $0x03020100
DATA residualShift2<>+76(SB)/4, $0x03020100
GLOBL residualShift2<>(SB), RODATA|NOPTR, $80

DATA residualShift4<>+0(SB)/4, $0xfffffffc
DATA residualShift4<>+4(SB)/4, $0x00000000
DATA residualShift4<>+8(SB)/4, $0xfffffff4
DATA residualShift4<>+12(SB)/4, $0xfffffff8
DATA residualShift4<>+16(SB)/4, $0xffffffec
DATA residualShift4<>+20(SB)/4, $0xfffffff0
DATA residualShift4<>+24(SB)/4, $0xffffffe4
DATA residualShift4<>+28(SB)/4, $0xffffffe8
DATA residualShift4<>+32(SB)/4, $0x0000000f
DATA residualShift4<>+36(SB)/4, $0x0000000f
DATA residualShift4<>+40(SB)/4, $0x0000000f
DATA residualShift4<>+44(SB)/4, $0x0000000f
DATA residualShift4<>+48(SB)/4, $0x04040404
DATA residualShift4<>+52(SB)/4, $0x04040404
DATA residualShift4<>+56(SB)/4, $0x04040404
DATA residualShift4<>+60(SB)/4, $0x04040404
DATA residualShift4<>+64(SB)/4, $0x03020100
DATA residualShift4<>+68(SB)/4, $0x03020100
DATA residualShift4<>+72(SB)/4, $0x03020100
DATA residualShift4<>+76(SB)/4, $0x03020100
GLOBL residualShift4<>(SB), RODATA|NOPTR, $80

// BUCKETS turns the word in every lane of V0 into byte numbers for 8 components, in V1 and V2.
#define BUCKETS \
	WORD $0x6eb44401 /* ushl v1.4s, v0.4s, v20.4s */; \
	WORD $0x6eb54402 /* ushl v2.4s, v0.4s, v21.4s */; \
	VAND V22.B16, V1.B16, V1.B16;                     \
	VAND V22.B16, V2.B16, V2.B16;                     \
	WORD $0x4eb79c21 /* mul v1.4s, v1.4s, v23.4s */;  \
	WORD $0x4eb79c42 /* mul v2.4s, v2.4s, v23.4s */;  \
	VADD V24.S4, V1.S4, V1.S4;                        \
	VADD V24.S4, V2.S4, V2.S4

// VALUES adds the centroid's components in V3 and V4 and multiplies by the factor in V25.
#define VALUES \
	WORD $0x4e21d461 /* fadd v1.4s, v3.4s, v1.4s */;  \
	WORD $0x4e22d482 /* fadd v2.4s, v4.4s, v2.4s */;  \
	WORD $0x6e39dc21 /* fmul v1.4s, v1.4s, v25.4s */; \
	WORD $0x6e39dc42                                  // fmul v2.4s, v2.4s, v25.4s

// func residualDecode1xF32NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv *float32)
TEXT ·residualDecode1xF32NEON(SB), NOSPLIT, $0-88
	MOVD   rows+0(FP), R0
	MOVD   pitch+8(FP), R1
	MOVD   packed+16(FP), R2
	MOVD   row+24(FP), R3
	MOVD   codes+32(FP), R4
	MOVD   n+40(FP), R5
	MOVD   d+48(FP), R6
	MOVD   centroid+56(FP), R7
	MOVD   stride+64(FP), R8
	MOVD   table+72(FP), R9
	MOVD   inv+80(FP), R10
	LSL    $2, R8, R8
	VLD1   (R9), [V16.B16, V17.B16, V18.B16, V19.B16]
	MOVD   $residualShift1<>(SB), R9
	VLD1.P 32(R9), [V20.S4, V21.S4]
	VLD1   (R9), [V22.S4, V23.S4, V24.S4]

token:
	MOVWU.P 4(R4), R15
	MADD    R8, R7, R15, R12
	VLD1R.P 4(R10), [V25.S4]
	MOVD    R0, R11
	MOVD    R2, R13
	MOVD    R6, R14

pass:
	MOVBU.P 1(R13), R15
	VDUP    R15, V0.S4
	BUCKETS
	VTBL    V1.B16, [V16.B16], V1.B16
	VTBL    V2.B16, [V16.B16], V2.B16
	VLD1.P  32(R12), [V3.S4, V4.S4]
	VALUES
	VST1.P  [V1.S4, V2.S4], 32(R11)
	SUBS    $8, R14
	BNE     pass
	ADD     R1, R0
	ADD     R3, R2
	SUBS    $1, R5
	BNE     token
	RET

// func residualDecode2xF32NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv *float32)
TEXT ·residualDecode2xF32NEON(SB), NOSPLIT, $0-88
	MOVD   rows+0(FP), R0
	MOVD   pitch+8(FP), R1
	MOVD   packed+16(FP), R2
	MOVD   row+24(FP), R3
	MOVD   codes+32(FP), R4
	MOVD   n+40(FP), R5
	MOVD   d+48(FP), R6
	MOVD   centroid+56(FP), R7
	MOVD   stride+64(FP), R8
	MOVD   table+72(FP), R9
	MOVD   inv+80(FP), R10
	LSL    $2, R8, R8
	VLD1   (R9), [V16.B16, V17.B16, V18.B16, V19.B16]
	MOVD   $residualShift2<>(SB), R9
	VLD1.P 32(R9), [V20.S4, V21.S4]
	VLD1   (R9), [V22.S4, V23.S4, V24.S4]

token:
	MOVWU.P 4(R4), R15
	MADD    R8, R7, R15, R12
	VLD1R.P 4(R10), [V25.S4]
	MOVD    R0, R11
	MOVD    R2, R13
	MOVD    R6, R14

pass:
	MOVHU.P 2(R13), R15
	VDUP    R15, V0.S4
	BUCKETS
	VTBL    V1.B16, [V16.B16], V1.B16
	VTBL    V2.B16, [V16.B16], V2.B16
	VLD1.P  32(R12), [V3.S4, V4.S4]
	VALUES
	VST1.P  [V1.S4, V2.S4], 32(R11)
	SUBS    $8, R14
	BNE     pass
	ADD     R1, R0
	ADD     R3, R2
	SUBS    $1, R5
	BNE     token
	RET

// func residualDecode4xF32NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *float32, stride int, table, inv *float32)
TEXT ·residualDecode4xF32NEON(SB), NOSPLIT, $0-88
	MOVD   rows+0(FP), R0
	MOVD   pitch+8(FP), R1
	MOVD   packed+16(FP), R2
	MOVD   row+24(FP), R3
	MOVD   codes+32(FP), R4
	MOVD   n+40(FP), R5
	MOVD   d+48(FP), R6
	MOVD   centroid+56(FP), R7
	MOVD   stride+64(FP), R8
	MOVD   table+72(FP), R9
	MOVD   inv+80(FP), R10
	LSL    $2, R8, R8
	VLD1   (R9), [V16.B16, V17.B16, V18.B16, V19.B16]
	MOVD   $residualShift4<>(SB), R9
	VLD1.P 32(R9), [V20.S4, V21.S4]
	VLD1   (R9), [V22.S4, V23.S4, V24.S4]

token:
	MOVWU.P 4(R4), R15
	MADD    R8, R7, R15, R12
	VLD1R.P 4(R10), [V25.S4]
	MOVD    R0, R11
	MOVD    R2, R13
	MOVD    R6, R14

pass:
	MOVWU.P 4(R13), R15
	VDUP    R15, V0.S4
	BUCKETS
	VTBL    V1.B16, [V16.B16, V17.B16, V18.B16, V19.B16], V1.B16
	VTBL    V2.B16, [V16.B16, V17.B16, V18.B16, V19.B16], V2.B16
	VLD1.P  32(R12), [V3.S4, V4.S4]
	VALUES
	VST1.P  [V1.S4, V2.S4], 32(R11)
	SUBS    $8, R14
	BNE     pass
	ADD     R1, R0
	ADD     R3, R2
	SUBS    $1, R5
	BNE     token
	RET

// func residualDecode1xF16NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv *float32)
TEXT ·residualDecode1xF16NEON(SB), NOSPLIT, $0-88
	MOVD   rows+0(FP), R0
	MOVD   pitch+8(FP), R1
	MOVD   packed+16(FP), R2
	MOVD   row+24(FP), R3
	MOVD   codes+32(FP), R4
	MOVD   n+40(FP), R5
	MOVD   d+48(FP), R6
	MOVD   centroid+56(FP), R7
	MOVD   stride+64(FP), R8
	MOVD   table+72(FP), R9
	MOVD   inv+80(FP), R10
	LSL    $1, R8, R8
	VLD1   (R9), [V16.B16, V17.B16, V18.B16, V19.B16]
	MOVD   $residualShift1<>(SB), R9
	VLD1.P 32(R9), [V20.S4, V21.S4]
	VLD1   (R9), [V22.S4, V23.S4, V24.S4]

token:
	MOVWU.P 4(R4), R15
	MADD    R8, R7, R15, R12
	VLD1R.P 4(R10), [V25.S4]
	MOVD    R0, R11
	MOVD    R2, R13
	MOVD    R6, R14

pass:
	MOVBU.P 1(R13), R15
	VDUP    R15, V0.S4
	BUCKETS
	VTBL    V1.B16, [V16.B16], V1.B16
	VTBL    V2.B16, [V16.B16], V2.B16
	VLD1.P  16(R12), [V5.H8]
	WORD    $0x0e2178a3               // fcvtl v3.4s, v5.4h
	WORD    $0x4e2178a4               // fcvtl2 v4.4s, v5.8h
	VALUES
	WORD    $0x0e216825               // fcvtn v5.4h, v1.4s
	WORD    $0x4e216845               // fcvtn2 v5.8h, v2.4s
	WORD    $0x0e2178a1               // fcvtl v1.4s, v5.4h
	WORD    $0x4e2178a2               // fcvtl2 v2.4s, v5.8h
	VST1.P  [V1.S4, V2.S4], 32(R11)
	SUBS    $8, R14
	BNE     pass
	ADD     R1, R0
	ADD     R3, R2
	SUBS    $1, R5
	BNE     token
	RET

// func residualDecode2xF16NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv *float32)
TEXT ·residualDecode2xF16NEON(SB), NOSPLIT, $0-88
	MOVD   rows+0(FP), R0
	MOVD   pitch+8(FP), R1
	MOVD   packed+16(FP), R2
	MOVD   row+24(FP), R3
	MOVD   codes+32(FP), R4
	MOVD   n+40(FP), R5
	MOVD   d+48(FP), R6
	MOVD   centroid+56(FP), R7
	MOVD   stride+64(FP), R8
	MOVD   table+72(FP), R9
	MOVD   inv+80(FP), R10
	LSL    $1, R8, R8
	VLD1   (R9), [V16.B16, V17.B16, V18.B16, V19.B16]
	MOVD   $residualShift2<>(SB), R9
	VLD1.P 32(R9), [V20.S4, V21.S4]
	VLD1   (R9), [V22.S4, V23.S4, V24.S4]

token:
	MOVWU.P 4(R4), R15
	MADD    R8, R7, R15, R12
	VLD1R.P 4(R10), [V25.S4]
	MOVD    R0, R11
	MOVD    R2, R13
	MOVD    R6, R14

pass:
	MOVHU.P 2(R13), R15
	VDUP    R15, V0.S4
	BUCKETS
	VTBL    V1.B16, [V16.B16], V1.B16
	VTBL    V2.B16, [V16.B16], V2.B16
	VLD1.P  16(R12), [V5.H8]
	WORD    $0x0e2178a3               // fcvtl v3.4s, v5.4h
	WORD    $0x4e2178a4               // fcvtl2 v4.4s, v5.8h
	VALUES
	WORD    $0x0e216825               // fcvtn v5.4h, v1.4s
	WORD    $0x4e216845               // fcvtn2 v5.8h, v2.4s
	WORD    $0x0e2178a1               // fcvtl v1.4s, v5.4h
	WORD    $0x4e2178a2               // fcvtl2 v2.4s, v5.8h
	VST1.P  [V1.S4, V2.S4], 32(R11)
	SUBS    $8, R14
	BNE     pass
	ADD     R1, R0
	ADD     R3, R2
	SUBS    $1, R5
	BNE     token
	RET

// func residualDecode4xF16NEON(rows *float32, pitch int, packed *uint8, row int, codes *int32, n, d int, centroid *uint16, stride int, table, inv *float32)
TEXT ·residualDecode4xF16NEON(SB), NOSPLIT, $0-88
	MOVD   rows+0(FP), R0
	MOVD   pitch+8(FP), R1
	MOVD   packed+16(FP), R2
	MOVD   row+24(FP), R3
	MOVD   codes+32(FP), R4
	MOVD   n+40(FP), R5
	MOVD   d+48(FP), R6
	MOVD   centroid+56(FP), R7
	MOVD   stride+64(FP), R8
	MOVD   table+72(FP), R9
	MOVD   inv+80(FP), R10
	LSL    $1, R8, R8
	VLD1   (R9), [V16.B16, V17.B16, V18.B16, V19.B16]
	MOVD   $residualShift4<>(SB), R9
	VLD1.P 32(R9), [V20.S4, V21.S4]
	VLD1   (R9), [V22.S4, V23.S4, V24.S4]

token:
	MOVWU.P 4(R4), R15
	MADD    R8, R7, R15, R12
	VLD1R.P 4(R10), [V25.S4]
	MOVD    R0, R11
	MOVD    R2, R13
	MOVD    R6, R14

pass:
	MOVWU.P 4(R13), R15
	VDUP    R15, V0.S4
	BUCKETS
	VTBL    V1.B16, [V16.B16, V17.B16, V18.B16, V19.B16], V1.B16
	VTBL    V2.B16, [V16.B16, V17.B16, V18.B16, V19.B16], V2.B16
	VLD1.P  16(R12), [V5.H8]
	WORD    $0x0e2178a3                                          // fcvtl v3.4s, v5.4h
	WORD    $0x4e2178a4                                          // fcvtl2 v4.4s, v5.8h
	VALUES
	WORD    $0x0e216825                                          // fcvtn v5.4h, v1.4s
	WORD    $0x4e216845                                          // fcvtn2 v5.8h, v2.4s
	WORD    $0x0e2178a1                                          // fcvtl v1.4s, v5.4h
	WORD    $0x4e2178a2                                          // fcvtl2 v2.4s, v5.8h
	VST1.P  [V1.S4, V2.S4], 32(R11)
	SUBS    $8, R14
	BNE     pass
	ADD     R1, R0
	ADD     R3, R2
	SUBS    $1, R5
	BNE     token
	RET

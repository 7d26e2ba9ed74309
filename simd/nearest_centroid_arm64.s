//go:build !noasm

#include "textflag.h"

// laneBits are the bits of 16 lanes.
DATA laneBits<>+0(SB)/4, $0x1
DATA laneBits<>+4(SB)/4, $0x2
DATA laneBits<>+8(SB)/4, $0x4
DATA laneBits<>+12(SB)/4, $0x8
DATA laneBits<>+16(SB)/4, $0x10
DATA laneBits<>+20(SB)/4, $0x20
DATA laneBits<>+24(SB)/4, $0x40
DATA laneBits<>+28(SB)/4, $0x80
DATA laneBits<>+32(SB)/4, $0x100
DATA laneBits<>+36(SB)/4, $0x200
DATA laneBits<>+40(SB)/4, $0x400
DATA laneBits<>+44(SB)/4, $0x800
DATA laneBits<>+48(SB)/4, $0x1000
DATA laneBits<>+52(SB)/4, $0x2000
DATA laneBits<>+56(SB)/4, $0x4000
DATA laneBits<>+60(SB)/4, $0x8000
GLOBL laneBits<>(SB), RODATA|NOPTR, $64

// func centroidAboveNEON(dots *float32, n, lanes int, bound *float32) (t int, hits uint32)
TEXT ·centroidAboveNEON(SB), NOSPLIT, $0-44
	MOVD dots+0(FP), R0
	MOVD n+8(FP), R1
	MOVD bound+24(FP), R2
	VLD1 (R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	MOVD ZR, R3
	MOVD ZR, R4

next:
	CMP    R1, R3
	BGE    out
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	WORD   $0x6e24e404                          // fcmge v4.4s, v0.4s, v4.4s
	WORD   $0x6e25e425                          // fcmge v5.4s, v1.4s, v5.4s
	WORD   $0x6e26e446                          // fcmge v6.4s, v2.4s, v6.4s
	WORD   $0x6e27e467                          // fcmge v7.4s, v3.4s, v7.4s
	VAND   V5.B16, V4.B16, V16.B16
	VAND   V7.B16, V6.B16, V17.B16
	VAND   V17.B16, V16.B16, V16.B16
	VMOV   V16.D[0], R5
	VMOV   V16.D[1], R6
	AND    R6, R5, R5
	CMN    $1, R5
	BNE    hit
	ADD    $1, R3
	B      next

hit:
	MOVD  $laneBits<>(SB), R7
	VLD1  (R7), [V20.S4, V21.S4, V22.S4, V23.S4]
	WORD  $0x4e641e84                            // bic v4.16b, v20.16b, v4.16b
	WORD  $0x4e651ea5                            // bic v5.16b, v21.16b, v5.16b
	WORD  $0x4e661ec6                            // bic v6.16b, v22.16b, v6.16b
	WORD  $0x4e671ee7                            // bic v7.16b, v23.16b, v7.16b
	VORR  V5.B16, V4.B16, V4.B16
	VORR  V7.B16, V6.B16, V6.B16
	VORR  V6.B16, V4.B16, V4.B16
	VADDV V4.S4, V4
	VMOV  V4.S[0], R4

out:
	MOVD R3, t+32(FP)
	MOVW R4, hits+40(FP)
	RET

// func centroidHalfNEON(dots *float32, n, lanes int, dst *uint16, stride int)
TEXT ·centroidHalfNEON(SB), NOSPLIT, $0-40
	MOVD dots+0(FP), R0
	MOVD n+8(FP), R1
	MOVD dst+24(FP), R2
	MOVD stride+32(FP), R3
	LSL  $1, R3
	CBZ  R1, end

row:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	WORD   $0x0e216804                          // fcvtn v4.4h, v0.4s
	WORD   $0x4e216824                          // fcvtn2 v4.8h, v1.4s
	WORD   $0x0e216845                          // fcvtn v5.4h, v2.4s
	WORD   $0x4e216865                          // fcvtn2 v5.8h, v3.4s
	VST1   [V4.H8, V5.H8], (R2)
	ADD    R3, R2
	SUB    $1, R1
	CBNZ   R1, row

end:
	RET

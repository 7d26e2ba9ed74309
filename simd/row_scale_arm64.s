//go:build !noasm

#include "textflag.h"

// Registers as in row_arm64.s; V24 is the factor.

// NEAREST0 adds half a step of bf16 to V0, less its lowest bit for ties: the upper half is then the bf16.
#define NEAREST0 \
	VUSHR $16, V0.S4, V4.S4;       \
	VAND  V30.B16, V4.B16, V4.B16; \
	VADD  V29.S4, V4.S4, V4.S4;    \
	VADD  V4.S4, V0.S4, V0.S4

// NEAREST1 adds half a step of bf16 to V1, less its lowest bit for ties: the upper half is then the bf16.
#define NEAREST1 \
	VUSHR $16, V1.S4, V4.S4;       \
	VAND  V30.B16, V4.B16, V4.B16; \
	VADD  V29.S4, V4.S4, V4.S4;    \
	VADD  V4.S4, V1.S4, V1.S4

// func rowScaleF32NEON(e *float32, y *byte, groups int, s float32, nt int)
TEXT ·rowScaleF32NEON(SB), NOSPLIT, $0-40
	MOVD  e+0(FP), R0
	MOVD  y+8(FP), R1
	MOVD  groups+16(FP), R2
	FMOVS s+24(FP), F24
	VDUP  V24.S[0], V24.S4
	CBZ   R2, done

loop:
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	WORD  $0x6e38dc00 // fmul v0.4s, v0.4s, v24.4s
	FMOVQ 16(R0), F1
	WORD  $0x6e38dc21 // fmul v1.4s, v1.4s, v24.4s
	FMOVQ F0, 0(R1)
	FMOVQ F1, 16(R1)
	ADD   $32, R1
	ADD   $32, R0
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R2
	CBNZ  R2, loop

done:
	RET

// func rowScaleBF16NEON(e *float32, y *byte, groups int, s float32, nt int)
TEXT ·rowScaleBF16NEON(SB), NOSPLIT, $0-40
	MOVD  e+0(FP), R0
	MOVD  y+8(FP), R1
	MOVD  groups+16(FP), R2
	FMOVS s+24(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  $0xffff0000, R9   // a bf16 is the upper half
	VDUP  R9, V31.S4
	MOVD  $0x00000001, R9   // its lowest bit
	VDUP  R9, V30.S4
	MOVD  $0x00007fff, R9   // half a step, less that bit
	VDUP  R9, V29.S4
	CBZ   R2, done

loop:
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	WORD  $0x6e38dc00       // fmul v0.4s, v0.4s, v24.4s
	FMOVQ 64(R0), F1
	WORD  $0x6e38dc21       // fmul v1.4s, v1.4s, v24.4s
	NEAREST0
	NEAREST1
	VSRI  $16, V0.S4, V1.S4
	FMOVQ F1, 0(R1)
	ADD   $16, R1
	ADD   $16, R0
	SUB   $1, R11
	CBNZ  R11, pair
	ADD   $64, R0           // the odd places
	SUB   $1, R2
	CBNZ  R2, loop

done:
	RET

// func rowScaleF16NEON(e *float32, y *byte, groups int, s float32, nt int)
TEXT ·rowScaleF16NEON(SB), NOSPLIT, $0-40
	MOVD  e+0(FP), R0
	MOVD  y+8(FP), R1
	MOVD  groups+16(FP), R2
	FMOVS s+24(FP), F24
	VDUP  V24.S[0], V24.S4
	CBZ   R2, done

loop:
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	WORD  $0x6e38dc00 // fmul v0.4s, v0.4s, v24.4s
	FMOVQ 16(R0), F1
	WORD  $0x6e38dc21 // fmul v1.4s, v1.4s, v24.4s
	WORD  $0x0e216800 // fcvtn v0.4h, v0.4s
	WORD  $0x4e216820 // fcvtn2 v0.8h, v1.4s
	FMOVQ F0, 0(R1)
	ADD   $16, R1
	ADD   $32, R0
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R2
	CBNZ  R2, loop

done:
	RET

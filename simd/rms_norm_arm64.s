//go:build !noasm

#include "textflag.h"

// Registers as in row_arm64.s; V24 and V25 are the scalars.

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

// func rmsGradF32NEON(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)
TEXT ·rmsGradF32NEON(SB), NOSPLIT, $0-64
	MOVD  dy+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  w+16(FP), R2
	MOVD  dx+24(FP), R3
	MOVD  groups+32(FP), R4
	MOVD  ahead+48(FP), R5
	FMOVS r+40(FP), F24
	VDUP  V24.S[0], V24.S4
	FMOVS c+44(FP), F25
	VDUP  V25.S[0], V25.S4
	CBZ   R4, done

loop:
	ADD  R5, R1, R10
	PRFM (R10), PLDL2KEEP
	PRFM 64(R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	FMOVQ 0(R1), F2
	FMOVQ 16(R1), F3
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc00          // fmul v0.4s, v0.4s, v24.4s
	VFMLS V2.S4, V25.S4, V0.S4
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	WORD  $0x6e38dc21          // fmul v1.4s, v1.4s, v24.4s
	VFMLS V3.S4, V25.S4, V1.S4
	FMOVQ F0, 0(R3)
	FMOVQ F1, 16(R3)
	ADD   $32, R0
	ADD   $32, R1
	ADD   $32, R3
	ADD   $32, R2
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R4
	CBNZ  R4, loop

done:
	RET

// func rmsScaleF32NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)
TEXT ·rmsScaleF32NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  w+8(FP), R1
	MOVD  y+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS r+32(FP), F24
	VDUP  V24.S[0], V24.S4
	CBZ   R3, done

loop:
	ADD  R4, R0, R10
	PRFM (R10), PLDL2KEEP
	PRFM 64(R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	WORD  $0x6e38dc00 // fmul v0.4s, v0.4s, v24.4s
	FMOVQ 0(R1), F4
	WORD  $0x6e24dc00 // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc21 // fmul v1.4s, v1.4s, v24.4s
	FMOVQ 16(R1), F4
	WORD  $0x6e24dc21 // fmul v1.4s, v1.4s, v4.4s
	FMOVQ F0, 0(R2)
	FMOVQ F1, 16(R2)
	ADD   $32, R0
	ADD   $32, R2
	ADD   $32, R1
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

// func rmsGradBF16NEON(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)
TEXT ·rmsGradBF16NEON(SB), NOSPLIT, $0-64
	MOVD  dy+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  w+16(FP), R2
	MOVD  dx+24(FP), R3
	MOVD  groups+32(FP), R4
	MOVD  ahead+48(FP), R5
	FMOVS r+40(FP), F24
	VDUP  V24.S[0], V24.S4
	FMOVS c+44(FP), F25
	VDUP  V25.S[0], V25.S4
	MOVD  $0xffff0000, R9   // a bf16 is the upper half
	VDUP  R9, V31.S4
	MOVD  $0x00000001, R9   // its lowest bit
	VDUP  R9, V30.S4
	MOVD  $0x00007fff, R9   // half a step, less that bit
	VDUP  R9, V29.S4
	CBZ   R4, done

loop:
	ADD  R5, R1, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 0(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc00             // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc00             // fmul v0.4s, v0.4s, v24.4s
	VFMLS V2.S4, V25.S4, V0.S4
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc21             // fmul v1.4s, v1.4s, v4.4s
	WORD  $0x6e38dc21             // fmul v1.4s, v1.4s, v24.4s
	VFMLS V3.S4, V25.S4, V1.S4
	NEAREST0
	NEAREST1
	VSRI  $16, V0.S4, V1.S4
	FMOVQ F1, 0(R3)
	ADD   $16, R0
	ADD   $16, R1
	ADD   $16, R3
	ADD   $16, R2
	SUB   $1, R11
	CBNZ  R11, pair
	ADD   $64, R2                 // the odd places
	SUB   $1, R4
	CBNZ  R4, loop

done:
	RET

// func rmsScaleBF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)
TEXT ·rmsScaleBF16NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  w+8(FP), R1
	MOVD  y+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS r+32(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  $0xffff0000, R9   // a bf16 is the upper half
	VDUP  R9, V31.S4
	MOVD  $0x00000001, R9   // its lowest bit
	VDUP  R9, V30.S4
	MOVD  $0x00007fff, R9   // half a step, less that bit
	VDUP  R9, V29.S4
	CBZ   R3, done

loop:
	ADD  R4, R0, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x6e38dc00             // fmul v0.4s, v0.4s, v24.4s
	FMOVQ 0(R1), F4
	WORD  $0x6e24dc00             // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc21             // fmul v1.4s, v1.4s, v24.4s
	FMOVQ 64(R1), F4
	WORD  $0x6e24dc21             // fmul v1.4s, v1.4s, v4.4s
	NEAREST0
	NEAREST1
	VSRI  $16, V0.S4, V1.S4
	FMOVQ F1, 0(R2)
	ADD   $16, R0
	ADD   $16, R2
	ADD   $16, R1
	SUB   $1, R11
	CBNZ  R11, pair
	ADD   $64, R1                 // the odd places
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

// func rmsScaleRoundBF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)
TEXT ·rmsScaleRoundBF16NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  w+8(FP), R1
	MOVD  y+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS r+32(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  $0xffff0000, R9   // a bf16 is the upper half
	VDUP  R9, V31.S4
	MOVD  $0x00000001, R9   // its lowest bit
	VDUP  R9, V30.S4
	MOVD  $0x00007fff, R9   // half a step, less that bit
	VDUP  R9, V29.S4
	CBZ   R3, done

loop:
	ADD  R4, R0, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x6e38dc00             // fmul v0.4s, v0.4s, v24.4s
	NEAREST0
	VAND  V31.B16, V0.B16, V0.B16
	FMOVQ 0(R1), F4
	WORD  $0x6e24dc00             // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc21             // fmul v1.4s, v1.4s, v24.4s
	NEAREST1
	VAND  V31.B16, V1.B16, V1.B16
	FMOVQ 64(R1), F4
	WORD  $0x6e24dc21             // fmul v1.4s, v1.4s, v4.4s
	NEAREST0
	NEAREST1
	VSRI  $16, V0.S4, V1.S4
	FMOVQ F1, 0(R2)
	ADD   $16, R0
	ADD   $16, R2
	ADD   $16, R1
	SUB   $1, R11
	CBNZ  R11, pair
	ADD   $64, R1                 // the odd places
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

// func rmsGradF16NEON(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)
TEXT ·rmsGradF16NEON(SB), NOSPLIT, $0-64
	MOVD  dy+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  w+16(FP), R2
	MOVD  dx+24(FP), R3
	MOVD  groups+32(FP), R4
	MOVD  ahead+48(FP), R5
	FMOVS r+40(FP), F24
	VDUP  V24.S[0], V24.S4
	FMOVS c+44(FP), F25
	VDUP  V25.S[0], V25.S4
	CBZ   R4, done

loop:
	ADD  R5, R1, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 0(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc00          // fmul v0.4s, v0.4s, v24.4s
	VFMLS V2.S4, V25.S4, V0.S4
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	WORD  $0x6e38dc21          // fmul v1.4s, v1.4s, v24.4s
	VFMLS V3.S4, V25.S4, V1.S4
	WORD  $0x0e216800          // fcvtn v0.4h, v0.4s
	WORD  $0x4e216820          // fcvtn2 v0.8h, v1.4s
	FMOVQ F0, 0(R3)
	ADD   $16, R0
	ADD   $16, R1
	ADD   $16, R3
	ADD   $32, R2
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R4
	CBNZ  R4, loop

done:
	RET

// func rmsScaleF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)
TEXT ·rmsScaleF16NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  w+8(FP), R1
	MOVD  y+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS r+32(FP), F24
	VDUP  V24.S[0], V24.S4
	CBZ   R3, done

loop:
	ADD  R4, R0, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F1
	WORD  $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821 // fcvtl2 v1.4s, v1.8h
	WORD  $0x6e38dc00 // fmul v0.4s, v0.4s, v24.4s
	FMOVQ 0(R1), F4
	WORD  $0x6e24dc00 // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc21 // fmul v1.4s, v1.4s, v24.4s
	FMOVQ 16(R1), F4
	WORD  $0x6e24dc21 // fmul v1.4s, v1.4s, v4.4s
	WORD  $0x0e216800 // fcvtn v0.4h, v0.4s
	WORD  $0x4e216820 // fcvtn2 v0.8h, v1.4s
	FMOVQ F0, 0(R2)
	ADD   $16, R0
	ADD   $16, R2
	ADD   $32, R1
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

// func rmsScaleRoundF16NEON(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)
TEXT ·rmsScaleRoundF16NEON(SB), NOSPLIT, $0-56
	MOVD  x+0(FP), R0
	MOVD  w+8(FP), R1
	MOVD  y+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS r+32(FP), F24
	VDUP  V24.S[0], V24.S4
	CBZ   R3, done

loop:
	ADD  R4, R0, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R0), F1
	WORD  $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821 // fcvtl2 v1.4s, v1.8h
	WORD  $0x6e38dc00 // fmul v0.4s, v0.4s, v24.4s
	WORD  $0x0e216800 // fcvtn v0.4h, v0.4s
	WORD  $0x0e217800 // fcvtl v0.4s, v0.4h
	FMOVQ 0(R1), F4
	WORD  $0x6e24dc00 // fmul v0.4s, v0.4s, v4.4s
	WORD  $0x6e38dc21 // fmul v1.4s, v1.4s, v24.4s
	WORD  $0x0e216821 // fcvtn v1.4h, v1.4s
	WORD  $0x0e217821 // fcvtl v1.4s, v1.4h
	FMOVQ 16(R1), F4
	WORD  $0x6e24dc21 // fmul v1.4s, v1.4s, v4.4s
	WORD  $0x0e216800 // fcvtn v0.4h, v0.4s
	WORD  $0x4e216820 // fcvtn2 v0.8h, v1.4s
	FMOVQ F0, 0(R2)
	ADD   $16, R0
	ADD   $16, R2
	ADD   $32, R1
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

//go:build !noasm

#include "textflag.h"

// Registers as in row_arm64.s; V24 is r.

// NEAREST2 adds half a step of bf16 to V2, less its lowest bit for ties: the upper half is then the bf16.
#define NEAREST2 \
	VUSHR $16, V2.S4, V4.S4;       \
	VAND  V30.B16, V4.B16, V4.B16; \
	VADD  V29.S4, V4.S4, V4.S4;    \
	VADD  V4.S4, V2.S4, V2.S4

// NEAREST3 adds half a step of bf16 to V3, less its lowest bit for ties: the upper half is then the bf16.
#define NEAREST3 \
	VUSHR $16, V3.S4, V4.S4;       \
	VAND  V30.B16, V4.B16, V4.B16; \
	VADD  V29.S4, V4.S4, V4.S4;    \
	VADD  V4.S4, V3.S4, V3.S4

// func rmsDotWeightF32NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)
TEXT ·rmsDotWeightF32NEON(SB), NOSPLIT, $0-64
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   part+24(FP), R3
	MOVD   groups+32(FP), R4
	MOVD   lanes+40(FP), R5
	MOVD   ahead+56(FP), R6
	FMOVS  r+48(FP), F24
	VDUP   V24.S[0], V24.S4
	VLD1.P 64(R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R5), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R5
	CBZ    R4, done

loop:
	ADD   R6, R0, R10
	PRFM  (R10), PLDL2KEEP
	PRFM  64(R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	FMOVQ 0(R1), F2
	FMOVQ 16(R1), F3
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V16.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 0(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 0(R3)
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V17.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 16(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 16(R3)
	FMOVQ 32(R0), F0
	FMOVQ 48(R0), F1
	FMOVQ 32(R1), F2
	FMOVQ 48(R1), F3
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V18.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 32(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 32(R3)
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V19.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 48(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 48(R3)
	FMOVQ 64(R0), F0
	FMOVQ 80(R0), F1
	FMOVQ 64(R1), F2
	FMOVQ 80(R1), F3
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V20.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 64(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 64(R3)
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V21.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 80(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 80(R3)
	FMOVQ 96(R0), F0
	FMOVQ 112(R0), F1
	FMOVQ 96(R1), F2
	FMOVQ 112(R1), F3
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V22.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 96(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 96(R3)
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V23.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 112(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 112(R3)
	ADD   $128, R0
	ADD   $128, R1
	ADD   $128, R2
	ADD   $128, R3
	SUB   $1, R4
	CBNZ  R4, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R5)
	RET

// func rmsDotWeightBF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)
TEXT ·rmsDotWeightBF16NEON(SB), NOSPLIT, $0-64
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   part+24(FP), R3
	MOVD   groups+32(FP), R4
	MOVD   lanes+40(FP), R5
	MOVD   ahead+56(FP), R6
	FMOVS  r+48(FP), F24
	VDUP   V24.S[0], V24.S4
	MOVD   $0xffff0000, R9                          // a bf16 is the upper half
	VDUP   R9, V31.S4
	VLD1.P 64(R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R5), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R5
	CBZ    R4, done

loop:
	ADD   R6, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 0(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V16.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 0(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 0(R3)
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V20.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 64(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 64(R3)
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 16(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V17.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 16(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 16(R3)
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V21.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 80(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 80(R3)
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 32(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V18.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 32(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 32(R3)
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V22.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 96(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 96(R3)
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 48(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V19.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 48(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 48(R3)
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V23.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 112(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 112(R3)
	ADD   $64, R0
	ADD   $64, R1
	ADD   $128, R2
	ADD   $128, R3
	SUB   $1, R4
	CBNZ  R4, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R5)
	RET

// func rmsDotWeightRoundBF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)
TEXT ·rmsDotWeightRoundBF16NEON(SB), NOSPLIT, $0-64
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   part+24(FP), R3
	MOVD   groups+32(FP), R4
	MOVD   lanes+40(FP), R5
	MOVD   ahead+56(FP), R6
	FMOVS  r+48(FP), F24
	VDUP   V24.S[0], V24.S4
	MOVD   $0xffff0000, R9                          // a bf16 is the upper half
	VDUP   R9, V31.S4
	MOVD   $0x00000001, R9                          // its lowest bit
	VDUP   R9, V30.S4
	MOVD   $0x00007fff, R9                          // half a step, less that bit
	VDUP   R9, V29.S4
	VLD1.P 64(R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R5), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R5
	CBZ    R4, done

loop:
	ADD   R6, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 0(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V16.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	NEAREST2
	VAND  V31.B16, V2.B16, V2.B16
	FMOVQ 0(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 0(R3)
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V20.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	NEAREST3
	VAND  V31.B16, V3.B16, V3.B16
	FMOVQ 64(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 64(R3)
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 16(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V17.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	NEAREST2
	VAND  V31.B16, V2.B16, V2.B16
	FMOVQ 16(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 16(R3)
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V21.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	NEAREST3
	VAND  V31.B16, V3.B16, V3.B16
	FMOVQ 80(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 80(R3)
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 32(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V18.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	NEAREST2
	VAND  V31.B16, V2.B16, V2.B16
	FMOVQ 32(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 32(R3)
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V22.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	NEAREST3
	VAND  V31.B16, V3.B16, V3.B16
	FMOVQ 96(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 96(R3)
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 48(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc05             // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V19.S4
	WORD  $0x6e38dc42             // fmul v2.4s, v2.4s, v24.4s
	NEAREST2
	VAND  V31.B16, V2.B16, V2.B16
	FMOVQ 48(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 48(R3)
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc25             // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V23.S4
	WORD  $0x6e38dc63             // fmul v3.4s, v3.4s, v24.4s
	NEAREST3
	VAND  V31.B16, V3.B16, V3.B16
	FMOVQ 112(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 112(R3)
	ADD   $64, R0
	ADD   $64, R1
	ADD   $128, R2
	ADD   $128, R3
	SUB   $1, R4
	CBNZ  R4, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R5)
	RET

// func rmsDotWeightF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)
TEXT ·rmsDotWeightF16NEON(SB), NOSPLIT, $0-64
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   part+24(FP), R3
	MOVD   groups+32(FP), R4
	MOVD   lanes+40(FP), R5
	MOVD   ahead+56(FP), R6
	FMOVS  r+48(FP), F24
	VDUP   V24.S[0], V24.S4
	VLD1.P 64(R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R5), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R5
	CBZ    R4, done

loop:
	ADD   R6, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 0(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V16.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 0(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 0(R3)
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V17.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 16(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 16(R3)
	FMOVQ 16(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 16(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V18.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 32(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 32(R3)
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V19.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 48(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 48(R3)
	FMOVQ 32(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 32(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V20.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 64(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 64(R3)
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V21.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 80(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 80(R3)
	FMOVQ 48(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 48(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V22.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	FMOVQ 96(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 96(R3)
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V23.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	FMOVQ 112(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 112(R3)
	ADD   $64, R0
	ADD   $64, R1
	ADD   $128, R2
	ADD   $128, R3
	SUB   $1, R4
	CBNZ  R4, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R5)
	RET

// func rmsDotWeightRoundF16NEON(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)
TEXT ·rmsDotWeightRoundF16NEON(SB), NOSPLIT, $0-64
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   part+24(FP), R3
	MOVD   groups+32(FP), R4
	MOVD   lanes+40(FP), R5
	MOVD   ahead+56(FP), R6
	FMOVS  r+48(FP), F24
	VDUP   V24.S[0], V24.S4
	VLD1.P 64(R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R5), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R5
	CBZ    R4, done

loop:
	ADD   R6, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 0(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V16.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	WORD  $0x0e216842          // fcvtn v2.4h, v2.4s
	WORD  $0x0e217842          // fcvtl v2.4s, v2.4h
	FMOVQ 0(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 0(R3)
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V17.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	WORD  $0x0e216863          // fcvtn v3.4h, v3.4s
	WORD  $0x0e217863          // fcvtl v3.4s, v3.4h
	FMOVQ 16(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 16(R3)
	FMOVQ 16(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 16(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V18.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	WORD  $0x0e216842          // fcvtn v2.4h, v2.4s
	WORD  $0x0e217842          // fcvtl v2.4s, v2.4h
	FMOVQ 32(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 32(R3)
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V19.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	WORD  $0x0e216863          // fcvtn v3.4h, v3.4s
	WORD  $0x0e217863          // fcvtl v3.4s, v3.4h
	FMOVQ 48(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 48(R3)
	FMOVQ 32(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 32(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V20.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	WORD  $0x0e216842          // fcvtn v2.4h, v2.4s
	WORD  $0x0e217842          // fcvtl v2.4s, v2.4h
	FMOVQ 64(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 64(R3)
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V21.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	WORD  $0x0e216863          // fcvtn v3.4h, v3.4s
	WORD  $0x0e217863          // fcvtl v3.4s, v3.4h
	FMOVQ 80(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 80(R3)
	FMOVQ 48(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 48(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc05          // fmul v5.4s, v0.4s, v4.4s
	VFMLA V2.S4, V5.S4, V22.S4
	WORD  $0x6e38dc42          // fmul v2.4s, v2.4s, v24.4s
	WORD  $0x0e216842          // fcvtn v2.4h, v2.4s
	WORD  $0x0e217842          // fcvtl v2.4s, v2.4h
	FMOVQ 96(R3), F6
	VFMLA V2.S4, V0.S4, V6.S4
	FMOVQ F6, 96(R3)
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc25          // fmul v5.4s, v1.4s, v4.4s
	VFMLA V3.S4, V5.S4, V23.S4
	WORD  $0x6e38dc63          // fmul v3.4s, v3.4s, v24.4s
	WORD  $0x0e216863          // fcvtn v3.4h, v3.4s
	WORD  $0x0e217863          // fcvtl v3.4s, v3.4h
	FMOVQ 112(R3), F6
	VFMLA V3.S4, V1.S4, V6.S4
	FMOVQ F6, 112(R3)
	ADD   $64, R0
	ADD   $64, R1
	ADD   $128, R2
	ADD   $128, R3
	SUB   $1, R4
	CBNZ  R4, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R5)
	RET

//go:build !noasm

#include "textflag.h"

// Registers as in row_arm64.s.

// func rmsDotF32NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)
TEXT ·rmsDotF32NEON(SB), NOSPLIT, $0-48
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   groups+24(FP), R3
	MOVD   lanes+32(FP), R4
	MOVD   ahead+40(FP), R5
	VLD1.P 64(R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R4), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R4
	CBZ    R3, done

loop:
	ADD   R5, R0, R10
	PRFM  (R10), PLDL2KEEP
	PRFM  64(R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	FMOVQ 0(R1), F2
	FMOVQ 16(R1), F3
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V16.S4
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V17.S4
	FMOVQ 32(R0), F0
	FMOVQ 48(R0), F1
	FMOVQ 32(R1), F2
	FMOVQ 48(R1), F3
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V18.S4
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V19.S4
	FMOVQ 64(R0), F0
	FMOVQ 80(R0), F1
	FMOVQ 64(R1), F2
	FMOVQ 80(R1), F3
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V20.S4
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V21.S4
	FMOVQ 96(R0), F0
	FMOVQ 112(R0), F1
	FMOVQ 96(R1), F2
	FMOVQ 112(R1), F3
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V22.S4
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V23.S4
	ADD   $128, R0
	ADD   $128, R1
	ADD   $128, R2
	SUB   $1, R3
	CBNZ  R3, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R4)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R4)
	RET

// func rmsDotBF16NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)
TEXT ·rmsDotBF16NEON(SB), NOSPLIT, $0-48
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   groups+24(FP), R3
	MOVD   lanes+32(FP), R4
	MOVD   ahead+40(FP), R5
	MOVD   $0xffff0000, R9                          // a bf16 is the upper half
	VDUP   R9, V31.S4
	VLD1.P 64(R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R4), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R4
	CBZ    R3, done

loop:
	ADD   R5, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 0(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc00             // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V16.S4
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc21             // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V20.S4
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 16(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc00             // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V17.S4
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc21             // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V21.S4
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 32(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc00             // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V18.S4
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc21             // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V22.S4
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 48(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc00             // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V19.S4
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc21             // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V23.S4
	ADD   $64, R0
	ADD   $64, R1
	ADD   $128, R2
	SUB   $1, R3
	CBNZ  R3, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R4)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R4)
	RET

// func rmsDotF16NEON(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)
TEXT ·rmsDotF16NEON(SB), NOSPLIT, $0-48
	MOVD   dy+0(FP), R0
	MOVD   x+8(FP), R1
	MOVD   w+16(FP), R2
	MOVD   groups+24(FP), R3
	MOVD   lanes+32(FP), R4
	MOVD   ahead+40(FP), R5
	VLD1.P 64(R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R4), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R4
	CBZ    R3, done

loop:
	ADD   R5, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 0(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 0(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V16.S4
	FMOVQ 16(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V17.S4
	FMOVQ 16(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 16(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 32(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V18.S4
	FMOVQ 48(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V19.S4
	FMOVQ 32(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 32(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 64(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V20.S4
	FMOVQ 80(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V21.S4
	FMOVQ 48(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 48(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	FMOVQ 96(R2), F4
	WORD  $0x6e24dc00          // fmul v0.4s, v0.4s, v4.4s
	VFMLA V2.S4, V0.S4, V22.S4
	FMOVQ 112(R2), F4
	WORD  $0x6e24dc21          // fmul v1.4s, v1.4s, v4.4s
	VFMLA V3.S4, V1.S4, V23.S4
	ADD   $64, R0
	ADD   $64, R1
	ADD   $128, R2
	SUB   $1, R3
	CBNZ  R3, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R4)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R4)
	RET

//go:build !noasm

#include "textflag.h"

// A group is four pairs of registers: V0 and V1, of a second operand V2 and V3. Lanes are
// V16 to V23. For bf16 V31 masks the upper half of a word, V30 is its lowest bit and V29
// half a step of rounding less that bit. Reference of each routine: its Generic twin.

// func rowMaxF32NEON(x *byte, groups int, lanes *float32)
TEXT ·rowMaxF32NEON(SB), NOSPLIT, $0-24
	MOVD   x+0(FP), R0
	MOVD   groups+8(FP), R1
	MOVD   lanes+16(FP), R2
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R2), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R2
	CBZ    R1, done

loop:
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	WORD  $0x4e20f610 // fmax v16.4s, v16.4s, v0.4s
	WORD  $0x4e21f631 // fmax v17.4s, v17.4s, v1.4s
	FMOVQ 32(R0), F0
	FMOVQ 48(R0), F1
	WORD  $0x4e20f652 // fmax v18.4s, v18.4s, v0.4s
	WORD  $0x4e21f673 // fmax v19.4s, v19.4s, v1.4s
	FMOVQ 64(R0), F0
	FMOVQ 80(R0), F1
	WORD  $0x4e20f694 // fmax v20.4s, v20.4s, v0.4s
	WORD  $0x4e21f6b5 // fmax v21.4s, v21.4s, v1.4s
	FMOVQ 96(R0), F0
	FMOVQ 112(R0), F1
	WORD  $0x4e20f6d6 // fmax v22.4s, v22.4s, v0.4s
	WORD  $0x4e21f6f7 // fmax v23.4s, v23.4s, v1.4s
	ADD   $128, R0
	SUB   $1, R1
	CBNZ  R1, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R2)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R2)
	RET

// func rowFindF32NEON(x *byte, groups int, value float32) int
TEXT ·rowFindF32NEON(SB), NOSPLIT, $0-32
	MOVD  x+0(FP), R0
	MOVD  groups+8(FP), R1
	FMOVS value+16(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  ZR, R2

next:
	CMP   R1, R2
	BGE   out
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	WORD  $0x4e38e402            // fcmeq v2.4s, v0.4s, v24.4s
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 32(R0), F0
	FMOVQ 48(R0), F1
	WORD  $0x4e38e400            // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 64(R0), F0
	FMOVQ 80(R0), F1
	WORD  $0x4e38e400            // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 96(R0), F0
	FMOVQ 112(R0), F1
	WORD  $0x4e38e400            // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	VMOV  V2.D[0], R3
	VMOV  V2.D[1], R4
	ORR   R3, R4, R3
	CBNZ  R3, out
	ADD   $128, R0
	ADD   $1, R2
	B     next

out:
	MOVD R2, ret+24(FP)
	RET

// func rowSquareF32NEON(x *byte, groups int, lanes *float32)
TEXT ·rowSquareF32NEON(SB), NOSPLIT, $0-24
	MOVD   x+0(FP), R0
	MOVD   groups+8(FP), R1
	MOVD   lanes+16(FP), R2
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R2), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R2
	CBZ    R1, done

loop:
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	VFMLA V0.S4, V0.S4, V16.S4
	VFMLA V1.S4, V1.S4, V17.S4
	FMOVQ 32(R0), F0
	FMOVQ 48(R0), F1
	VFMLA V0.S4, V0.S4, V18.S4
	VFMLA V1.S4, V1.S4, V19.S4
	FMOVQ 64(R0), F0
	FMOVQ 80(R0), F1
	VFMLA V0.S4, V0.S4, V20.S4
	VFMLA V1.S4, V1.S4, V21.S4
	FMOVQ 96(R0), F0
	FMOVQ 112(R0), F1
	VFMLA V0.S4, V0.S4, V22.S4
	VFMLA V1.S4, V1.S4, V23.S4
	ADD   $128, R0
	SUB   $1, R1
	CBNZ  R1, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R2)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R2)
	RET

// func rowDotF32NEON(a, b *byte, groups int, lanes *float32, ahead int)
TEXT ·rowDotF32NEON(SB), NOSPLIT, $0-40
	MOVD   a+0(FP), R0
	MOVD   b+8(FP), R1
	MOVD   groups+16(FP), R2
	MOVD   lanes+24(FP), R3
	MOVD   ahead+32(FP), R4
	VLD1.P 64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R3), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R3
	CBZ    R2, done

loop:
	ADD   R4, R0, R10
	PRFM  (R10), PLDL2KEEP
	PRFM  64(R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	FMOVQ 0(R1), F2
	FMOVQ 16(R1), F3
	VFMLA V2.S4, V0.S4, V16.S4
	VFMLA V3.S4, V1.S4, V17.S4
	FMOVQ 32(R0), F0
	FMOVQ 48(R0), F1
	FMOVQ 32(R1), F2
	FMOVQ 48(R1), F3
	VFMLA V2.S4, V0.S4, V18.S4
	VFMLA V3.S4, V1.S4, V19.S4
	FMOVQ 64(R0), F0
	FMOVQ 80(R0), F1
	FMOVQ 64(R1), F2
	FMOVQ 80(R1), F3
	VFMLA V2.S4, V0.S4, V20.S4
	VFMLA V3.S4, V1.S4, V21.S4
	FMOVQ 96(R0), F0
	FMOVQ 112(R0), F1
	FMOVQ 96(R1), F2
	FMOVQ 112(R1), F3
	VFMLA V2.S4, V0.S4, V22.S4
	VFMLA V3.S4, V1.S4, V23.S4
	ADD   $128, R0
	ADD   $128, R1
	SUB   $1, R2
	CBNZ  R2, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R3)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R3)
	RET

// func rowMaxBF16NEON(x *byte, groups int, lanes *float32)
TEXT ·rowMaxBF16NEON(SB), NOSPLIT, $0-24
	MOVD   x+0(FP), R0
	MOVD   groups+8(FP), R1
	MOVD   lanes+16(FP), R2
	MOVD   $0xffff0000, R9                          // a bf16 is the upper half
	VDUP   R9, V31.S4
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R2), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R2
	CBZ    R1, done

loop:
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e20f610             // fmax v16.4s, v16.4s, v0.4s
	WORD  $0x4e21f694             // fmax v20.4s, v20.4s, v1.4s
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e20f631             // fmax v17.4s, v17.4s, v0.4s
	WORD  $0x4e21f6b5             // fmax v21.4s, v21.4s, v1.4s
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e20f652             // fmax v18.4s, v18.4s, v0.4s
	WORD  $0x4e21f6d6             // fmax v22.4s, v22.4s, v1.4s
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e20f673             // fmax v19.4s, v19.4s, v0.4s
	WORD  $0x4e21f6f7             // fmax v23.4s, v23.4s, v1.4s
	ADD   $64, R0
	SUB   $1, R1
	CBNZ  R1, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R2)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R2)
	RET

// func rowFindBF16NEON(x *byte, groups int, value float32) int
TEXT ·rowFindBF16NEON(SB), NOSPLIT, $0-32
	MOVD  x+0(FP), R0
	MOVD  groups+8(FP), R1
	FMOVS value+16(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  $0xffff0000, R9   // a bf16 is the upper half
	VDUP  R9, V31.S4
	MOVD  ZR, R2

next:
	CMP   R1, R2
	BGE   out
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e38e402             // fcmeq v2.4s, v0.4s, v24.4s
	WORD  $0x4e38e421             // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e38e400             // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421             // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e38e400             // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421             // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	WORD  $0x4e38e400             // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421             // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	VMOV  V2.D[0], R3
	VMOV  V2.D[1], R4
	ORR   R3, R4, R3
	CBNZ  R3, out
	ADD   $64, R0
	ADD   $1, R2
	B     next

out:
	MOVD R2, ret+24(FP)
	RET

// func rowSquareBF16NEON(x *byte, groups int, lanes *float32)
TEXT ·rowSquareBF16NEON(SB), NOSPLIT, $0-24
	MOVD   x+0(FP), R0
	MOVD   groups+8(FP), R1
	MOVD   lanes+16(FP), R2
	MOVD   $0xffff0000, R9                          // a bf16 is the upper half
	VDUP   R9, V31.S4
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R2), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R2
	CBZ    R1, done

loop:
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	VFMLA V0.S4, V0.S4, V16.S4
	VFMLA V1.S4, V1.S4, V20.S4
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	VFMLA V0.S4, V0.S4, V17.S4
	VFMLA V1.S4, V1.S4, V21.S4
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	VFMLA V0.S4, V0.S4, V18.S4
	VFMLA V1.S4, V1.S4, V22.S4
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	VFMLA V0.S4, V0.S4, V19.S4
	VFMLA V1.S4, V1.S4, V23.S4
	ADD   $64, R0
	SUB   $1, R1
	CBNZ  R1, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R2)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R2)
	RET

// func rowDotBF16NEON(a, b *byte, groups int, lanes *float32, ahead int)
TEXT ·rowDotBF16NEON(SB), NOSPLIT, $0-40
	MOVD   a+0(FP), R0
	MOVD   b+8(FP), R1
	MOVD   groups+16(FP), R2
	MOVD   lanes+24(FP), R3
	MOVD   ahead+32(FP), R4
	MOVD   $0xffff0000, R9                          // a bf16 is the upper half
	VDUP   R9, V31.S4
	VLD1.P 64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R3), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R3
	CBZ    R2, done

loop:
	ADD   R4, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 0(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	VFMLA V2.S4, V0.S4, V16.S4
	VFMLA V3.S4, V1.S4, V20.S4
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 16(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	VFMLA V2.S4, V0.S4, V17.S4
	VFMLA V3.S4, V1.S4, V21.S4
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 32(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	VFMLA V2.S4, V0.S4, V18.S4
	VFMLA V3.S4, V1.S4, V22.S4
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 48(R1), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	VFMLA V2.S4, V0.S4, V19.S4
	VFMLA V3.S4, V1.S4, V23.S4
	ADD   $64, R0
	ADD   $64, R1
	SUB   $1, R2
	CBNZ  R2, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R3)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R3)
	RET

// func rowMaxF16NEON(x *byte, groups int, lanes *float32)
TEXT ·rowMaxF16NEON(SB), NOSPLIT, $0-24
	MOVD   x+0(FP), R0
	MOVD   groups+8(FP), R1
	MOVD   lanes+16(FP), R2
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R2), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R2
	CBZ    R1, done

loop:
	FMOVQ 0(R0), F1
	WORD  $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821 // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e20f610 // fmax v16.4s, v16.4s, v0.4s
	WORD  $0x4e21f631 // fmax v17.4s, v17.4s, v1.4s
	FMOVQ 16(R0), F1
	WORD  $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821 // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e20f652 // fmax v18.4s, v18.4s, v0.4s
	WORD  $0x4e21f673 // fmax v19.4s, v19.4s, v1.4s
	FMOVQ 32(R0), F1
	WORD  $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821 // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e20f694 // fmax v20.4s, v20.4s, v0.4s
	WORD  $0x4e21f6b5 // fmax v21.4s, v21.4s, v1.4s
	FMOVQ 48(R0), F1
	WORD  $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821 // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e20f6d6 // fmax v22.4s, v22.4s, v0.4s
	WORD  $0x4e21f6f7 // fmax v23.4s, v23.4s, v1.4s
	ADD   $64, R0
	SUB   $1, R1
	CBNZ  R1, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R2)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R2)
	RET

// func rowFindF16NEON(x *byte, groups int, value float32) int
TEXT ·rowFindF16NEON(SB), NOSPLIT, $0-32
	MOVD  x+0(FP), R0
	MOVD  groups+8(FP), R1
	FMOVS value+16(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  ZR, R2

next:
	CMP   R1, R2
	BGE   out
	FMOVQ 0(R0), F1
	WORD  $0x0e217820            // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821            // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e38e402            // fcmeq v2.4s, v0.4s, v24.4s
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 16(R0), F1
	WORD  $0x0e217820            // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821            // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e38e400            // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 32(R0), F1
	WORD  $0x0e217820            // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821            // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e38e400            // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 48(R0), F1
	WORD  $0x0e217820            // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821            // fcvtl2 v1.4s, v1.8h
	WORD  $0x4e38e400            // fcmeq v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	WORD  $0x4e38e421            // fcmeq v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	VMOV  V2.D[0], R3
	VMOV  V2.D[1], R4
	ORR   R3, R4, R3
	CBNZ  R3, out
	ADD   $64, R0
	ADD   $1, R2
	B     next

out:
	MOVD R2, ret+24(FP)
	RET

// func rowSquareF16NEON(x *byte, groups int, lanes *float32)
TEXT ·rowSquareF16NEON(SB), NOSPLIT, $0-24
	MOVD   x+0(FP), R0
	MOVD   groups+8(FP), R1
	MOVD   lanes+16(FP), R2
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R2), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R2
	CBZ    R1, done

loop:
	FMOVQ 0(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	VFMLA V0.S4, V0.S4, V16.S4
	VFMLA V1.S4, V1.S4, V17.S4
	FMOVQ 16(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	VFMLA V0.S4, V0.S4, V18.S4
	VFMLA V1.S4, V1.S4, V19.S4
	FMOVQ 32(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	VFMLA V0.S4, V0.S4, V20.S4
	VFMLA V1.S4, V1.S4, V21.S4
	FMOVQ 48(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	VFMLA V0.S4, V0.S4, V22.S4
	VFMLA V1.S4, V1.S4, V23.S4
	ADD   $64, R0
	SUB   $1, R1
	CBNZ  R1, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R2)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R2)
	RET

// func rowDotF16NEON(a, b *byte, groups int, lanes *float32, ahead int)
TEXT ·rowDotF16NEON(SB), NOSPLIT, $0-40
	MOVD   a+0(FP), R0
	MOVD   b+8(FP), R1
	MOVD   groups+16(FP), R2
	MOVD   lanes+24(FP), R3
	MOVD   ahead+32(FP), R4
	VLD1.P 64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R3), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R3
	CBZ    R2, done

loop:
	ADD   R4, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 0(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	VFMLA V2.S4, V0.S4, V16.S4
	VFMLA V3.S4, V1.S4, V17.S4
	FMOVQ 16(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 16(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	VFMLA V2.S4, V0.S4, V18.S4
	VFMLA V3.S4, V1.S4, V19.S4
	FMOVQ 32(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 32(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	VFMLA V2.S4, V0.S4, V20.S4
	VFMLA V3.S4, V1.S4, V21.S4
	FMOVQ 48(R0), F1
	WORD  $0x0e217820          // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821          // fcvtl2 v1.4s, v1.8h
	FMOVQ 48(R1), F3
	WORD  $0x0e217862          // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863          // fcvtl2 v3.4s, v3.8h
	VFMLA V2.S4, V0.S4, V22.S4
	VFMLA V3.S4, V1.S4, V23.S4
	ADD   $64, R0
	ADD   $64, R1
	SUB   $1, R2
	CBNZ  R2, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R3)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R3)
	RET

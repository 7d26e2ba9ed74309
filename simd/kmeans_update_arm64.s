//go:build !noasm

#include "textflag.h"

// V16 to V23 are the sums of 16 components, V24 the scale, V25 the limit, V26 what was below it.

// func kmeansAddNEON(token *float32, index *int32, count, stride int, scale float64, limit float32, sum *int64) bool
TEXT ·kmeansAddNEON(SB), NOSPLIT, $0-57
	MOVD   token+0(FP), R0
	MOVD   index+8(FP), R1
	MOVD   count+16(FP), R2
	MOVD   stride+24(FP), R3
	LSL    $2, R3
	FMOVD  scale+32(FP), F24
	VDUP   V24.D[0], V24.D2
	FMOVS  limit+40(FP), F25
	VDUP   V25.S[0], V25.S4
	MOVD   sum+48(FP), R4
	VLD1.P 64(R4), [V16.D2, V17.D2, V18.D2, V19.D2]
	VLD1   (R4), [V20.D2, V21.D2, V22.D2, V23.D2]
	SUB    $64, R4
	VCMEQ  V26.S4, V26.S4, V26.S4
	CBZ    R2, done

row:
	MOVW   64(R1), R6
	MUL    R3, R6, R6
	ADD    R0, R6, R6
	PRFM   (R6), PLDL1KEEP
	MOVW.P 4(R1), R5
	MUL    R3, R5, R5
	ADD    R0, R5, R5
	VLD1   (R5), [V0.S4, V1.S4, V2.S4, V3.S4]
	WORD   $0x6ea0ef24                        // facgt v4.4s, v25.4s, v0.4s
	VAND   V4.B16, V26.B16, V26.B16
	WORD   $0x6ea1ef25                        // facgt v5.4s, v25.4s, v1.4s
	VAND   V5.B16, V26.B16, V26.B16
	WORD   $0x6ea2ef26                        // facgt v6.4s, v25.4s, v2.4s
	VAND   V6.B16, V26.B16, V26.B16
	WORD   $0x6ea3ef27                        // facgt v7.4s, v25.4s, v3.4s
	VAND   V7.B16, V26.B16, V26.B16
	WORD   $0x0e617804                        // fcvtl v4.2d, v0.2s
	WORD   $0x4e617805                        // fcvtl2 v5.2d, v0.4s
	WORD   $0x6e78dc84                        // fmul v4.2d, v4.2d, v24.2d
	WORD   $0x6e78dca5                        // fmul v5.2d, v5.2d, v24.2d
	WORD   $0x4e61a884                        // fcvtns v4.2d, v4.2d
	WORD   $0x4e61a8a5                        // fcvtns v5.2d, v5.2d
	VADD   V4.D2, V16.D2, V16.D2
	VADD   V5.D2, V17.D2, V17.D2
	WORD   $0x0e617826                        // fcvtl v6.2d, v1.2s
	WORD   $0x4e617827                        // fcvtl2 v7.2d, v1.4s
	WORD   $0x6e78dcc6                        // fmul v6.2d, v6.2d, v24.2d
	WORD   $0x6e78dce7                        // fmul v7.2d, v7.2d, v24.2d
	WORD   $0x4e61a8c6                        // fcvtns v6.2d, v6.2d
	WORD   $0x4e61a8e7                        // fcvtns v7.2d, v7.2d
	VADD   V6.D2, V18.D2, V18.D2
	VADD   V7.D2, V19.D2, V19.D2
	WORD   $0x0e617844                        // fcvtl v4.2d, v2.2s
	WORD   $0x4e617845                        // fcvtl2 v5.2d, v2.4s
	WORD   $0x6e78dc84                        // fmul v4.2d, v4.2d, v24.2d
	WORD   $0x6e78dca5                        // fmul v5.2d, v5.2d, v24.2d
	WORD   $0x4e61a884                        // fcvtns v4.2d, v4.2d
	WORD   $0x4e61a8a5                        // fcvtns v5.2d, v5.2d
	VADD   V4.D2, V20.D2, V20.D2
	VADD   V5.D2, V21.D2, V21.D2
	WORD   $0x0e617866                        // fcvtl v6.2d, v3.2s
	WORD   $0x4e617867                        // fcvtl2 v7.2d, v3.4s
	WORD   $0x6e78dcc6                        // fmul v6.2d, v6.2d, v24.2d
	WORD   $0x6e78dce7                        // fmul v7.2d, v7.2d, v24.2d
	WORD   $0x4e61a8c6                        // fcvtns v6.2d, v6.2d
	WORD   $0x4e61a8e7                        // fcvtns v7.2d, v7.2d
	VADD   V6.D2, V22.D2, V22.D2
	VADD   V7.D2, V23.D2, V23.D2
	SUB    $1, R2
	CBNZ   R2, row

done:
	VMOV   V26.D[0], R5
	VMOV   V26.D[1], R6
	AND    R6, R5, R5
	MOVD   ZR, R7
	CMN    $1, R5
	BNE    out
	VST1.P [V16.D2, V17.D2, V18.D2, V19.D2], 64(R4)
	VST1   [V20.D2, V21.D2, V22.D2, V23.D2], (R4)
	MOVD   $1, R7

out:
	MOVB R7, ret+56(FP)
	RET

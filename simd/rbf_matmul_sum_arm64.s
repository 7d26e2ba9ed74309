//go:build !noasm

#include "textflag.h"

// V16 to V31 are the lanes of 4 rows, row r in V16+4r to V19+4r; V0 to V3 are weights, V4
// to V7 values.

// ZERO clears the sums.
#define ZERO \
	VEOR V16.B16, V16.B16, V16.B16; \
	VEOR V17.B16, V17.B16, V17.B16; \
	VEOR V18.B16, V18.B16, V18.B16; \
	VEOR V19.B16, V19.B16, V19.B16; \
	VEOR V20.B16, V20.B16, V20.B16; \
	VEOR V21.B16, V21.B16, V21.B16; \
	VEOR V22.B16, V22.B16, V22.B16; \
	VEOR V23.B16, V23.B16, V23.B16; \
	VEOR V24.B16, V24.B16, V24.B16; \
	VEOR V25.B16, V25.B16, V25.B16; \
	VEOR V26.B16, V26.B16, V26.B16; \
	VEOR V27.B16, V27.B16, V27.B16; \
	VEOR V28.B16, V28.B16, V28.B16; \
	VEOR V29.B16, V29.B16, V29.B16; \
	VEOR V30.B16, V30.B16, V30.B16; \
	VEOR V31.B16, V31.B16, V31.B16

// func rbfSumF32NEON(k, w *float32, acc *float64, panels, stride int)
TEXT ·rbfSumF32NEON(SB), NOSPLIT, $0-40
	MOVD k+0(FP), R0
	MOVD w+8(FP), R1
	MOVD acc+16(FP), R2
	MOVD panels+24(FP), R3
	MOVD stride+32(FP), R4
	ZERO
	CBZ  R3, done

loop:
	FMOVQ 0(R1), F0
	FMOVQ 16(R1), F1
	FMOVQ 32(R1), F2
	FMOVQ 48(R1), F3
	MOVD  R0, R5
	FMOVQ 0(R5), F4
	VFMLA V4.S4, V0.S4, V16.S4
	FMOVQ 16(R5), F5
	VFMLA V5.S4, V1.S4, V17.S4
	FMOVQ 32(R5), F6
	VFMLA V6.S4, V2.S4, V18.S4
	FMOVQ 48(R5), F7
	VFMLA V7.S4, V3.S4, V19.S4
	ADD   R4, R5
	FMOVQ 0(R5), F4
	VFMLA V4.S4, V0.S4, V20.S4
	FMOVQ 16(R5), F5
	VFMLA V5.S4, V1.S4, V21.S4
	FMOVQ 32(R5), F6
	VFMLA V6.S4, V2.S4, V22.S4
	FMOVQ 48(R5), F7
	VFMLA V7.S4, V3.S4, V23.S4
	ADD   R4, R5
	FMOVQ 0(R5), F4
	VFMLA V4.S4, V0.S4, V24.S4
	FMOVQ 16(R5), F5
	VFMLA V5.S4, V1.S4, V25.S4
	FMOVQ 32(R5), F6
	VFMLA V6.S4, V2.S4, V26.S4
	FMOVQ 48(R5), F7
	VFMLA V7.S4, V3.S4, V27.S4
	ADD   R4, R5
	FMOVQ 0(R5), F4
	VFMLA V4.S4, V0.S4, V28.S4
	FMOVQ 16(R5), F5
	VFMLA V5.S4, V1.S4, V29.S4
	FMOVQ 32(R5), F6
	VFMLA V6.S4, V2.S4, V30.S4
	FMOVQ 48(R5), F7
	VFMLA V7.S4, V3.S4, V31.S4
	FMOVQ 64(R1), F0
	FMOVQ 80(R1), F1
	FMOVQ 96(R1), F2
	FMOVQ 112(R1), F3
	MOVD  R0, R5
	FMOVQ 64(R5), F4
	VFMLA V4.S4, V0.S4, V16.S4
	FMOVQ 80(R5), F5
	VFMLA V5.S4, V1.S4, V17.S4
	FMOVQ 96(R5), F6
	VFMLA V6.S4, V2.S4, V18.S4
	FMOVQ 112(R5), F7
	VFMLA V7.S4, V3.S4, V19.S4
	ADD   R4, R5
	FMOVQ 64(R5), F4
	VFMLA V4.S4, V0.S4, V20.S4
	FMOVQ 80(R5), F5
	VFMLA V5.S4, V1.S4, V21.S4
	FMOVQ 96(R5), F6
	VFMLA V6.S4, V2.S4, V22.S4
	FMOVQ 112(R5), F7
	VFMLA V7.S4, V3.S4, V23.S4
	ADD   R4, R5
	FMOVQ 64(R5), F4
	VFMLA V4.S4, V0.S4, V24.S4
	FMOVQ 80(R5), F5
	VFMLA V5.S4, V1.S4, V25.S4
	FMOVQ 96(R5), F6
	VFMLA V6.S4, V2.S4, V26.S4
	FMOVQ 112(R5), F7
	VFMLA V7.S4, V3.S4, V27.S4
	ADD   R4, R5
	FMOVQ 64(R5), F4
	VFMLA V4.S4, V0.S4, V28.S4
	FMOVQ 80(R5), F5
	VFMLA V5.S4, V1.S4, V29.S4
	FMOVQ 96(R5), F6
	VFMLA V6.S4, V2.S4, V30.S4
	FMOVQ 112(R5), F7
	VFMLA V7.S4, V3.S4, V31.S4
	ADD   $128, R0
	ADD   $128, R1
	SUB   $1, R3
	CBNZ  R3, loop

done:
	WORD  $0x4e32d610           // fadd v16.4s, v16.4s, v18.4s
	WORD  $0x4e33d631           // fadd v17.4s, v17.4s, v19.4s
	WORD  $0x0e617a12           // fcvtl v18.2d, v16.2s
	WORD  $0x4e617a13           // fcvtl2 v19.2d, v16.4s
	WORD  $0x0e617a20           // fcvtl v0.2d, v17.2s
	WORD  $0x4e617a21           // fcvtl2 v1.2d, v17.4s
	WORD  $0x4e60d650           // fadd v16.2d, v18.2d, v0.2d
	WORD  $0x4e61d671           // fadd v17.2d, v19.2d, v1.2d
	WORD  $0x4e36d694           // fadd v20.4s, v20.4s, v22.4s
	WORD  $0x4e37d6b5           // fadd v21.4s, v21.4s, v23.4s
	WORD  $0x0e617a96           // fcvtl v22.2d, v20.2s
	WORD  $0x4e617a97           // fcvtl2 v23.2d, v20.4s
	WORD  $0x0e617aa0           // fcvtl v0.2d, v21.2s
	WORD  $0x4e617aa1           // fcvtl2 v1.2d, v21.4s
	WORD  $0x4e60d6d4           // fadd v20.2d, v22.2d, v0.2d
	WORD  $0x4e61d6f5           // fadd v21.2d, v23.2d, v1.2d
	WORD  $0x4e3ad718           // fadd v24.4s, v24.4s, v26.4s
	WORD  $0x4e3bd739           // fadd v25.4s, v25.4s, v27.4s
	WORD  $0x0e617b1a           // fcvtl v26.2d, v24.2s
	WORD  $0x4e617b1b           // fcvtl2 v27.2d, v24.4s
	WORD  $0x0e617b20           // fcvtl v0.2d, v25.2s
	WORD  $0x4e617b21           // fcvtl2 v1.2d, v25.4s
	WORD  $0x4e60d758           // fadd v24.2d, v26.2d, v0.2d
	WORD  $0x4e61d779           // fadd v25.2d, v27.2d, v1.2d
	WORD  $0x4e3ed79c           // fadd v28.4s, v28.4s, v30.4s
	WORD  $0x4e3fd7bd           // fadd v29.4s, v29.4s, v31.4s
	WORD  $0x0e617b9e           // fcvtl v30.2d, v28.2s
	WORD  $0x4e617b9f           // fcvtl2 v31.2d, v28.4s
	WORD  $0x0e617ba0           // fcvtl v0.2d, v29.2s
	WORD  $0x4e617ba1           // fcvtl2 v1.2d, v29.4s
	WORD  $0x4e60d7dc           // fadd v28.2d, v30.2d, v0.2d
	WORD  $0x4e61d7fd           // fadd v29.2d, v31.2d, v1.2d
	VZIP1 V20.D2, V16.D2, V0.D2
	VZIP2 V20.D2, V16.D2, V1.D2
	WORD  $0x4e61d402           // fadd v2.2d, v0.2d, v1.2d
	VZIP1 V21.D2, V17.D2, V0.D2
	VZIP2 V21.D2, V17.D2, V1.D2
	WORD  $0x4e61d403           // fadd v3.2d, v0.2d, v1.2d
	WORD  $0x4e63d442           // fadd v2.2d, v2.2d, v3.2d
	FMOVQ 0(R2), F4
	WORD  $0x4e64d442           // fadd v2.2d, v2.2d, v4.2d
	FMOVQ F2, 0(R2)
	VZIP1 V28.D2, V24.D2, V0.D2
	VZIP2 V28.D2, V24.D2, V1.D2
	WORD  $0x4e61d402           // fadd v2.2d, v0.2d, v1.2d
	VZIP1 V29.D2, V25.D2, V0.D2
	VZIP2 V29.D2, V25.D2, V1.D2
	WORD  $0x4e61d403           // fadd v3.2d, v0.2d, v1.2d
	WORD  $0x4e63d442           // fadd v2.2d, v2.2d, v3.2d
	FMOVQ 16(R2), F4
	WORD  $0x4e64d442           // fadd v2.2d, v2.2d, v4.2d
	FMOVQ F2, 16(R2)
	RET

// func rbfSumF64NEON(k, w *float64, acc *float64, panels, stride int)
TEXT ·rbfSumF64NEON(SB), NOSPLIT, $0-40
	MOVD k+0(FP), R0
	MOVD w+8(FP), R1
	MOVD acc+16(FP), R2
	MOVD panels+24(FP), R3
	MOVD stride+32(FP), R4
	ZERO
	CBZ  R3, done

loop:
	FMOVQ 0(R1), F0
	FMOVQ 16(R1), F1
	FMOVQ 32(R1), F2
	FMOVQ 48(R1), F3
	MOVD  R0, R5
	FMOVQ 0(R5), F4
	VFMLA V4.D2, V0.D2, V16.D2
	FMOVQ 16(R5), F5
	VFMLA V5.D2, V1.D2, V17.D2
	FMOVQ 32(R5), F6
	VFMLA V6.D2, V2.D2, V18.D2
	FMOVQ 48(R5), F7
	VFMLA V7.D2, V3.D2, V19.D2
	ADD   R4, R5
	FMOVQ 0(R5), F4
	VFMLA V4.D2, V0.D2, V20.D2
	FMOVQ 16(R5), F5
	VFMLA V5.D2, V1.D2, V21.D2
	FMOVQ 32(R5), F6
	VFMLA V6.D2, V2.D2, V22.D2
	FMOVQ 48(R5), F7
	VFMLA V7.D2, V3.D2, V23.D2
	ADD   R4, R5
	FMOVQ 0(R5), F4
	VFMLA V4.D2, V0.D2, V24.D2
	FMOVQ 16(R5), F5
	VFMLA V5.D2, V1.D2, V25.D2
	FMOVQ 32(R5), F6
	VFMLA V6.D2, V2.D2, V26.D2
	FMOVQ 48(R5), F7
	VFMLA V7.D2, V3.D2, V27.D2
	ADD   R4, R5
	FMOVQ 0(R5), F4
	VFMLA V4.D2, V0.D2, V28.D2
	FMOVQ 16(R5), F5
	VFMLA V5.D2, V1.D2, V29.D2
	FMOVQ 32(R5), F6
	VFMLA V6.D2, V2.D2, V30.D2
	FMOVQ 48(R5), F7
	VFMLA V7.D2, V3.D2, V31.D2
	FMOVQ 64(R1), F0
	FMOVQ 80(R1), F1
	FMOVQ 96(R1), F2
	FMOVQ 112(R1), F3
	MOVD  R0, R5
	FMOVQ 64(R5), F4
	VFMLA V4.D2, V0.D2, V16.D2
	FMOVQ 80(R5), F5
	VFMLA V5.D2, V1.D2, V17.D2
	FMOVQ 96(R5), F6
	VFMLA V6.D2, V2.D2, V18.D2
	FMOVQ 112(R5), F7
	VFMLA V7.D2, V3.D2, V19.D2
	ADD   R4, R5
	FMOVQ 64(R5), F4
	VFMLA V4.D2, V0.D2, V20.D2
	FMOVQ 80(R5), F5
	VFMLA V5.D2, V1.D2, V21.D2
	FMOVQ 96(R5), F6
	VFMLA V6.D2, V2.D2, V22.D2
	FMOVQ 112(R5), F7
	VFMLA V7.D2, V3.D2, V23.D2
	ADD   R4, R5
	FMOVQ 64(R5), F4
	VFMLA V4.D2, V0.D2, V24.D2
	FMOVQ 80(R5), F5
	VFMLA V5.D2, V1.D2, V25.D2
	FMOVQ 96(R5), F6
	VFMLA V6.D2, V2.D2, V26.D2
	FMOVQ 112(R5), F7
	VFMLA V7.D2, V3.D2, V27.D2
	ADD   R4, R5
	FMOVQ 64(R5), F4
	VFMLA V4.D2, V0.D2, V28.D2
	FMOVQ 80(R5), F5
	VFMLA V5.D2, V1.D2, V29.D2
	FMOVQ 96(R5), F6
	VFMLA V6.D2, V2.D2, V30.D2
	FMOVQ 112(R5), F7
	VFMLA V7.D2, V3.D2, V31.D2
	ADD   $128, R0
	ADD   $128, R1
	SUB   $1, R3
	CBNZ  R3, loop

done:
	WORD  $0x4e72d610           // fadd v16.2d, v16.2d, v18.2d
	WORD  $0x4e73d631           // fadd v17.2d, v17.2d, v19.2d
	WORD  $0x4e76d694           // fadd v20.2d, v20.2d, v22.2d
	WORD  $0x4e77d6b5           // fadd v21.2d, v21.2d, v23.2d
	WORD  $0x4e7ad718           // fadd v24.2d, v24.2d, v26.2d
	WORD  $0x4e7bd739           // fadd v25.2d, v25.2d, v27.2d
	WORD  $0x4e7ed79c           // fadd v28.2d, v28.2d, v30.2d
	WORD  $0x4e7fd7bd           // fadd v29.2d, v29.2d, v31.2d
	VZIP1 V20.D2, V16.D2, V0.D2
	VZIP2 V20.D2, V16.D2, V1.D2
	WORD  $0x4e61d402           // fadd v2.2d, v0.2d, v1.2d
	VZIP1 V21.D2, V17.D2, V0.D2
	VZIP2 V21.D2, V17.D2, V1.D2
	WORD  $0x4e61d403           // fadd v3.2d, v0.2d, v1.2d
	WORD  $0x4e63d442           // fadd v2.2d, v2.2d, v3.2d
	FMOVQ 0(R2), F4
	WORD  $0x4e64d442           // fadd v2.2d, v2.2d, v4.2d
	FMOVQ F2, 0(R2)
	VZIP1 V28.D2, V24.D2, V0.D2
	VZIP2 V28.D2, V24.D2, V1.D2
	WORD  $0x4e61d402           // fadd v2.2d, v0.2d, v1.2d
	VZIP1 V29.D2, V25.D2, V0.D2
	VZIP2 V29.D2, V25.D2, V1.D2
	WORD  $0x4e61d403           // fadd v3.2d, v0.2d, v1.2d
	WORD  $0x4e63d442           // fadd v2.2d, v2.2d, v3.2d
	FMOVQ 16(R2), F4
	WORD  $0x4e64d442           // fadd v2.2d, v2.2d, v4.2d
	FMOVQ F2, 16(R2)
	RET

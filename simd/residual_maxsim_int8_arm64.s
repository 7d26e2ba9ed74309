//go:build !noasm

#include "textflag.h"

// func residualBytes1NEON(rows *byte, pitch int, packed *uint8, row, n int, table *int8)
TEXT ·residualBytes1NEON(SB), NOSPLIT, $0-48
	MOVD  rows+0(FP), R0
	MOVD  pitch+8(FP), R1
	MOVD  packed+16(FP), R2
	MOVD  row+24(FP), R3
	MOVD  n+32(FP), R4
	MOVD  table+40(FP), R5
	VLD1  (R5), [V16.B16, V17.B16, V18.B16, V19.B16]
	VMOVI $15, V20.B16

token:
	MOVD R0, R6
	SUBS $16, R3, R7
	BLT  half

block:
	VLD1.P 16(R2), [V0.B16]
	VUSHR  $4, V0.B16, V1.B16
	VAND   V20.B16, V0.B16, V0.B16
	VTBL   V1.B16, [V16.B16], V2.B16
	VTBL   V1.B16, [V17.B16], V3.B16
	VTBL   V1.B16, [V18.B16], V4.B16
	VTBL   V1.B16, [V19.B16], V5.B16
	VTBL   V0.B16, [V16.B16], V6.B16
	VTBL   V0.B16, [V17.B16], V7.B16
	VTBL   V0.B16, [V18.B16], V8.B16
	VTBL   V0.B16, [V19.B16], V9.B16
	VST1.P [V2.B16, V3.B16, V4.B16, V5.B16], 64(R6)
	VST1.P [V6.B16, V7.B16, V8.B16, V9.B16], 64(R6)
	SUBS   $16, R7
	BGE    block

half:
	ADDS   $16, R7
	BEQ    done
	VLD1.P 8(R2), [V0.B8]
	VUSHR  $4, V0.B16, V1.B16
	VAND   V20.B16, V0.B16, V0.B16
	VTBL   V1.B16, [V16.B16], V2.B16
	VTBL   V1.B16, [V17.B16], V3.B16
	VTBL   V1.B16, [V18.B16], V4.B16
	VTBL   V1.B16, [V19.B16], V5.B16
	VTBL   V0.B16, [V16.B16], V6.B16
	VTBL   V0.B16, [V17.B16], V7.B16
	VTBL   V0.B16, [V18.B16], V8.B16
	VTBL   V0.B16, [V19.B16], V9.B16
	VST1.P [V2.B8, V3.B8, V4.B8, V5.B8], 32(R6)
	VST1.P [V6.B8, V7.B8, V8.B8, V9.B8], 32(R6)

done:
	ADD  R1, R0
	SUBS $1, R4
	BNE  token
	RET

// func residualBytes2NEON(rows *byte, pitch int, packed *uint8, row, n int, table *int8)
TEXT ·residualBytes2NEON(SB), NOSPLIT, $0-48
	MOVD  rows+0(FP), R0
	MOVD  pitch+8(FP), R1
	MOVD  packed+16(FP), R2
	MOVD  row+24(FP), R3
	MOVD  n+32(FP), R4
	MOVD  table+40(FP), R5
	VLD1  (R5), [V16.B16, V17.B16]
	VMOVI $15, V20.B16

token:
	MOVD R0, R6
	SUBS $16, R3, R7
	BLT  half

block:
	VLD1.P 16(R2), [V0.B16]
	VUSHR  $4, V0.B16, V1.B16
	VAND   V20.B16, V0.B16, V0.B16
	VTBL   V1.B16, [V16.B16], V2.B16
	VTBL   V1.B16, [V17.B16], V3.B16
	VTBL   V0.B16, [V16.B16], V4.B16
	VTBL   V0.B16, [V17.B16], V5.B16
	VST1.P [V2.B16, V3.B16, V4.B16, V5.B16], 64(R6)
	SUBS   $16, R7
	BGE    block

half:
	ADDS   $16, R7
	BEQ    done
	VLD1.P 8(R2), [V0.B8]
	VUSHR  $4, V0.B16, V1.B16
	VAND   V20.B16, V0.B16, V0.B16
	VTBL   V1.B16, [V16.B16], V2.B16
	VTBL   V1.B16, [V17.B16], V3.B16
	VTBL   V0.B16, [V16.B16], V4.B16
	VTBL   V0.B16, [V17.B16], V5.B16
	VST1.P [V2.B8, V3.B8, V4.B8, V5.B8], 32(R6)

done:
	ADD  R1, R0
	SUBS $1, R4
	BNE  token
	RET

// func residualBytes4NEON(rows *byte, pitch int, packed *uint8, row, n int, table *int8)
TEXT ·residualBytes4NEON(SB), NOSPLIT, $0-48
	MOVD  rows+0(FP), R0
	MOVD  pitch+8(FP), R1
	MOVD  packed+16(FP), R2
	MOVD  row+24(FP), R3
	MOVD  n+32(FP), R4
	MOVD  table+40(FP), R5
	VLD1  (R5), [V16.B16]
	VMOVI $15, V20.B16

token:
	MOVD R0, R6
	SUBS $16, R3, R7
	BLT  half

block:
	VLD1.P 16(R2), [V0.B16]
	VUSHR  $4, V0.B16, V1.B16
	VAND   V20.B16, V0.B16, V0.B16
	VTBL   V1.B16, [V16.B16], V2.B16
	VTBL   V0.B16, [V16.B16], V3.B16
	VST1.P [V2.B16, V3.B16], 32(R6)
	SUBS   $16, R7
	BGE    block

half:
	ADDS   $16, R7
	BEQ    done
	VLD1.P 8(R2), [V0.B8]
	VUSHR  $4, V0.B16, V1.B16
	VAND   V20.B16, V0.B16, V0.B16
	VTBL   V1.B16, [V16.B16], V2.B16
	VTBL   V0.B16, [V16.B16], V3.B16
	VST1.P [V2.B8, V3.B8], 16(R6)

done:
	ADD  R1, R0
	SUBS $1, R4
	BNE  token
	RET

// STEP adds the products of four components, those numbered i in the rows' registers, and the
// panel's.
#define STEP0 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4f80e090 /* sdot v16.4s, v4.16b, v0.4b[0] */; \
	WORD   $0x4f80e0b1 /* sdot v17.4s, v5.16b, v0.4b[0] */; \
	WORD   $0x4f80e0d2 /* sdot v18.4s, v6.16b, v0.4b[0] */; \
	WORD   $0x4f80e0f3 /* sdot v19.4s, v7.16b, v0.4b[0] */; \
	WORD   $0x4f81e094 /* sdot v20.4s, v4.16b, v1.4b[0] */; \
	WORD   $0x4f81e0b5 /* sdot v21.4s, v5.16b, v1.4b[0] */; \
	WORD   $0x4f81e0d6 /* sdot v22.4s, v6.16b, v1.4b[0] */; \
	WORD   $0x4f81e0f7 /* sdot v23.4s, v7.16b, v1.4b[0] */; \
	WORD   $0x4f82e098 /* sdot v24.4s, v4.16b, v2.4b[0] */; \
	WORD   $0x4f82e0b9 /* sdot v25.4s, v5.16b, v2.4b[0] */; \
	WORD   $0x4f82e0da /* sdot v26.4s, v6.16b, v2.4b[0] */; \
	WORD   $0x4f82e0fb /* sdot v27.4s, v7.16b, v2.4b[0] */; \
	WORD   $0x4f83e09c /* sdot v28.4s, v4.16b, v3.4b[0] */; \
	WORD   $0x4f83e0bd /* sdot v29.4s, v5.16b, v3.4b[0] */; \
	WORD   $0x4f83e0de /* sdot v30.4s, v6.16b, v3.4b[0] */; \
	WORD   $0x4f83e0ff                                      // sdot v31.4s, v7.16b, v3.4b[0]

#define STEP1 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4fa0e090 /* sdot v16.4s, v4.16b, v0.4b[1] */; \
	WORD   $0x4fa0e0b1 /* sdot v17.4s, v5.16b, v0.4b[1] */; \
	WORD   $0x4fa0e0d2 /* sdot v18.4s, v6.16b, v0.4b[1] */; \
	WORD   $0x4fa0e0f3 /* sdot v19.4s, v7.16b, v0.4b[1] */; \
	WORD   $0x4fa1e094 /* sdot v20.4s, v4.16b, v1.4b[1] */; \
	WORD   $0x4fa1e0b5 /* sdot v21.4s, v5.16b, v1.4b[1] */; \
	WORD   $0x4fa1e0d6 /* sdot v22.4s, v6.16b, v1.4b[1] */; \
	WORD   $0x4fa1e0f7 /* sdot v23.4s, v7.16b, v1.4b[1] */; \
	WORD   $0x4fa2e098 /* sdot v24.4s, v4.16b, v2.4b[1] */; \
	WORD   $0x4fa2e0b9 /* sdot v25.4s, v5.16b, v2.4b[1] */; \
	WORD   $0x4fa2e0da /* sdot v26.4s, v6.16b, v2.4b[1] */; \
	WORD   $0x4fa2e0fb /* sdot v27.4s, v7.16b, v2.4b[1] */; \
	WORD   $0x4fa3e09c /* sdot v28.4s, v4.16b, v3.4b[1] */; \
	WORD   $0x4fa3e0bd /* sdot v29.4s, v5.16b, v3.4b[1] */; \
	WORD   $0x4fa3e0de /* sdot v30.4s, v6.16b, v3.4b[1] */; \
	WORD   $0x4fa3e0ff                                      // sdot v31.4s, v7.16b, v3.4b[1]

#define STEP2 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4f80e890 /* sdot v16.4s, v4.16b, v0.4b[2] */; \
	WORD   $0x4f80e8b1 /* sdot v17.4s, v5.16b, v0.4b[2] */; \
	WORD   $0x4f80e8d2 /* sdot v18.4s, v6.16b, v0.4b[2] */; \
	WORD   $0x4f80e8f3 /* sdot v19.4s, v7.16b, v0.4b[2] */; \
	WORD   $0x4f81e894 /* sdot v20.4s, v4.16b, v1.4b[2] */; \
	WORD   $0x4f81e8b5 /* sdot v21.4s, v5.16b, v1.4b[2] */; \
	WORD   $0x4f81e8d6 /* sdot v22.4s, v6.16b, v1.4b[2] */; \
	WORD   $0x4f81e8f7 /* sdot v23.4s, v7.16b, v1.4b[2] */; \
	WORD   $0x4f82e898 /* sdot v24.4s, v4.16b, v2.4b[2] */; \
	WORD   $0x4f82e8b9 /* sdot v25.4s, v5.16b, v2.4b[2] */; \
	WORD   $0x4f82e8da /* sdot v26.4s, v6.16b, v2.4b[2] */; \
	WORD   $0x4f82e8fb /* sdot v27.4s, v7.16b, v2.4b[2] */; \
	WORD   $0x4f83e89c /* sdot v28.4s, v4.16b, v3.4b[2] */; \
	WORD   $0x4f83e8bd /* sdot v29.4s, v5.16b, v3.4b[2] */; \
	WORD   $0x4f83e8de /* sdot v30.4s, v6.16b, v3.4b[2] */; \
	WORD   $0x4f83e8ff                                      // sdot v31.4s, v7.16b, v3.4b[2]

#define STEP3 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4fa0e890 /* sdot v16.4s, v4.16b, v0.4b[3] */; \
	WORD   $0x4fa0e8b1 /* sdot v17.4s, v5.16b, v0.4b[3] */; \
	WORD   $0x4fa0e8d2 /* sdot v18.4s, v6.16b, v0.4b[3] */; \
	WORD   $0x4fa0e8f3 /* sdot v19.4s, v7.16b, v0.4b[3] */; \
	WORD   $0x4fa1e894 /* sdot v20.4s, v4.16b, v1.4b[3] */; \
	WORD   $0x4fa1e8b5 /* sdot v21.4s, v5.16b, v1.4b[3] */; \
	WORD   $0x4fa1e8d6 /* sdot v22.4s, v6.16b, v1.4b[3] */; \
	WORD   $0x4fa1e8f7 /* sdot v23.4s, v7.16b, v1.4b[3] */; \
	WORD   $0x4fa2e898 /* sdot v24.4s, v4.16b, v2.4b[3] */; \
	WORD   $0x4fa2e8b9 /* sdot v25.4s, v5.16b, v2.4b[3] */; \
	WORD   $0x4fa2e8da /* sdot v26.4s, v6.16b, v2.4b[3] */; \
	WORD   $0x4fa2e8fb /* sdot v27.4s, v7.16b, v2.4b[3] */; \
	WORD   $0x4fa3e89c /* sdot v28.4s, v4.16b, v3.4b[3] */; \
	WORD   $0x4fa3e8bd /* sdot v29.4s, v5.16b, v3.4b[3] */; \
	WORD   $0x4fa3e8de /* sdot v30.4s, v6.16b, v3.4b[3] */; \
	WORD   $0x4fa3e8ff                                      // sdot v31.4s, v7.16b, v3.4b[3]

#define ONE0 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4f80e090 /* sdot v16.4s, v4.16b, v0.4b[0] */; \
	WORD   $0x4f80e0b1 /* sdot v17.4s, v5.16b, v0.4b[0] */; \
	WORD   $0x4f80e0d2 /* sdot v18.4s, v6.16b, v0.4b[0] */; \
	WORD   $0x4f80e0f3                                      // sdot v19.4s, v7.16b, v0.4b[0]

#define ONE1 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4fa0e090 /* sdot v16.4s, v4.16b, v0.4b[1] */; \
	WORD   $0x4fa0e0b1 /* sdot v17.4s, v5.16b, v0.4b[1] */; \
	WORD   $0x4fa0e0d2 /* sdot v18.4s, v6.16b, v0.4b[1] */; \
	WORD   $0x4fa0e0f3                                      // sdot v19.4s, v7.16b, v0.4b[1]

#define ONE2 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4f80e890 /* sdot v16.4s, v4.16b, v0.4b[2] */; \
	WORD   $0x4f80e8b1 /* sdot v17.4s, v5.16b, v0.4b[2] */; \
	WORD   $0x4f80e8d2 /* sdot v18.4s, v6.16b, v0.4b[2] */; \
	WORD   $0x4f80e8f3                                      // sdot v19.4s, v7.16b, v0.4b[2]

#define ONE3 \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16];        \
	WORD   $0x4fa0e890 /* sdot v16.4s, v4.16b, v0.4b[3] */; \
	WORD   $0x4fa0e8b1 /* sdot v17.4s, v5.16b, v0.4b[3] */; \
	WORD   $0x4fa0e8d2 /* sdot v18.4s, v6.16b, v0.4b[3] */; \
	WORD   $0x4fa0e8f3                                      // sdot v19.4s, v7.16b, v0.4b[3]

// func residualDots16NEON(panel *uint32, rows *byte, pitch, steps, n int, bias, out *int32)
TEXT ·residualDots16NEON(SB), NOSPLIT, $0-56
	MOVD panel+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD steps+24(FP), R3
	MOVD n+32(FP), R4
	MOVD out+48(FP), R5
	LSR  $2, R3, R3

rows4:
	CMP  $4, R4
	BLT  rows1
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	VEOR V24.B16, V24.B16, V24.B16
	VEOR V25.B16, V25.B16, V25.B16
	VEOR V26.B16, V26.B16, V26.B16
	VEOR V27.B16, V27.B16, V27.B16
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	VEOR V30.B16, V30.B16, V30.B16
	VEOR V31.B16, V31.B16, V31.B16
	MOVD R0, R9
	MOVD R1, R10
	ADD  R2, R10, R11
	ADD  R2, R11, R12
	ADD  R2, R12, R13
	MOVD R3, R14

rows4pass:
	VLD1.P 16(R10), [V0.B16]
	VLD1.P 16(R11), [V1.B16]
	VLD1.P 16(R12), [V2.B16]
	VLD1.P 16(R13), [V3.B16]
	STEP0
	STEP1
	STEP2
	STEP3
	SUBS   $1, R14
	BNE    rows4pass
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], 64(R5)
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R5)
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], 64(R5)
	ADD    R2<<2, R1
	SUB    $4, R4
	B      rows4

rows1:
	CBZ  R4, end
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	MOVD R0, R9
	MOVD R1, R10
	MOVD R3, R14

rows1pass:
	VLD1.P 16(R10), [V0.B16]
	ONE0
	ONE1
	ONE2
	ONE3
	SUBS   $1, R14
	BNE    rows1pass
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)
	ADD    R2, R1
	SUB    $1, R4
	B      rows1

end:
	RET

// func residualFinishF32x16NEON(dots *int32, n int, codes *int32, scores *float32, stride, last int, unit, inv, best *float32)
TEXT ·residualFinishF32x16NEON(SB), NOSPLIT, $0-72
	MOVD dots+0(FP), R0
	MOVD n+8(FP), R1
	MOVD codes+16(FP), R2
	MOVD scores+24(FP), R3
	MOVD stride+32(FP), R4
	MOVD last+40(FP), R5
	MOVD unit+48(FP), R6
	MOVD inv+56(FP), R7
	MOVD best+64(FP), R8
	ADD  R5, R3
	VLD1 (R6), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1 (R8), [V24.S4, V25.S4, V26.S4, V27.S4]

token:
	MOVWU.P 4(R2), R9
	MADD    R4, R3, R9, R9
	VLD1.P  64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1    (R9), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1R.P 4(R7), [V20.S4]
	WORD    $0x4e21d800                            // scvtf v0.4s, v0.4s
	WORD    $0x4e21d821                            // scvtf v1.4s, v1.4s
	WORD    $0x4e21d842                            // scvtf v2.4s, v2.4s
	WORD    $0x4e21d863                            // scvtf v3.4s, v3.4s
	VFMLA   V0.S4, V16.S4, V4.S4
	VFMLA   V1.S4, V17.S4, V5.S4
	VFMLA   V2.S4, V18.S4, V6.S4
	VFMLA   V3.S4, V19.S4, V7.S4
	WORD    $0x6e34dc84                            // fmul v4.4s, v4.4s, v20.4s
	WORD    $0x6e34dca5                            // fmul v5.4s, v5.4s, v20.4s
	WORD    $0x6e34dcc6                            // fmul v6.4s, v6.4s, v20.4s
	WORD    $0x6e34dce7                            // fmul v7.4s, v7.4s, v20.4s
	WORD    $0x4e24f718                            // fmax v24.4s, v24.4s, v4.4s
	WORD    $0x4e25f739                            // fmax v25.4s, v25.4s, v5.4s
	WORD    $0x4e26f75a                            // fmax v26.4s, v26.4s, v6.4s
	WORD    $0x4e27f77b                            // fmax v27.4s, v27.4s, v7.4s
	SUBS    $1, R1
	BNE     token
	VST1    [V24.S4, V25.S4, V26.S4, V27.S4], (R8)
	RET

// func residualFinishF16x16NEON(dots *int32, n int, codes *int32, scores *uint16, stride, last int, unit, inv, best *float32)
TEXT ·residualFinishF16x16NEON(SB), NOSPLIT, $0-72
	MOVD dots+0(FP), R0
	MOVD n+8(FP), R1
	MOVD codes+16(FP), R2
	MOVD scores+24(FP), R3
	MOVD stride+32(FP), R4
	MOVD last+40(FP), R5
	MOVD unit+48(FP), R6
	MOVD inv+56(FP), R7
	MOVD best+64(FP), R8
	ADD  R5, R3
	VLD1 (R6), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1 (R8), [V24.S4, V25.S4, V26.S4, V27.S4]

token:
	MOVWU.P 4(R2), R9
	MADD    R4, R3, R9, R9
	VLD1.P  64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1    (R9), [V8.H8, V9.H8]
	WORD    $0x0e217904                            // fcvtl v4.4s, v8.4h
	WORD    $0x4e217905                            // fcvtl2 v5.4s, v8.8h
	WORD    $0x0e217926                            // fcvtl v6.4s, v9.4h
	WORD    $0x4e217927                            // fcvtl2 v7.4s, v9.8h
	VLD1R.P 4(R7), [V20.S4]
	WORD    $0x4e21d800                            // scvtf v0.4s, v0.4s
	WORD    $0x4e21d821                            // scvtf v1.4s, v1.4s
	WORD    $0x4e21d842                            // scvtf v2.4s, v2.4s
	WORD    $0x4e21d863                            // scvtf v3.4s, v3.4s
	VFMLA   V0.S4, V16.S4, V4.S4
	VFMLA   V1.S4, V17.S4, V5.S4
	VFMLA   V2.S4, V18.S4, V6.S4
	VFMLA   V3.S4, V19.S4, V7.S4
	WORD    $0x6e34dc84                            // fmul v4.4s, v4.4s, v20.4s
	WORD    $0x6e34dca5                            // fmul v5.4s, v5.4s, v20.4s
	WORD    $0x6e34dcc6                            // fmul v6.4s, v6.4s, v20.4s
	WORD    $0x6e34dce7                            // fmul v7.4s, v7.4s, v20.4s
	WORD    $0x4e24f718                            // fmax v24.4s, v24.4s, v4.4s
	WORD    $0x4e25f739                            // fmax v25.4s, v25.4s, v5.4s
	WORD    $0x4e26f75a                            // fmax v26.4s, v26.4s, v6.4s
	WORD    $0x4e27f77b                            // fmax v27.4s, v27.4s, v7.4s
	SUBS    $1, R1
	BNE     token
	VST1    [V24.S4, V25.S4, V26.S4, V27.S4], (R8)
	RET

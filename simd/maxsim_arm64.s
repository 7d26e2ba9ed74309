//go:build !noasm

#include "textflag.h"

// A panel has 16 query tokens: four vectors for each component. V16 to V31 accumulate four
// document rows by those four vectors; V0 to V3 hold four components of the rows and V4 to
// V7 one component of the panel. V15 is zero.

#define PANEL \
	VLD1.P 64(R9), [V4.S4, V5.S4, V6.S4, V7.S4]

	// MULTIPLY0 adds the products of the rows' component 0 and the panel's.
#define MULTIPLY0 \
	WORD $0x4f801090 /* fmla v16.4s, v4.4s, v0.s[0] */; \
	WORD $0x4f8010b1 /* fmla v17.4s, v5.4s, v0.s[0] */; \
	WORD $0x4f8010d2 /* fmla v18.4s, v6.4s, v0.s[0] */; \
	WORD $0x4f8010f3 /* fmla v19.4s, v7.4s, v0.s[0] */; \
	WORD $0x4f811094 /* fmla v20.4s, v4.4s, v1.s[0] */; \
	WORD $0x4f8110b5 /* fmla v21.4s, v5.4s, v1.s[0] */; \
	WORD $0x4f8110d6 /* fmla v22.4s, v6.4s, v1.s[0] */; \
	WORD $0x4f8110f7 /* fmla v23.4s, v7.4s, v1.s[0] */; \
	WORD $0x4f821098 /* fmla v24.4s, v4.4s, v2.s[0] */; \
	WORD $0x4f8210b9 /* fmla v25.4s, v5.4s, v2.s[0] */; \
	WORD $0x4f8210da /* fmla v26.4s, v6.4s, v2.s[0] */; \
	WORD $0x4f8210fb /* fmla v27.4s, v7.4s, v2.s[0] */; \
	WORD $0x4f83109c /* fmla v28.4s, v4.4s, v3.s[0] */; \
	WORD $0x4f8310bd /* fmla v29.4s, v5.4s, v3.s[0] */; \
	WORD $0x4f8310de /* fmla v30.4s, v6.4s, v3.s[0] */; \
	WORD $0x4f8310ff                                    // fmla v31.4s, v7.4s, v3.s[0]

// MULTIPLY1 adds the products of the rows' component 1 and the panel's.
#define MULTIPLY1 \
	WORD $0x4fa01090 /* fmla v16.4s, v4.4s, v0.s[1] */; \
	WORD $0x4fa010b1 /* fmla v17.4s, v5.4s, v0.s[1] */; \
	WORD $0x4fa010d2 /* fmla v18.4s, v6.4s, v0.s[1] */; \
	WORD $0x4fa010f3 /* fmla v19.4s, v7.4s, v0.s[1] */; \
	WORD $0x4fa11094 /* fmla v20.4s, v4.4s, v1.s[1] */; \
	WORD $0x4fa110b5 /* fmla v21.4s, v5.4s, v1.s[1] */; \
	WORD $0x4fa110d6 /* fmla v22.4s, v6.4s, v1.s[1] */; \
	WORD $0x4fa110f7 /* fmla v23.4s, v7.4s, v1.s[1] */; \
	WORD $0x4fa21098 /* fmla v24.4s, v4.4s, v2.s[1] */; \
	WORD $0x4fa210b9 /* fmla v25.4s, v5.4s, v2.s[1] */; \
	WORD $0x4fa210da /* fmla v26.4s, v6.4s, v2.s[1] */; \
	WORD $0x4fa210fb /* fmla v27.4s, v7.4s, v2.s[1] */; \
	WORD $0x4fa3109c /* fmla v28.4s, v4.4s, v3.s[1] */; \
	WORD $0x4fa310bd /* fmla v29.4s, v5.4s, v3.s[1] */; \
	WORD $0x4fa310de /* fmla v30.4s, v6.4s, v3.s[1] */; \
	WORD $0x4fa310ff                                    // fmla v31.4s, v7.4s, v3.s[1]

// MULTIPLY2 adds the products of the rows' component 2 and the panel's.
#define MULTIPLY2 \
	WORD $0x4f801890 /* fmla v16.4s, v4.4s, v0.s[2] */; \
	WORD $0x4f8018b1 /* fmla v17.4s, v5.4s, v0.s[2] */; \
	WORD $0x4f8018d2 /* fmla v18.4s, v6.4s, v0.s[2] */; \
	WORD $0x4f8018f3 /* fmla v19.4s, v7.4s, v0.s[2] */; \
	WORD $0x4f811894 /* fmla v20.4s, v4.4s, v1.s[2] */; \
	WORD $0x4f8118b5 /* fmla v21.4s, v5.4s, v1.s[2] */; \
	WORD $0x4f8118d6 /* fmla v22.4s, v6.4s, v1.s[2] */; \
	WORD $0x4f8118f7 /* fmla v23.4s, v7.4s, v1.s[2] */; \
	WORD $0x4f821898 /* fmla v24.4s, v4.4s, v2.s[2] */; \
	WORD $0x4f8218b9 /* fmla v25.4s, v5.4s, v2.s[2] */; \
	WORD $0x4f8218da /* fmla v26.4s, v6.4s, v2.s[2] */; \
	WORD $0x4f8218fb /* fmla v27.4s, v7.4s, v2.s[2] */; \
	WORD $0x4f83189c /* fmla v28.4s, v4.4s, v3.s[2] */; \
	WORD $0x4f8318bd /* fmla v29.4s, v5.4s, v3.s[2] */; \
	WORD $0x4f8318de /* fmla v30.4s, v6.4s, v3.s[2] */; \
	WORD $0x4f8318ff                                    // fmla v31.4s, v7.4s, v3.s[2]

// MULTIPLY3 adds the products of the rows' component 3 and the panel's.
#define MULTIPLY3 \
	WORD $0x4fa01890 /* fmla v16.4s, v4.4s, v0.s[3] */; \
	WORD $0x4fa018b1 /* fmla v17.4s, v5.4s, v0.s[3] */; \
	WORD $0x4fa018d2 /* fmla v18.4s, v6.4s, v0.s[3] */; \
	WORD $0x4fa018f3 /* fmla v19.4s, v7.4s, v0.s[3] */; \
	WORD $0x4fa11894 /* fmla v20.4s, v4.4s, v1.s[3] */; \
	WORD $0x4fa118b5 /* fmla v21.4s, v5.4s, v1.s[3] */; \
	WORD $0x4fa118d6 /* fmla v22.4s, v6.4s, v1.s[3] */; \
	WORD $0x4fa118f7 /* fmla v23.4s, v7.4s, v1.s[3] */; \
	WORD $0x4fa21898 /* fmla v24.4s, v4.4s, v2.s[3] */; \
	WORD $0x4fa218b9 /* fmla v25.4s, v5.4s, v2.s[3] */; \
	WORD $0x4fa218da /* fmla v26.4s, v6.4s, v2.s[3] */; \
	WORD $0x4fa218fb /* fmla v27.4s, v7.4s, v2.s[3] */; \
	WORD $0x4fa3189c /* fmla v28.4s, v4.4s, v3.s[3] */; \
	WORD $0x4fa318bd /* fmla v29.4s, v5.4s, v3.s[3] */; \
	WORD $0x4fa318de /* fmla v30.4s, v6.4s, v3.s[3] */; \
	WORD $0x4fa318ff                                    // fmla v31.4s, v7.4s, v3.s[3]

// ZERO4 clears the accumulators of one row.
#define ZERO4(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define ZERO16 \
	ZERO4(V16, V17, V18, V19); \
	ZERO4(V20, V21, V22, V23); \
	ZERO4(V24, V25, V26, V27); \
	ZERO4(V28, V29, V30, V31)

// ROWS points R1 to R4 at four rows from R11 on, R5 bytes apart.
#define ROWS \
	MOVD R11, R1;    \
	ADD  R5, R1, R2; \
	ADD  R5, R2, R3; \
	ADD  R5, R3, R4

// ROW multiplies the component in every lane of v with the panel's.
#define ROW(v, a, b, c, d) \
	VFMLA v.S4, V4.S4, a.S4; \
	VFMLA v.S4, V5.S4, b.S4; \
	VFMLA v.S4, V6.S4, c.S4; \
	VFMLA v.S4, V7.S4, d.S4

// STORE4 writes the products of four rows.
#define STORE4 \
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8); \
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], 64(R8); \
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R8); \
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], 64(R8)

// func maxsimDotsF32NEON(panel *float32, doc *float32, stride, d, n int, out *float32)
TEXT ·maxsimDotsF32NEON(SB), NOSPLIT, $0-48
	MOVD panel+0(FP), R0
	MOVD doc+8(FP), R11
	MOVD stride+16(FP), R5
	MOVD d+24(FP), R6
	MOVD n+32(FP), R7
	MOVD out+40(FP), R8
	VEOR V15.B16, V15.B16, V15.B16

rows4:
	CMP  $4, R7
	BLT  rows1
	ZERO16
	MOVD R0, R9
	ROWS
	LSR  $2, R6, R10
	CBZ  R10, rows4left

rows4pass:
	PRFM   1024(R1), PLDL1KEEP
	PRFM   1024(R2), PLDL1KEEP
	PRFM   1024(R3), PLDL1KEEP
	PRFM   1024(R4), PLDL1KEEP
	VLD1.P 16(R1), [V0.S4]
	VLD1.P 16(R2), [V1.S4]
	VLD1.P 16(R3), [V2.S4]
	VLD1.P 16(R4), [V3.S4]
	PANEL
	MULTIPLY0
	PANEL
	MULTIPLY1
	PANEL
	MULTIPLY2
	PANEL
	MULTIPLY3
	SUB    $1, R10
	CBNZ   R10, rows4pass

rows4left:
	ANDS $3, R6, R10
	BEQ  rows4end

rows4one:
	PANEL
	VLD1R.P 4(R1), [V0.S4]
	VLD1R.P 4(R2), [V1.S4]
	VLD1R.P 4(R3), [V2.S4]
	VLD1R.P 4(R4), [V3.S4]
	ROW(V0, V16, V17, V18, V19)
	ROW(V1, V20, V21, V22, V23)
	ROW(V2, V24, V25, V26, V27)
	ROW(V3, V28, V29, V30, V31)
	SUB     $1, R10
	CBNZ    R10, rows4one

rows4end:
	STORE4
	ADD R5<<2, R11
	SUB $4, R7
	B   rows4

rows1:
	CBZ  R7, end
	ZERO4(V16, V17, V18, V19)
	MOVD R0, R9
	MOVD R11, R1
	MOVD R6, R10
	CBZ  R10, rows1end

rows1one:
	PANEL
	VLD1R.P 4(R1), [V0.S4]
	ROW(V0, V16, V17, V18, V19)
	SUB     $1, R10
	CBNZ    R10, rows1one

rows1end:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8)
	ADD    R5, R11
	SUB    $1, R7
	B      rows1

end:
	RET

// func maxsimDotsBF16NEON(panel *float32, doc *uint16, stride, d, n int, out *float32)
TEXT ·maxsimDotsBF16NEON(SB), NOSPLIT, $0-48
	MOVD panel+0(FP), R0
	MOVD doc+8(FP), R11
	MOVD stride+16(FP), R5
	MOVD d+24(FP), R6
	MOVD n+32(FP), R7
	MOVD out+40(FP), R8
	VEOR V15.B16, V15.B16, V15.B16

rows4:
	CMP  $4, R7
	BLT  rows1
	ZERO16
	MOVD R0, R9
	ROWS
	LSR  $2, R6, R10
	CBZ  R10, rows4left

rows4pass:
	PRFM   1024(R1), PLDL1KEEP
	PRFM   1024(R2), PLDL1KEEP
	PRFM   1024(R3), PLDL1KEEP
	PRFM   1024(R4), PLDL1KEEP
	VLD1.P 8(R1), [V0.H4]
	VZIP1  V0.H8, V15.H8, V0.H8
	VLD1.P 8(R2), [V1.H4]
	VZIP1  V1.H8, V15.H8, V1.H8
	VLD1.P 8(R3), [V2.H4]
	VZIP1  V2.H8, V15.H8, V2.H8
	VLD1.P 8(R4), [V3.H4]
	VZIP1  V3.H8, V15.H8, V3.H8
	PANEL
	MULTIPLY0
	PANEL
	MULTIPLY1
	PANEL
	MULTIPLY2
	PANEL
	MULTIPLY3
	SUB    $1, R10
	CBNZ   R10, rows4pass

rows4left:
	ANDS $3, R6, R10
	BEQ  rows4end

rows4one:
	PANEL
	VLD1R.P 2(R1), [V0.H8]
	VZIP1   V0.H8, V15.H8, V0.H8
	VLD1R.P 2(R2), [V1.H8]
	VZIP1   V1.H8, V15.H8, V1.H8
	VLD1R.P 2(R3), [V2.H8]
	VZIP1   V2.H8, V15.H8, V2.H8
	VLD1R.P 2(R4), [V3.H8]
	VZIP1   V3.H8, V15.H8, V3.H8
	ROW(V0, V16, V17, V18, V19)
	ROW(V1, V20, V21, V22, V23)
	ROW(V2, V24, V25, V26, V27)
	ROW(V3, V28, V29, V30, V31)
	SUB     $1, R10
	CBNZ    R10, rows4one

rows4end:
	STORE4
	ADD R5<<2, R11
	SUB $4, R7
	B   rows4

rows1:
	CBZ  R7, end
	ZERO4(V16, V17, V18, V19)
	MOVD R0, R9
	MOVD R11, R1
	MOVD R6, R10
	CBZ  R10, rows1end

rows1one:
	PANEL
	VLD1R.P 2(R1), [V0.H8]
	VZIP1   V0.H8, V15.H8, V0.H8
	ROW(V0, V16, V17, V18, V19)
	SUB     $1, R10
	CBNZ    R10, rows1one

rows1end:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8)
	ADD    R5, R11
	SUB    $1, R7
	B      rows1

end:
	RET

// func maxsimMaxNEON(dots *float32, n, lanes int, best *float32)
TEXT ·maxsimMaxNEON(SB), NOSPLIT, $0-32
	MOVD dots+0(FP), R0
	MOVD n+8(FP), R1
	MOVD best+24(FP), R2
	VLD1 (R2), [V0.S4, V1.S4, V2.S4, V3.S4]

row:
	// The maximum is NaN if either operand is, so a NaN stays.
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	WORD   $0x4e24f400                          // fmax v0.4s, v0.4s, v4.4s
	WORD   $0x4e25f421                          // fmax v1.4s, v1.4s, v5.4s
	WORD   $0x4e26f442                          // fmax v2.4s, v2.4s, v6.4s
	WORD   $0x4e27f463                          // fmax v3.4s, v3.4s, v7.4s
	SUB    $1, R1
	CBNZ   R1, row
	VST1   [V0.S4, V1.S4, V2.S4, V3.S4], (R2)
	RET

// func maxsimWinnerNEON(dots *float32, n, lanes int, best *float32, winner *int32, first int)
TEXT ·maxsimWinnerNEON(SB), NOSPLIT, $0-48
	MOVD dots+0(FP), R0
	MOVD n+8(FP), R1
	MOVD best+24(FP), R2
	MOVD winner+32(FP), R3
	MOVD first+40(FP), R4
	MOVD $1, R5
	VDUP R4, V16.S4
	VDUP R5, V17.S4
	VEOR V14.B16, V14.B16, V14.B16
	VLD1 (R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R3), [V4.S4, V5.S4, V6.S4, V7.S4]

row:
	// A row replaces the best unless best ≥ row or best is already NaN.
	VLD1.P 64(R0), [V8.S4, V9.S4, V10.S4, V11.S4]
	WORD   $0x6e28e40c                            // fcmge v12.4s, v0.4s, v8.4s
	WORD   $0x4e20e40d                            // fcmeq v13.4s, v0.4s, v0.4s
	VBIT   V12.B16, V14.B16, V13.B16
	VBIT   V13.B16, V8.B16, V0.B16
	VBIT   V13.B16, V16.B16, V4.B16
	WORD   $0x6e29e42c                            // fcmge v12.4s, v1.4s, v9.4s
	WORD   $0x4e21e42d                            // fcmeq v13.4s, v1.4s, v1.4s
	VBIT   V12.B16, V14.B16, V13.B16
	VBIT   V13.B16, V9.B16, V1.B16
	VBIT   V13.B16, V16.B16, V5.B16
	WORD   $0x6e2ae44c                            // fcmge v12.4s, v2.4s, v10.4s
	WORD   $0x4e22e44d                            // fcmeq v13.4s, v2.4s, v2.4s
	VBIT   V12.B16, V14.B16, V13.B16
	VBIT   V13.B16, V10.B16, V2.B16
	VBIT   V13.B16, V16.B16, V6.B16
	WORD   $0x6e2be46c                            // fcmge v12.4s, v3.4s, v11.4s
	WORD   $0x4e23e46d                            // fcmeq v13.4s, v3.4s, v3.4s
	VBIT   V12.B16, V14.B16, V13.B16
	VBIT   V13.B16, V11.B16, V3.B16
	VBIT   V13.B16, V16.B16, V7.B16
	VADD   V17.S4, V16.S4, V16.S4
	SUB    $1, R1
	CBNZ   R1, row
	VST1   [V0.S4, V1.S4, V2.S4, V3.S4], (R2)
	VST1   [V4.S4, V5.S4, V6.S4, V7.S4], (R3)
	RET

// func maxsimScaleNEON(dots *float32, n, lanes int, query, doc *float32)
TEXT ·maxsimScaleNEON(SB), NOSPLIT, $0-40
	MOVD dots+0(FP), R0
	MOVD n+8(FP), R1
	MOVD query+24(FP), R2
	MOVD doc+32(FP), R3
	VLD1 (R2), [V0.S4, V1.S4, V2.S4, V3.S4]

row:
	VLD1R.P 4(R3), [V8.S4]
	VLD1    (R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	WORD    $0x6e20dc84                          // fmul v4.4s, v4.4s, v0.4s
	WORD    $0x6e28dc84                          // fmul v4.4s, v4.4s, v8.4s
	WORD    $0x6e21dca5                          // fmul v5.4s, v5.4s, v1.4s
	WORD    $0x6e28dca5                          // fmul v5.4s, v5.4s, v8.4s
	WORD    $0x6e22dcc6                          // fmul v6.4s, v6.4s, v2.4s
	WORD    $0x6e28dcc6                          // fmul v6.4s, v6.4s, v8.4s
	WORD    $0x6e23dce7                          // fmul v7.4s, v7.4s, v3.4s
	WORD    $0x6e28dce7                          // fmul v7.4s, v7.4s, v8.4s
	VST1.P  [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB     $1, R1
	CBNZ    R1, row
	RET

// TRANSPOSE turns the rows in a, b, c, d, of four components, into o, p, q, r: component by
// component. It uses V24 to V27.
#define TRANSPOSE(a, b, c, d, o, p, q, r) \
	VZIP1 b.S4, a.S4, V24.S4;   \
	VZIP2 b.S4, a.S4, V25.S4;   \
	VZIP1 d.S4, c.S4, V26.S4;   \
	VZIP2 d.S4, c.S4, V27.S4;   \
	VZIP1 V26.D2, V24.D2, o.D2; \
	VZIP2 V26.D2, V24.D2, p.D2; \
	VZIP1 V27.D2, V25.D2, q.D2; \
	VZIP2 V27.D2, V25.D2, r.D2

// NEXT points r at the row after p, or at the same one if that is the last.
#define NEXT(i, p, r) \
	ADD  R12, p, r;  \
	CMP  $i, R13;    \
	CSEL LE, p, r, r

// func maxsimPackF32NEON(src *float32, stride, rows, d int, panel *float32, lanes int)
TEXT ·maxsimPackF32NEON(SB), NOSPLIT, $0-48
	MOVD src+0(FP), R1
	MOVD stride+8(FP), R12
	MOVD rows+16(FP), R13
	MOVD d+24(FP), R9
	MOVD panel+32(FP), R10
	MOVD lanes+40(FP), R11
	LSL  $2, R11
	VEOR V15.B16, V15.B16, V15.B16
	NEXT(1, R1, R2)
	NEXT(2, R2, R3)
	NEXT(3, R3, R4)
	NEXT(4, R4, R5)
	NEXT(5, R5, R6)
	NEXT(6, R6, R7)
	NEXT(7, R7, R8)
	LSR  $2, R9
	CBZ  R9, end

pass:
	VLD1.P 16(R1), [V0.S4]
	VLD1.P 16(R2), [V1.S4]
	VLD1.P 16(R3), [V2.S4]
	VLD1.P 16(R4), [V3.S4]
	VLD1.P 16(R5), [V4.S4]
	VLD1.P 16(R6), [V5.S4]
	VLD1.P 16(R7), [V6.S4]
	VLD1.P 16(R8), [V7.S4]
	TRANSPOSE(V0, V1, V2, V3, V16, V18, V20, V22)
	TRANSPOSE(V4, V5, V6, V7, V17, V19, V21, V23)
	VST1   [V16.S4, V17.S4], (R10)
	ADD    R11, R10
	VST1   [V18.S4, V19.S4], (R10)
	ADD    R11, R10
	VST1   [V20.S4, V21.S4], (R10)
	ADD    R11, R10
	VST1   [V22.S4, V23.S4], (R10)
	ADD    R11, R10
	SUB    $1, R9
	CBNZ   R9, pass

end:
	RET

// func maxsimPackBF16NEON(src *uint16, stride, rows, d int, panel *float32, lanes int)
TEXT ·maxsimPackBF16NEON(SB), NOSPLIT, $0-48
	MOVD src+0(FP), R1
	MOVD stride+8(FP), R12
	MOVD rows+16(FP), R13
	MOVD d+24(FP), R9
	MOVD panel+32(FP), R10
	MOVD lanes+40(FP), R11
	LSL  $2, R11
	VEOR V15.B16, V15.B16, V15.B16
	NEXT(1, R1, R2)
	NEXT(2, R2, R3)
	NEXT(3, R3, R4)
	NEXT(4, R4, R5)
	NEXT(5, R5, R6)
	NEXT(6, R6, R7)
	NEXT(7, R7, R8)
	LSR  $2, R9
	CBZ  R9, end

pass:
	VLD1.P 8(R1), [V0.H4]
	VZIP1  V0.H8, V15.H8, V0.H8
	VLD1.P 8(R2), [V1.H4]
	VZIP1  V1.H8, V15.H8, V1.H8
	VLD1.P 8(R3), [V2.H4]
	VZIP1  V2.H8, V15.H8, V2.H8
	VLD1.P 8(R4), [V3.H4]
	VZIP1  V3.H8, V15.H8, V3.H8
	VLD1.P 8(R5), [V4.H4]
	VZIP1  V4.H8, V15.H8, V4.H8
	VLD1.P 8(R6), [V5.H4]
	VZIP1  V5.H8, V15.H8, V5.H8
	VLD1.P 8(R7), [V6.H4]
	VZIP1  V6.H8, V15.H8, V6.H8
	VLD1.P 8(R8), [V7.H4]
	VZIP1  V7.H8, V15.H8, V7.H8
	TRANSPOSE(V0, V1, V2, V3, V16, V18, V20, V22)
	TRANSPOSE(V4, V5, V6, V7, V17, V19, V21, V23)
	VST1   [V16.S4, V17.S4], (R10)
	ADD    R11, R10
	VST1   [V18.S4, V19.S4], (R10)
	ADD    R11, R10
	VST1   [V20.S4, V21.S4], (R10)
	ADD    R11, R10
	VST1   [V22.S4, V23.S4], (R10)
	ADD    R11, R10
	SUB    $1, R9
	CBNZ   R9, pass

end:
	RET

// func maxsimWidenBF16NEON(dst *float32, src *uint16, n int)
TEXT ·maxsimWidenBF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	LSR  $3, R2
	CBZ  R2, end
	VEOR V15.B16, V15.B16, V15.B16

pass:
	VLD1.P 16(R1), [V0.H8]
	VZIP1  V0.H8, V15.H8, V1.H8
	VZIP2  V0.H8, V15.H8, V2.H8
	VST1.P [V1.S4, V2.S4], 32(R0)
	SUB    $1, R2
	CBNZ   R2, pass

end:
	RET

// func maxsimNormalizeNEON(x *float32, n int, floor float32)
TEXT ·maxsimNormalizeNEON(SB), NOSPLIT, $0-20
	MOVD  x+0(FP), R0
	MOVD  n+8(FP), R1
	FMOVS floor+16(FP), F8
	MOVD  R0, R2
	LSR   $3, R1
	CBZ   R1, end
	MOVD  R1, R3
	VEOR  V0.B16, V0.B16, V0.B16
	VEOR  V1.B16, V1.B16, V1.B16

sum:
	VLD1.P 32(R2), [V2.S4, V3.S4]
	VFMLA  V2.S4, V2.S4, V0.S4
	VFMLA  V3.S4, V3.S4, V1.S4
	SUB    $1, R3
	CBNZ   R3, sum

	// Lanes 4 to 7 onto 0 to 3, then 2 onto 0, then 1 onto 0.
	WORD   $0x4e21d400                // fadd v0.4s, v0.4s, v1.4s
	VEXT   $8, V0.B16, V0.B16, V1.B16
	WORD   $0x4e21d400                // fadd v0.4s, v0.4s, v1.4s
	VDUP   V0.S[1], V1.S4
	WORD   $0x4e21d400                // fadd v0.4s, v0.4s, v1.4s
	FMAXS  F8, F0, F0
	FSQRTS F0, F0
	VDUP   V0.S[0], V1.S4

divide:
	VLD1   (R0), [V2.S4, V3.S4]
	WORD   $0x6e21fc42            // fdiv v2.4s, v2.4s, v1.4s
	WORD   $0x6e21fc63            // fdiv v3.4s, v3.4s, v1.4s
	VST1.P [V2.S4, V3.S4], 32(R0)
	SUB    $1, R1
	CBNZ   R1, divide

end:
	RET

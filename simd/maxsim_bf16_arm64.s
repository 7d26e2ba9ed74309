//go:build !noasm

#include "textflag.h"

// As maxsim_arm64.s on pairs of bf16: a panel has 16 query tokens, four vectors for each
// pair of components. V16 to V31 accumulate four document rows by those four vectors; V0 to
// V3 hold four pairs of the rows and V4 to V7 one pair of the panel.

#define PANEL \
	VLD1.P 64(R9), [V4.S4, V5.S4, V6.S4, V7.S4]

	// MULTIPLY0 adds the products of the rows' pair 0 and the panel's.
#define MULTIPLY0 \
	WORD $0x4f40f090 /* bfdot v16.4s, v4.8h, v0.2h[0] */; \
	WORD $0x4f40f0b1 /* bfdot v17.4s, v5.8h, v0.2h[0] */; \
	WORD $0x4f40f0d2 /* bfdot v18.4s, v6.8h, v0.2h[0] */; \
	WORD $0x4f40f0f3 /* bfdot v19.4s, v7.8h, v0.2h[0] */; \
	WORD $0x4f41f094 /* bfdot v20.4s, v4.8h, v1.2h[0] */; \
	WORD $0x4f41f0b5 /* bfdot v21.4s, v5.8h, v1.2h[0] */; \
	WORD $0x4f41f0d6 /* bfdot v22.4s, v6.8h, v1.2h[0] */; \
	WORD $0x4f41f0f7 /* bfdot v23.4s, v7.8h, v1.2h[0] */; \
	WORD $0x4f42f098 /* bfdot v24.4s, v4.8h, v2.2h[0] */; \
	WORD $0x4f42f0b9 /* bfdot v25.4s, v5.8h, v2.2h[0] */; \
	WORD $0x4f42f0da /* bfdot v26.4s, v6.8h, v2.2h[0] */; \
	WORD $0x4f42f0fb /* bfdot v27.4s, v7.8h, v2.2h[0] */; \
	WORD $0x4f43f09c /* bfdot v28.4s, v4.8h, v3.2h[0] */; \
	WORD $0x4f43f0bd /* bfdot v29.4s, v5.8h, v3.2h[0] */; \
	WORD $0x4f43f0de /* bfdot v30.4s, v6.8h, v3.2h[0] */; \
	WORD $0x4f43f0ff                                      // bfdot v31.4s, v7.8h, v3.2h[0]

// MULTIPLY1 adds the products of the rows' pair 1 and the panel's.
#define MULTIPLY1 \
	WORD $0x4f60f090 /* bfdot v16.4s, v4.8h, v0.2h[1] */; \
	WORD $0x4f60f0b1 /* bfdot v17.4s, v5.8h, v0.2h[1] */; \
	WORD $0x4f60f0d2 /* bfdot v18.4s, v6.8h, v0.2h[1] */; \
	WORD $0x4f60f0f3 /* bfdot v19.4s, v7.8h, v0.2h[1] */; \
	WORD $0x4f61f094 /* bfdot v20.4s, v4.8h, v1.2h[1] */; \
	WORD $0x4f61f0b5 /* bfdot v21.4s, v5.8h, v1.2h[1] */; \
	WORD $0x4f61f0d6 /* bfdot v22.4s, v6.8h, v1.2h[1] */; \
	WORD $0x4f61f0f7 /* bfdot v23.4s, v7.8h, v1.2h[1] */; \
	WORD $0x4f62f098 /* bfdot v24.4s, v4.8h, v2.2h[1] */; \
	WORD $0x4f62f0b9 /* bfdot v25.4s, v5.8h, v2.2h[1] */; \
	WORD $0x4f62f0da /* bfdot v26.4s, v6.8h, v2.2h[1] */; \
	WORD $0x4f62f0fb /* bfdot v27.4s, v7.8h, v2.2h[1] */; \
	WORD $0x4f63f09c /* bfdot v28.4s, v4.8h, v3.2h[1] */; \
	WORD $0x4f63f0bd /* bfdot v29.4s, v5.8h, v3.2h[1] */; \
	WORD $0x4f63f0de /* bfdot v30.4s, v6.8h, v3.2h[1] */; \
	WORD $0x4f63f0ff                                      // bfdot v31.4s, v7.8h, v3.2h[1]

// MULTIPLY2 adds the products of the rows' pair 2 and the panel's.
#define MULTIPLY2 \
	WORD $0x4f40f890 /* bfdot v16.4s, v4.8h, v0.2h[2] */; \
	WORD $0x4f40f8b1 /* bfdot v17.4s, v5.8h, v0.2h[2] */; \
	WORD $0x4f40f8d2 /* bfdot v18.4s, v6.8h, v0.2h[2] */; \
	WORD $0x4f40f8f3 /* bfdot v19.4s, v7.8h, v0.2h[2] */; \
	WORD $0x4f41f894 /* bfdot v20.4s, v4.8h, v1.2h[2] */; \
	WORD $0x4f41f8b5 /* bfdot v21.4s, v5.8h, v1.2h[2] */; \
	WORD $0x4f41f8d6 /* bfdot v22.4s, v6.8h, v1.2h[2] */; \
	WORD $0x4f41f8f7 /* bfdot v23.4s, v7.8h, v1.2h[2] */; \
	WORD $0x4f42f898 /* bfdot v24.4s, v4.8h, v2.2h[2] */; \
	WORD $0x4f42f8b9 /* bfdot v25.4s, v5.8h, v2.2h[2] */; \
	WORD $0x4f42f8da /* bfdot v26.4s, v6.8h, v2.2h[2] */; \
	WORD $0x4f42f8fb /* bfdot v27.4s, v7.8h, v2.2h[2] */; \
	WORD $0x4f43f89c /* bfdot v28.4s, v4.8h, v3.2h[2] */; \
	WORD $0x4f43f8bd /* bfdot v29.4s, v5.8h, v3.2h[2] */; \
	WORD $0x4f43f8de /* bfdot v30.4s, v6.8h, v3.2h[2] */; \
	WORD $0x4f43f8ff                                      // bfdot v31.4s, v7.8h, v3.2h[2]

// MULTIPLY3 adds the products of the rows' pair 3 and the panel's.
#define MULTIPLY3 \
	WORD $0x4f60f890 /* bfdot v16.4s, v4.8h, v0.2h[3] */; \
	WORD $0x4f60f8b1 /* bfdot v17.4s, v5.8h, v0.2h[3] */; \
	WORD $0x4f60f8d2 /* bfdot v18.4s, v6.8h, v0.2h[3] */; \
	WORD $0x4f60f8f3 /* bfdot v19.4s, v7.8h, v0.2h[3] */; \
	WORD $0x4f61f894 /* bfdot v20.4s, v4.8h, v1.2h[3] */; \
	WORD $0x4f61f8b5 /* bfdot v21.4s, v5.8h, v1.2h[3] */; \
	WORD $0x4f61f8d6 /* bfdot v22.4s, v6.8h, v1.2h[3] */; \
	WORD $0x4f61f8f7 /* bfdot v23.4s, v7.8h, v1.2h[3] */; \
	WORD $0x4f62f898 /* bfdot v24.4s, v4.8h, v2.2h[3] */; \
	WORD $0x4f62f8b9 /* bfdot v25.4s, v5.8h, v2.2h[3] */; \
	WORD $0x4f62f8da /* bfdot v26.4s, v6.8h, v2.2h[3] */; \
	WORD $0x4f62f8fb /* bfdot v27.4s, v7.8h, v2.2h[3] */; \
	WORD $0x4f63f89c /* bfdot v28.4s, v4.8h, v3.2h[3] */; \
	WORD $0x4f63f8bd /* bfdot v29.4s, v5.8h, v3.2h[3] */; \
	WORD $0x4f63f8de /* bfdot v30.4s, v6.8h, v3.2h[3] */; \
	WORD $0x4f63f8ff                                      // bfdot v31.4s, v7.8h, v3.2h[3]

// ROW0 adds the products of the pair in every lane of V0 and the panel's.
#define ROW0 \
	WORD $0x6e40fc90 /* bfdot v16.4s, v4.8h, v0.8h */; \
	WORD $0x6e40fcb1 /* bfdot v17.4s, v5.8h, v0.8h */; \
	WORD $0x6e40fcd2 /* bfdot v18.4s, v6.8h, v0.8h */; \
	WORD $0x6e40fcf3                                   // bfdot v19.4s, v7.8h, v0.8h

// ROW1 adds the products of the pair in every lane of V1 and the panel's.
#define ROW1 \
	WORD $0x6e41fc94 /* bfdot v20.4s, v4.8h, v1.8h */; \
	WORD $0x6e41fcb5 /* bfdot v21.4s, v5.8h, v1.8h */; \
	WORD $0x6e41fcd6 /* bfdot v22.4s, v6.8h, v1.8h */; \
	WORD $0x6e41fcf7                                   // bfdot v23.4s, v7.8h, v1.8h

// ROW2 adds the products of the pair in every lane of V2 and the panel's.
#define ROW2 \
	WORD $0x6e42fc98 /* bfdot v24.4s, v4.8h, v2.8h */; \
	WORD $0x6e42fcb9 /* bfdot v25.4s, v5.8h, v2.8h */; \
	WORD $0x6e42fcda /* bfdot v26.4s, v6.8h, v2.8h */; \
	WORD $0x6e42fcfb                                   // bfdot v27.4s, v7.8h, v2.8h

// ROW3 adds the products of the pair in every lane of V3 and the panel's.
#define ROW3 \
	WORD $0x6e43fc9c /* bfdot v28.4s, v4.8h, v3.8h */; \
	WORD $0x6e43fcbd /* bfdot v29.4s, v5.8h, v3.8h */; \
	WORD $0x6e43fcde /* bfdot v30.4s, v6.8h, v3.8h */; \
	WORD $0x6e43fcff                                   // bfdot v31.4s, v7.8h, v3.8h

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

// STORE4 writes the products of four rows.
#define STORE4 \
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8); \
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], 64(R8); \
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R8); \
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], 64(R8)

// func maxsimDotsNEONBF16(panel *float32, doc *uint16, stride, d, n int, out *float32)
TEXT ·maxsimDotsNEONBF16(SB), NOSPLIT, $0-48
	MOVD panel+0(FP), R0
	MOVD doc+8(FP), R11
	MOVD stride+16(FP), R5
	MOVD d+24(FP), R6
	MOVD n+32(FP), R7
	MOVD out+40(FP), R8

rows4:
	CMP  $4, R7
	BLT  rows1
	ZERO16
	MOVD R0, R9
	ROWS
	LSR  $3, R6, R10
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
	UBFX $1, R6, $2, R10
	CBZ  R10, rows4odd

rows4one:
	PANEL
	VLD1R.P 4(R1), [V0.S4]
	VLD1R.P 4(R2), [V1.S4]
	VLD1R.P 4(R3), [V2.S4]
	VLD1R.P 4(R4), [V3.S4]
	ROW0
	ROW1
	ROW2
	ROW3
	SUB     $1, R10
	CBNZ    R10, rows4one

rows4odd:
	// The last component of an odd width is paired with zero, not with the next row.
	TBZ   $0, R6, rows4end
	PANEL
	MOVHU (R1), R12
	VDUP  R12, V0.S4
	MOVHU (R2), R12
	VDUP  R12, V1.S4
	MOVHU (R3), R12
	VDUP  R12, V2.S4
	MOVHU (R4), R12
	VDUP  R12, V3.S4
	ROW0
	ROW1
	ROW2
	ROW3

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
	LSR  $1, R6, R10
	CBZ  R10, rows1odd

rows1one:
	PANEL
	VLD1R.P 4(R1), [V0.S4]
	ROW0
	SUB     $1, R10
	CBNZ    R10, rows1one

rows1odd:
	TBZ   $0, R6, rows1end
	PANEL
	MOVHU (R1), R12
	VDUP  R12, V0.S4
	ROW0

rows1end:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8)
	ADD    R5, R11
	SUB    $1, R7
	B      rows1

end:
	RET

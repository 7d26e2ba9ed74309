//go:build !noasm

#include "textflag.h"

// V16 to V31 are the sums of four rows by 16 tokens, V0 to V3 a register of each row, V4 to V7
// the panel.

// func int8DotsNEON(panel *int32, rows *byte, pitch, words, n int, out *int32)
TEXT ·int8DotsNEON(SB), NOSPLIT, $0-48
	MOVD panel+0(FP), R0
	MOVD rows+8(FP), R11
	MOVD pitch+16(FP), R5
	MOVD words+24(FP), R6
	MOVD n+32(FP), R7
	MOVD out+40(FP), R8

rows4:
	CMP  $4, R7
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
	MOVD R11, R1
	ADD  R5, R1, R2
	ADD  R5, R2, R3
	ADD  R5, R3, R4
	LSR  $3, R6, R10

rows4pass:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 16(R2), [V1.B16]
	VLD1.P 16(R3), [V2.B16]
	VLD1.P 16(R4), [V3.B16]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f402090                              // smlal v16.4s, v4.4h, v0.h[0]
	WORD   $0x4f402091                              // smlal2 v17.4s, v4.8h, v0.h[0]
	WORD   $0x0f4020b2                              // smlal v18.4s, v5.4h, v0.h[0]
	WORD   $0x4f4020b3                              // smlal2 v19.4s, v5.8h, v0.h[0]
	WORD   $0x0f412094                              // smlal v20.4s, v4.4h, v1.h[0]
	WORD   $0x4f412095                              // smlal2 v21.4s, v4.8h, v1.h[0]
	WORD   $0x0f4120b6                              // smlal v22.4s, v5.4h, v1.h[0]
	WORD   $0x4f4120b7                              // smlal2 v23.4s, v5.8h, v1.h[0]
	WORD   $0x0f422098                              // smlal v24.4s, v4.4h, v2.h[0]
	WORD   $0x4f422099                              // smlal2 v25.4s, v4.8h, v2.h[0]
	WORD   $0x0f4220ba                              // smlal v26.4s, v5.4h, v2.h[0]
	WORD   $0x4f4220bb                              // smlal2 v27.4s, v5.8h, v2.h[0]
	WORD   $0x0f43209c                              // smlal v28.4s, v4.4h, v3.h[0]
	WORD   $0x4f43209d                              // smlal2 v29.4s, v4.8h, v3.h[0]
	WORD   $0x0f4320be                              // smlal v30.4s, v5.4h, v3.h[0]
	WORD   $0x4f4320bf                              // smlal2 v31.4s, v5.8h, v3.h[0]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f502090                              // smlal v16.4s, v4.4h, v0.h[1]
	WORD   $0x4f502091                              // smlal2 v17.4s, v4.8h, v0.h[1]
	WORD   $0x0f5020b2                              // smlal v18.4s, v5.4h, v0.h[1]
	WORD   $0x4f5020b3                              // smlal2 v19.4s, v5.8h, v0.h[1]
	WORD   $0x0f512094                              // smlal v20.4s, v4.4h, v1.h[1]
	WORD   $0x4f512095                              // smlal2 v21.4s, v4.8h, v1.h[1]
	WORD   $0x0f5120b6                              // smlal v22.4s, v5.4h, v1.h[1]
	WORD   $0x4f5120b7                              // smlal2 v23.4s, v5.8h, v1.h[1]
	WORD   $0x0f522098                              // smlal v24.4s, v4.4h, v2.h[1]
	WORD   $0x4f522099                              // smlal2 v25.4s, v4.8h, v2.h[1]
	WORD   $0x0f5220ba                              // smlal v26.4s, v5.4h, v2.h[1]
	WORD   $0x4f5220bb                              // smlal2 v27.4s, v5.8h, v2.h[1]
	WORD   $0x0f53209c                              // smlal v28.4s, v4.4h, v3.h[1]
	WORD   $0x4f53209d                              // smlal2 v29.4s, v4.8h, v3.h[1]
	WORD   $0x0f5320be                              // smlal v30.4s, v5.4h, v3.h[1]
	WORD   $0x4f5320bf                              // smlal2 v31.4s, v5.8h, v3.h[1]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f602090                              // smlal v16.4s, v4.4h, v0.h[2]
	WORD   $0x4f602091                              // smlal2 v17.4s, v4.8h, v0.h[2]
	WORD   $0x0f6020b2                              // smlal v18.4s, v5.4h, v0.h[2]
	WORD   $0x4f6020b3                              // smlal2 v19.4s, v5.8h, v0.h[2]
	WORD   $0x0f612094                              // smlal v20.4s, v4.4h, v1.h[2]
	WORD   $0x4f612095                              // smlal2 v21.4s, v4.8h, v1.h[2]
	WORD   $0x0f6120b6                              // smlal v22.4s, v5.4h, v1.h[2]
	WORD   $0x4f6120b7                              // smlal2 v23.4s, v5.8h, v1.h[2]
	WORD   $0x0f622098                              // smlal v24.4s, v4.4h, v2.h[2]
	WORD   $0x4f622099                              // smlal2 v25.4s, v4.8h, v2.h[2]
	WORD   $0x0f6220ba                              // smlal v26.4s, v5.4h, v2.h[2]
	WORD   $0x4f6220bb                              // smlal2 v27.4s, v5.8h, v2.h[2]
	WORD   $0x0f63209c                              // smlal v28.4s, v4.4h, v3.h[2]
	WORD   $0x4f63209d                              // smlal2 v29.4s, v4.8h, v3.h[2]
	WORD   $0x0f6320be                              // smlal v30.4s, v5.4h, v3.h[2]
	WORD   $0x4f6320bf                              // smlal2 v31.4s, v5.8h, v3.h[2]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f702090                              // smlal v16.4s, v4.4h, v0.h[3]
	WORD   $0x4f702091                              // smlal2 v17.4s, v4.8h, v0.h[3]
	WORD   $0x0f7020b2                              // smlal v18.4s, v5.4h, v0.h[3]
	WORD   $0x4f7020b3                              // smlal2 v19.4s, v5.8h, v0.h[3]
	WORD   $0x0f712094                              // smlal v20.4s, v4.4h, v1.h[3]
	WORD   $0x4f712095                              // smlal2 v21.4s, v4.8h, v1.h[3]
	WORD   $0x0f7120b6                              // smlal v22.4s, v5.4h, v1.h[3]
	WORD   $0x4f7120b7                              // smlal2 v23.4s, v5.8h, v1.h[3]
	WORD   $0x0f722098                              // smlal v24.4s, v4.4h, v2.h[3]
	WORD   $0x4f722099                              // smlal2 v25.4s, v4.8h, v2.h[3]
	WORD   $0x0f7220ba                              // smlal v26.4s, v5.4h, v2.h[3]
	WORD   $0x4f7220bb                              // smlal2 v27.4s, v5.8h, v2.h[3]
	WORD   $0x0f73209c                              // smlal v28.4s, v4.4h, v3.h[3]
	WORD   $0x4f73209d                              // smlal2 v29.4s, v4.8h, v3.h[3]
	WORD   $0x0f7320be                              // smlal v30.4s, v5.4h, v3.h[3]
	WORD   $0x4f7320bf                              // smlal2 v31.4s, v5.8h, v3.h[3]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f402890                              // smlal v16.4s, v4.4h, v0.h[4]
	WORD   $0x4f402891                              // smlal2 v17.4s, v4.8h, v0.h[4]
	WORD   $0x0f4028b2                              // smlal v18.4s, v5.4h, v0.h[4]
	WORD   $0x4f4028b3                              // smlal2 v19.4s, v5.8h, v0.h[4]
	WORD   $0x0f412894                              // smlal v20.4s, v4.4h, v1.h[4]
	WORD   $0x4f412895                              // smlal2 v21.4s, v4.8h, v1.h[4]
	WORD   $0x0f4128b6                              // smlal v22.4s, v5.4h, v1.h[4]
	WORD   $0x4f4128b7                              // smlal2 v23.4s, v5.8h, v1.h[4]
	WORD   $0x0f422898                              // smlal v24.4s, v4.4h, v2.h[4]
	WORD   $0x4f422899                              // smlal2 v25.4s, v4.8h, v2.h[4]
	WORD   $0x0f4228ba                              // smlal v26.4s, v5.4h, v2.h[4]
	WORD   $0x4f4228bb                              // smlal2 v27.4s, v5.8h, v2.h[4]
	WORD   $0x0f43289c                              // smlal v28.4s, v4.4h, v3.h[4]
	WORD   $0x4f43289d                              // smlal2 v29.4s, v4.8h, v3.h[4]
	WORD   $0x0f4328be                              // smlal v30.4s, v5.4h, v3.h[4]
	WORD   $0x4f4328bf                              // smlal2 v31.4s, v5.8h, v3.h[4]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f502890                              // smlal v16.4s, v4.4h, v0.h[5]
	WORD   $0x4f502891                              // smlal2 v17.4s, v4.8h, v0.h[5]
	WORD   $0x0f5028b2                              // smlal v18.4s, v5.4h, v0.h[5]
	WORD   $0x4f5028b3                              // smlal2 v19.4s, v5.8h, v0.h[5]
	WORD   $0x0f512894                              // smlal v20.4s, v4.4h, v1.h[5]
	WORD   $0x4f512895                              // smlal2 v21.4s, v4.8h, v1.h[5]
	WORD   $0x0f5128b6                              // smlal v22.4s, v5.4h, v1.h[5]
	WORD   $0x4f5128b7                              // smlal2 v23.4s, v5.8h, v1.h[5]
	WORD   $0x0f522898                              // smlal v24.4s, v4.4h, v2.h[5]
	WORD   $0x4f522899                              // smlal2 v25.4s, v4.8h, v2.h[5]
	WORD   $0x0f5228ba                              // smlal v26.4s, v5.4h, v2.h[5]
	WORD   $0x4f5228bb                              // smlal2 v27.4s, v5.8h, v2.h[5]
	WORD   $0x0f53289c                              // smlal v28.4s, v4.4h, v3.h[5]
	WORD   $0x4f53289d                              // smlal2 v29.4s, v4.8h, v3.h[5]
	WORD   $0x0f5328be                              // smlal v30.4s, v5.4h, v3.h[5]
	WORD   $0x4f5328bf                              // smlal2 v31.4s, v5.8h, v3.h[5]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f602890                              // smlal v16.4s, v4.4h, v0.h[6]
	WORD   $0x4f602891                              // smlal2 v17.4s, v4.8h, v0.h[6]
	WORD   $0x0f6028b2                              // smlal v18.4s, v5.4h, v0.h[6]
	WORD   $0x4f6028b3                              // smlal2 v19.4s, v5.8h, v0.h[6]
	WORD   $0x0f612894                              // smlal v20.4s, v4.4h, v1.h[6]
	WORD   $0x4f612895                              // smlal2 v21.4s, v4.8h, v1.h[6]
	WORD   $0x0f6128b6                              // smlal v22.4s, v5.4h, v1.h[6]
	WORD   $0x4f6128b7                              // smlal2 v23.4s, v5.8h, v1.h[6]
	WORD   $0x0f622898                              // smlal v24.4s, v4.4h, v2.h[6]
	WORD   $0x4f622899                              // smlal2 v25.4s, v4.8h, v2.h[6]
	WORD   $0x0f6228ba                              // smlal v26.4s, v5.4h, v2.h[6]
	WORD   $0x4f6228bb                              // smlal2 v27.4s, v5.8h, v2.h[6]
	WORD   $0x0f63289c                              // smlal v28.4s, v4.4h, v3.h[6]
	WORD   $0x4f63289d                              // smlal2 v29.4s, v4.8h, v3.h[6]
	WORD   $0x0f6328be                              // smlal v30.4s, v5.4h, v3.h[6]
	WORD   $0x4f6328bf                              // smlal2 v31.4s, v5.8h, v3.h[6]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f702890                              // smlal v16.4s, v4.4h, v0.h[7]
	WORD   $0x4f702891                              // smlal2 v17.4s, v4.8h, v0.h[7]
	WORD   $0x0f7028b2                              // smlal v18.4s, v5.4h, v0.h[7]
	WORD   $0x4f7028b3                              // smlal2 v19.4s, v5.8h, v0.h[7]
	WORD   $0x0f712894                              // smlal v20.4s, v4.4h, v1.h[7]
	WORD   $0x4f712895                              // smlal2 v21.4s, v4.8h, v1.h[7]
	WORD   $0x0f7128b6                              // smlal v22.4s, v5.4h, v1.h[7]
	WORD   $0x4f7128b7                              // smlal2 v23.4s, v5.8h, v1.h[7]
	WORD   $0x0f722898                              // smlal v24.4s, v4.4h, v2.h[7]
	WORD   $0x4f722899                              // smlal2 v25.4s, v4.8h, v2.h[7]
	WORD   $0x0f7228ba                              // smlal v26.4s, v5.4h, v2.h[7]
	WORD   $0x4f7228bb                              // smlal2 v27.4s, v5.8h, v2.h[7]
	WORD   $0x0f73289c                              // smlal v28.4s, v4.4h, v3.h[7]
	WORD   $0x4f73289d                              // smlal2 v29.4s, v4.8h, v3.h[7]
	WORD   $0x0f7328be                              // smlal v30.4s, v5.4h, v3.h[7]
	WORD   $0x4f7328bf                              // smlal2 v31.4s, v5.8h, v3.h[7]
	SUB    $1, R10
	CBNZ   R10, rows4pass
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8)
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], 64(R8)
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R8)
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], 64(R8)
	ADD    R5<<2, R11
	SUB    $4, R7
	B      rows4

rows1:
	CBZ  R7, end
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	MOVD R0, R9
	MOVD R11, R1
	LSR  $3, R6, R10

rows1pass:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f402090                              // smlal v16.4s, v4.4h, v0.h[0]
	WORD   $0x4f402091                              // smlal2 v17.4s, v4.8h, v0.h[0]
	WORD   $0x0f4020b2                              // smlal v18.4s, v5.4h, v0.h[0]
	WORD   $0x4f4020b3                              // smlal2 v19.4s, v5.8h, v0.h[0]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f502090                              // smlal v16.4s, v4.4h, v0.h[1]
	WORD   $0x4f502091                              // smlal2 v17.4s, v4.8h, v0.h[1]
	WORD   $0x0f5020b2                              // smlal v18.4s, v5.4h, v0.h[1]
	WORD   $0x4f5020b3                              // smlal2 v19.4s, v5.8h, v0.h[1]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f602090                              // smlal v16.4s, v4.4h, v0.h[2]
	WORD   $0x4f602091                              // smlal2 v17.4s, v4.8h, v0.h[2]
	WORD   $0x0f6020b2                              // smlal v18.4s, v5.4h, v0.h[2]
	WORD   $0x4f6020b3                              // smlal2 v19.4s, v5.8h, v0.h[2]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f702090                              // smlal v16.4s, v4.4h, v0.h[3]
	WORD   $0x4f702091                              // smlal2 v17.4s, v4.8h, v0.h[3]
	WORD   $0x0f7020b2                              // smlal v18.4s, v5.4h, v0.h[3]
	WORD   $0x4f7020b3                              // smlal2 v19.4s, v5.8h, v0.h[3]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f402890                              // smlal v16.4s, v4.4h, v0.h[4]
	WORD   $0x4f402891                              // smlal2 v17.4s, v4.8h, v0.h[4]
	WORD   $0x0f4028b2                              // smlal v18.4s, v5.4h, v0.h[4]
	WORD   $0x4f4028b3                              // smlal2 v19.4s, v5.8h, v0.h[4]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f502890                              // smlal v16.4s, v4.4h, v0.h[5]
	WORD   $0x4f502891                              // smlal2 v17.4s, v4.8h, v0.h[5]
	WORD   $0x0f5028b2                              // smlal v18.4s, v5.4h, v0.h[5]
	WORD   $0x4f5028b3                              // smlal2 v19.4s, v5.8h, v0.h[5]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f602890                              // smlal v16.4s, v4.4h, v0.h[6]
	WORD   $0x4f602891                              // smlal2 v17.4s, v4.8h, v0.h[6]
	WORD   $0x0f6028b2                              // smlal v18.4s, v5.4h, v0.h[6]
	WORD   $0x4f6028b3                              // smlal2 v19.4s, v5.8h, v0.h[6]
	VLD1.P 32(R9), [V4.H8, V5.H8]
	WORD   $0x0f702890                              // smlal v16.4s, v4.4h, v0.h[7]
	WORD   $0x4f702891                              // smlal2 v17.4s, v4.8h, v0.h[7]
	WORD   $0x0f7028b2                              // smlal v18.4s, v5.4h, v0.h[7]
	WORD   $0x4f7028b3                              // smlal2 v19.4s, v5.8h, v0.h[7]
	SUB    $1, R10
	CBNZ   R10, rows1pass
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8)
	ADD    R5, R11
	SUB    $1, R7
	B      rows1

end:
	RET

// func int8DotsDotNEON(panel *int32, rows *byte, pitch, words, n int, out *int32)
TEXT ·int8DotsDotNEON(SB), NOSPLIT, $0-48
	MOVD panel+0(FP), R0
	MOVD rows+8(FP), R11
	MOVD pitch+16(FP), R5
	MOVD words+24(FP), R6
	MOVD n+32(FP), R7
	MOVD out+40(FP), R8

rows4:
	CMP  $4, R7
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
	MOVD R11, R1
	ADD  R5, R1, R2
	ADD  R5, R2, R3
	ADD  R5, R3, R4
	LSR  $2, R6, R10

rows4pass:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 16(R2), [V1.B16]
	VLD1.P 16(R3), [V2.B16]
	VLD1.P 16(R4), [V3.B16]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4f80e090                              // sdot v16.4s, v4.16b, v0.4b[0]
	WORD   $0x4f80e0b1                              // sdot v17.4s, v5.16b, v0.4b[0]
	WORD   $0x4f80e0d2                              // sdot v18.4s, v6.16b, v0.4b[0]
	WORD   $0x4f80e0f3                              // sdot v19.4s, v7.16b, v0.4b[0]
	WORD   $0x4f81e094                              // sdot v20.4s, v4.16b, v1.4b[0]
	WORD   $0x4f81e0b5                              // sdot v21.4s, v5.16b, v1.4b[0]
	WORD   $0x4f81e0d6                              // sdot v22.4s, v6.16b, v1.4b[0]
	WORD   $0x4f81e0f7                              // sdot v23.4s, v7.16b, v1.4b[0]
	WORD   $0x4f82e098                              // sdot v24.4s, v4.16b, v2.4b[0]
	WORD   $0x4f82e0b9                              // sdot v25.4s, v5.16b, v2.4b[0]
	WORD   $0x4f82e0da                              // sdot v26.4s, v6.16b, v2.4b[0]
	WORD   $0x4f82e0fb                              // sdot v27.4s, v7.16b, v2.4b[0]
	WORD   $0x4f83e09c                              // sdot v28.4s, v4.16b, v3.4b[0]
	WORD   $0x4f83e0bd                              // sdot v29.4s, v5.16b, v3.4b[0]
	WORD   $0x4f83e0de                              // sdot v30.4s, v6.16b, v3.4b[0]
	WORD   $0x4f83e0ff                              // sdot v31.4s, v7.16b, v3.4b[0]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4fa0e090                              // sdot v16.4s, v4.16b, v0.4b[1]
	WORD   $0x4fa0e0b1                              // sdot v17.4s, v5.16b, v0.4b[1]
	WORD   $0x4fa0e0d2                              // sdot v18.4s, v6.16b, v0.4b[1]
	WORD   $0x4fa0e0f3                              // sdot v19.4s, v7.16b, v0.4b[1]
	WORD   $0x4fa1e094                              // sdot v20.4s, v4.16b, v1.4b[1]
	WORD   $0x4fa1e0b5                              // sdot v21.4s, v5.16b, v1.4b[1]
	WORD   $0x4fa1e0d6                              // sdot v22.4s, v6.16b, v1.4b[1]
	WORD   $0x4fa1e0f7                              // sdot v23.4s, v7.16b, v1.4b[1]
	WORD   $0x4fa2e098                              // sdot v24.4s, v4.16b, v2.4b[1]
	WORD   $0x4fa2e0b9                              // sdot v25.4s, v5.16b, v2.4b[1]
	WORD   $0x4fa2e0da                              // sdot v26.4s, v6.16b, v2.4b[1]
	WORD   $0x4fa2e0fb                              // sdot v27.4s, v7.16b, v2.4b[1]
	WORD   $0x4fa3e09c                              // sdot v28.4s, v4.16b, v3.4b[1]
	WORD   $0x4fa3e0bd                              // sdot v29.4s, v5.16b, v3.4b[1]
	WORD   $0x4fa3e0de                              // sdot v30.4s, v6.16b, v3.4b[1]
	WORD   $0x4fa3e0ff                              // sdot v31.4s, v7.16b, v3.4b[1]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4f80e890                              // sdot v16.4s, v4.16b, v0.4b[2]
	WORD   $0x4f80e8b1                              // sdot v17.4s, v5.16b, v0.4b[2]
	WORD   $0x4f80e8d2                              // sdot v18.4s, v6.16b, v0.4b[2]
	WORD   $0x4f80e8f3                              // sdot v19.4s, v7.16b, v0.4b[2]
	WORD   $0x4f81e894                              // sdot v20.4s, v4.16b, v1.4b[2]
	WORD   $0x4f81e8b5                              // sdot v21.4s, v5.16b, v1.4b[2]
	WORD   $0x4f81e8d6                              // sdot v22.4s, v6.16b, v1.4b[2]
	WORD   $0x4f81e8f7                              // sdot v23.4s, v7.16b, v1.4b[2]
	WORD   $0x4f82e898                              // sdot v24.4s, v4.16b, v2.4b[2]
	WORD   $0x4f82e8b9                              // sdot v25.4s, v5.16b, v2.4b[2]
	WORD   $0x4f82e8da                              // sdot v26.4s, v6.16b, v2.4b[2]
	WORD   $0x4f82e8fb                              // sdot v27.4s, v7.16b, v2.4b[2]
	WORD   $0x4f83e89c                              // sdot v28.4s, v4.16b, v3.4b[2]
	WORD   $0x4f83e8bd                              // sdot v29.4s, v5.16b, v3.4b[2]
	WORD   $0x4f83e8de                              // sdot v30.4s, v6.16b, v3.4b[2]
	WORD   $0x4f83e8ff                              // sdot v31.4s, v7.16b, v3.4b[2]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4fa0e890                              // sdot v16.4s, v4.16b, v0.4b[3]
	WORD   $0x4fa0e8b1                              // sdot v17.4s, v5.16b, v0.4b[3]
	WORD   $0x4fa0e8d2                              // sdot v18.4s, v6.16b, v0.4b[3]
	WORD   $0x4fa0e8f3                              // sdot v19.4s, v7.16b, v0.4b[3]
	WORD   $0x4fa1e894                              // sdot v20.4s, v4.16b, v1.4b[3]
	WORD   $0x4fa1e8b5                              // sdot v21.4s, v5.16b, v1.4b[3]
	WORD   $0x4fa1e8d6                              // sdot v22.4s, v6.16b, v1.4b[3]
	WORD   $0x4fa1e8f7                              // sdot v23.4s, v7.16b, v1.4b[3]
	WORD   $0x4fa2e898                              // sdot v24.4s, v4.16b, v2.4b[3]
	WORD   $0x4fa2e8b9                              // sdot v25.4s, v5.16b, v2.4b[3]
	WORD   $0x4fa2e8da                              // sdot v26.4s, v6.16b, v2.4b[3]
	WORD   $0x4fa2e8fb                              // sdot v27.4s, v7.16b, v2.4b[3]
	WORD   $0x4fa3e89c                              // sdot v28.4s, v4.16b, v3.4b[3]
	WORD   $0x4fa3e8bd                              // sdot v29.4s, v5.16b, v3.4b[3]
	WORD   $0x4fa3e8de                              // sdot v30.4s, v6.16b, v3.4b[3]
	WORD   $0x4fa3e8ff                              // sdot v31.4s, v7.16b, v3.4b[3]
	SUB    $1, R10
	CBNZ   R10, rows4pass
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8)
	VST1.P [V20.S4, V21.S4, V22.S4, V23.S4], 64(R8)
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R8)
	VST1.P [V28.S4, V29.S4, V30.S4, V31.S4], 64(R8)
	ADD    R5<<2, R11
	SUB    $4, R7
	B      rows4

rows1:
	CBZ  R7, end
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	MOVD R0, R9
	MOVD R11, R1
	LSR  $2, R6, R10

rows1pass:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4f80e090                              // sdot v16.4s, v4.16b, v0.4b[0]
	WORD   $0x4f80e0b1                              // sdot v17.4s, v5.16b, v0.4b[0]
	WORD   $0x4f80e0d2                              // sdot v18.4s, v6.16b, v0.4b[0]
	WORD   $0x4f80e0f3                              // sdot v19.4s, v7.16b, v0.4b[0]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4fa0e090                              // sdot v16.4s, v4.16b, v0.4b[1]
	WORD   $0x4fa0e0b1                              // sdot v17.4s, v5.16b, v0.4b[1]
	WORD   $0x4fa0e0d2                              // sdot v18.4s, v6.16b, v0.4b[1]
	WORD   $0x4fa0e0f3                              // sdot v19.4s, v7.16b, v0.4b[1]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4f80e890                              // sdot v16.4s, v4.16b, v0.4b[2]
	WORD   $0x4f80e8b1                              // sdot v17.4s, v5.16b, v0.4b[2]
	WORD   $0x4f80e8d2                              // sdot v18.4s, v6.16b, v0.4b[2]
	WORD   $0x4f80e8f3                              // sdot v19.4s, v7.16b, v0.4b[2]
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16]
	WORD   $0x4fa0e890                              // sdot v16.4s, v4.16b, v0.4b[3]
	WORD   $0x4fa0e8b1                              // sdot v17.4s, v5.16b, v0.4b[3]
	WORD   $0x4fa0e8d2                              // sdot v18.4s, v6.16b, v0.4b[3]
	WORD   $0x4fa0e8f3                              // sdot v19.4s, v7.16b, v0.4b[3]
	SUB    $1, R10
	CBNZ   R10, rows1pass
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R8)
	ADD    R5, R11
	SUB    $1, R7
	B      rows1

end:
	RET

// func int8WidenNEON(rows *int8, n, d, full int, dst *byte, pitch int)
TEXT ·int8WidenNEON(SB), NOSPLIT, $0-48
	MOVD rows+0(FP), R0
	MOVD n+8(FP), R1
	MOVD d+16(FP), R2
	MOVD full+24(FP), R3
	MOVD dst+32(FP), R4
	MOVD pitch+40(FP), R5
	LSR  $4, R3
	CBZ  R3, end

row:
	CBZ  R1, end
	MOVD R0, R6
	MOVD R4, R7
	MOVD R3, R8

next:
	VLD1.P 16(R6), [V0.B16]
	WORD   $0x0f08a401            // sshll v1.8h, v0.8b, #0
	WORD   $0x4f08a402            // sshll2 v2.8h, v0.16b, #0
	VST1.P [V1.H8, V2.H8], 32(R7)
	SUB    $1, R8
	CBNZ   R8, next
	ADD    R2, R0
	ADD    R5, R4
	SUB    $1, R1
	B      row

end:
	RET

// func int8ScaleNEON(out *float32, n, lanes int, query, centroid *float32)
TEXT ·int8ScaleNEON(SB), NOSPLIT, $0-40
	MOVD out+0(FP), R0
	MOVD n+8(FP), R1
	MOVD query+24(FP), R2
	MOVD centroid+32(FP), R3
	VLD1 (R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	CBZ  R1, end

row:
	VLD1R.P 4(R3), [V16.S4]
	VLD1    (R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	WORD    $0x4e21d884                          // scvtf v4.4s, v4.4s
	WORD    $0x6e30dc14                          // fmul v20.4s, v0.4s, v16.4s
	WORD    $0x6e34dc84                          // fmul v4.4s, v4.4s, v20.4s
	WORD    $0x4e21d8a5                          // scvtf v5.4s, v5.4s
	WORD    $0x6e30dc35                          // fmul v21.4s, v1.4s, v16.4s
	WORD    $0x6e35dca5                          // fmul v5.4s, v5.4s, v21.4s
	WORD    $0x4e21d8c6                          // scvtf v6.4s, v6.4s
	WORD    $0x6e30dc56                          // fmul v22.4s, v2.4s, v16.4s
	WORD    $0x6e36dcc6                          // fmul v6.4s, v6.4s, v22.4s
	WORD    $0x4e21d8e7                          // scvtf v7.4s, v7.4s
	WORD    $0x6e30dc77                          // fmul v23.4s, v3.4s, v16.4s
	WORD    $0x6e37dce7                          // fmul v7.4s, v7.4s, v23.4s
	VST1.P  [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB     $1, R1
	CBNZ    R1, row

end:
	RET

//go:build !noasm

#include "textflag.h"

// func features() uint32
TEXT ·features(SB), NOSPLIT, $0-4
	MOVL $1, AX
	XORL CX, CX
	CPUID
	MOVL CX, ret+0(FP)
	RET

// func enabled() uint32
TEXT ·enabled(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET

// func chainFMA(q, d *float32, n int) float32
// Requires: AVX, FMA3
TEXT ·chainFMA(SB), NOSPLIT, $0-28
	MOVQ   q+0(FP), AX
	MOVQ   d+8(FP), BX
	MOVQ   n+16(FP), CX
	XORL   DX, DX
	VXORPS X0, X0, X0

chain:
	VMOVSS      (AX)(DX*4), X1
	VFMADD231SS (BX)(DX*4), X1, X0
	INCQ        DX
	CMPQ        DX, CX
	JLT         chain
	VMOVSS      X0, ret+24(FP)
	RET

// One component of one query against both halves of the panel row in Y8 and Y9.
#define STEP(query, x, low, high) \
	VBROADCASTSS (query)(DI*4), x \
	VFMADD231PS  Y8, x, low       \
	VFMADD231PS  Y9, x, high

// func tileFMA(acc, q0, q1, q2, q3, panel *float32, k int)
// Requires: AVX, FMA3
TEXT ·tileFMA(SB), NOSPLIT, $0-56
	MOVQ acc+0(FP), AX
	MOVQ q0+8(FP), R8
	MOVQ q1+16(FP), R9
	MOVQ q2+24(FP), R10
	MOVQ q3+32(FP), R11
	MOVQ panel+40(FP), BX
	MOVQ k+48(FP), CX
	XORL DI, DI

	// Y0, Y1: query 0 with lanes 0–7 and 8–15; Y2, Y3: query 1; and so on.
	VMOVUPS (AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVUPS 64(AX), Y2
	VMOVUPS 96(AX), Y3
	VMOVUPS 128(AX), Y4
	VMOVUPS 160(AX), Y5
	VMOVUPS 192(AX), Y6
	VMOVUPS 224(AX), Y7
	JMP     test

component:
	// Eight chains of four-cycle latency keep two FMA units busy.
	VMOVUPS (BX), Y8
	VMOVUPS 32(BX), Y9
	STEP(R8, Y10, Y0, Y1)
	STEP(R9, Y11, Y2, Y3)
	STEP(R10, Y12, Y4, Y5)
	STEP(R11, Y13, Y6, Y7)
	ADDQ    $64, BX
	INCQ    DI

test:
	CMPQ DI, CX
	JLT  component

	VMOVUPS Y0, (AX)
	VMOVUPS Y1, 32(AX)
	VMOVUPS Y2, 64(AX)
	VMOVUPS Y3, 96(AX)
	VMOVUPS Y4, 128(AX)
	VMOVUPS Y5, 160(AX)
	VMOVUPS Y6, 192(AX)
	VMOVUPS Y7, 224(AX)
	VZEROUPPER
	RET

// func packAVX(panel, rows *float32, dim, k int)
// Requires: AVX
TEXT ·packAVX(SB), NOSPLIT, $0-32
	MOVQ panel+0(FP), AX
	MOVQ rows+8(FP), R8
	MOVQ dim+16(FP), DX
	MOVQ k+24(FP), CX
	SHLQ $2, DX
	LEAQ (R8)(DX*4), R12 // row 4
	LEAQ (DX)(DX*2), R13 // three rows
	XORL DI, DI
	JMP  more

square:
	LEAQ    (R8)(DI*4), R9
	LEAQ    (R12)(DI*4), R10
	VMOVUPS (R9), Y0
	VMOVUPS (R9)(DX*1), Y1
	VMOVUPS (R9)(DX*2), Y2
	VMOVUPS (R9)(R13*1), Y3
	VMOVUPS (R10), Y4
	VMOVUPS (R10)(DX*1), Y5
	VMOVUPS (R10)(DX*2), Y6
	VMOVUPS (R10)(R13*1), Y7

	// Pairs of rows, then fours, then the halves: an 8×8 transpose.
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15

	VUNPCKLPD Y10, Y8, Y0  // components 0 and 4 of rows 0–3
	VUNPCKHPD Y10, Y8, Y1  // 1 and 5
	VUNPCKLPD Y11, Y9, Y2  // 2 and 6
	VUNPCKHPD Y11, Y9, Y3  // 3 and 7
	VUNPCKLPD Y14, Y12, Y4 // and of rows 4–7
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7

	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15

	VMOVUPS Y8, (AX)
	VMOVUPS Y9, 64(AX)
	VMOVUPS Y10, 128(AX)
	VMOVUPS Y11, 192(AX)
	VMOVUPS Y12, 256(AX)
	VMOVUPS Y13, 320(AX)
	VMOVUPS Y14, 384(AX)
	VMOVUPS Y15, 448(AX)
	ADDQ    $512, AX
	ADDQ    $8, DI

more:
	CMPQ DI, CX
	JLT  square
	VZEROUPPER
	RET

//go:build !noasm

#include "textflag.h"

// func chain(q, d *float32, n int) float32
TEXT ·chain(SB), NOSPLIT, $0-28
	MOVD  q+0(FP), R0
	MOVD  d+8(FP), R1
	MOVD  n+16(FP), R2
	FMOVS ZR, F0

chain:
	FMOVS.P 4(R0), F1
	FMOVS.P 4(R1), F2
	FMADDS  F1, F0, F2, F0
	SUBS    $1, R2
	BNE     chain
	FMOVS   F0, ret+24(FP)
	RET

// func tile(acc, q0, q1, q2, q3, panel *float32, k int)
TEXT ·tile(SB), NOSPLIT, $0-56
	MOVD acc+0(FP), R0
	MOVD q0+8(FP), R1
	MOVD q1+16(FP), R2
	MOVD q2+24(FP), R3
	MOVD q3+32(FP), R4
	MOVD panel+40(FP), R5
	MOVD k+48(FP), R6

	// V0–V3: query 0 with lanes 0–15; V4–V7: query 1; and so on.
	MOVD   R0, R7
	VLD1.P 64(R7), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R7), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R7), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1   (R7), [V12.S4, V13.S4, V14.S4, V15.S4]
	CBZ    R6, done

component:
	VLD1.P  64(R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1R.P 4(R1), [V20.S4]
	VLD1R.P 4(R2), [V21.S4]
	VLD1R.P 4(R3), [V22.S4]
	VLD1R.P 4(R4), [V23.S4]
	VFMLA   V16.S4, V20.S4, V0.S4
	VFMLA   V17.S4, V20.S4, V1.S4
	VFMLA   V18.S4, V20.S4, V2.S4
	VFMLA   V19.S4, V20.S4, V3.S4
	VFMLA   V16.S4, V21.S4, V4.S4
	VFMLA   V17.S4, V21.S4, V5.S4
	VFMLA   V18.S4, V21.S4, V6.S4
	VFMLA   V19.S4, V21.S4, V7.S4
	VFMLA   V16.S4, V22.S4, V8.S4
	VFMLA   V17.S4, V22.S4, V9.S4
	VFMLA   V18.S4, V22.S4, V10.S4
	VFMLA   V19.S4, V22.S4, V11.S4
	VFMLA   V16.S4, V23.S4, V12.S4
	VFMLA   V17.S4, V23.S4, V13.S4
	VFMLA   V18.S4, V23.S4, V14.S4
	VFMLA   V19.S4, V23.S4, V15.S4
	SUBS    $1, R6
	BNE     component

done:
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R0)
	VST1   [V12.S4, V13.S4, V14.S4, V15.S4], (R0)
	RET

//go:build !noasm

#include "textflag.h"

// V24 is the bound, V2 gathers the comparisons of a group.

// func topkFindNEON(x *float32, groups int, bound float32) int
TEXT ·topkFindNEON(SB), NOSPLIT, $0-32
	MOVD  x+0(FP), R0
	MOVD  groups+8(FP), R1
	FMOVS bound+16(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  ZR, R2

next:
	CMP   R1, R2
	BGE   out
	ADD   $1024, R0, R10
	PRFM  (R10), PLDL2KEEP
	PRFM  64(R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	WORD  $0x6e38e402            // fcmge v2.4s, v0.4s, v24.4s
	FMOVQ 16(R0), F1
	WORD  $0x6e38e421            // fcmge v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 32(R0), F0
	WORD  $0x6e38e400            // fcmge v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	FMOVQ 48(R0), F1
	WORD  $0x6e38e421            // fcmge v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 64(R0), F0
	WORD  $0x6e38e400            // fcmge v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	FMOVQ 80(R0), F1
	WORD  $0x6e38e421            // fcmge v1.4s, v1.4s, v24.4s
	VORR  V1.B16, V2.B16, V2.B16
	FMOVQ 96(R0), F0
	WORD  $0x6e38e400            // fcmge v0.4s, v0.4s, v24.4s
	VORR  V0.B16, V2.B16, V2.B16
	FMOVQ 112(R0), F1
	WORD  $0x6e38e421            // fcmge v1.4s, v1.4s, v24.4s
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

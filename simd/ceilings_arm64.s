//go:build !noasm

#include "textflag.h"

// Rates of independent operations on V2 to V17: more than latency times pipes, on cores
// with four of them too. The operands are zero.

#define ZERO \
	VEOR V0.B16, V0.B16, V0.B16;    \
	VEOR V1.B16, V1.B16, V1.B16;    \
	VEOR V2.B16, V2.B16, V2.B16;    \
	VEOR V3.B16, V3.B16, V3.B16;    \
	VEOR V4.B16, V4.B16, V4.B16;    \
	VEOR V5.B16, V5.B16, V5.B16;    \
	VEOR V6.B16, V6.B16, V6.B16;    \
	VEOR V7.B16, V7.B16, V7.B16;    \
	VEOR V8.B16, V8.B16, V8.B16;    \
	VEOR V9.B16, V9.B16, V9.B16;    \
	VEOR V10.B16, V10.B16, V10.B16; \
	VEOR V11.B16, V11.B16, V11.B16; \
	VEOR V12.B16, V12.B16, V12.B16; \
	VEOR V13.B16, V13.B16, V13.B16; \
	VEOR V14.B16, V14.B16, V14.B16; \
	VEOR V15.B16, V15.B16, V15.B16; \
	VEOR V16.B16, V16.B16, V16.B16; \
	VEOR V17.B16, V17.B16, V17.B16

// func ceilingFMAF32NEON(n int)
TEXT ·ceilingFMAF32NEON(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
	ZERO

pass:
	VFMLA V0.S4, V1.S4, V2.S4
	VFMLA V0.S4, V1.S4, V3.S4
	VFMLA V0.S4, V1.S4, V4.S4
	VFMLA V0.S4, V1.S4, V5.S4
	VFMLA V0.S4, V1.S4, V6.S4
	VFMLA V0.S4, V1.S4, V7.S4
	VFMLA V0.S4, V1.S4, V8.S4
	VFMLA V0.S4, V1.S4, V9.S4
	VFMLA V0.S4, V1.S4, V10.S4
	VFMLA V0.S4, V1.S4, V11.S4
	VFMLA V0.S4, V1.S4, V12.S4
	VFMLA V0.S4, V1.S4, V13.S4
	VFMLA V0.S4, V1.S4, V14.S4
	VFMLA V0.S4, V1.S4, V15.S4
	VFMLA V0.S4, V1.S4, V16.S4
	VFMLA V0.S4, V1.S4, V17.S4
	SUB   $1, R0
	CBNZ  R0, pass
	RET

// func ceilingFMAF64NEON(n int)
TEXT ·ceilingFMAF64NEON(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
	ZERO

pass:
	VFMLA V0.D2, V1.D2, V2.D2
	VFMLA V0.D2, V1.D2, V3.D2
	VFMLA V0.D2, V1.D2, V4.D2
	VFMLA V0.D2, V1.D2, V5.D2
	VFMLA V0.D2, V1.D2, V6.D2
	VFMLA V0.D2, V1.D2, V7.D2
	VFMLA V0.D2, V1.D2, V8.D2
	VFMLA V0.D2, V1.D2, V9.D2
	VFMLA V0.D2, V1.D2, V10.D2
	VFMLA V0.D2, V1.D2, V11.D2
	VFMLA V0.D2, V1.D2, V12.D2
	VFMLA V0.D2, V1.D2, V13.D2
	VFMLA V0.D2, V1.D2, V14.D2
	VFMLA V0.D2, V1.D2, V15.D2
	VFMLA V0.D2, V1.D2, V16.D2
	VFMLA V0.D2, V1.D2, V17.D2
	SUB   $1, R0
	CBNZ  R0, pass
	RET

// func ceilingMaxF32NEON(n int)
TEXT ·ceilingMaxF32NEON(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
	ZERO

pass:
	WORD $0x4e20f442 // fmax v2.4s, v2.4s, v0.4s
	WORD $0x4e20f463 // fmax v3.4s, v3.4s, v0.4s
	WORD $0x4e20f484 // fmax v4.4s, v4.4s, v0.4s
	WORD $0x4e20f4a5 // fmax v5.4s, v5.4s, v0.4s
	WORD $0x4e20f4c6 // fmax v6.4s, v6.4s, v0.4s
	WORD $0x4e20f4e7 // fmax v7.4s, v7.4s, v0.4s
	WORD $0x4e20f508 // fmax v8.4s, v8.4s, v0.4s
	WORD $0x4e20f529 // fmax v9.4s, v9.4s, v0.4s
	WORD $0x4e20f54a // fmax v10.4s, v10.4s, v0.4s
	WORD $0x4e20f56b // fmax v11.4s, v11.4s, v0.4s
	WORD $0x4e20f58c // fmax v12.4s, v12.4s, v0.4s
	WORD $0x4e20f5ad // fmax v13.4s, v13.4s, v0.4s
	WORD $0x4e20f5ce // fmax v14.4s, v14.4s, v0.4s
	WORD $0x4e20f5ef // fmax v15.4s, v15.4s, v0.4s
	WORD $0x4e20f610 // fmax v16.4s, v16.4s, v0.4s
	WORD $0x4e20f631 // fmax v17.4s, v17.4s, v0.4s
	SUB  $1, R0
	CBNZ R0, pass
	RET

// func ceilingReadNEON(p *byte, n int)
TEXT ·ceilingReadNEON(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1

pass:
	PRFM   4096(R0), PLDL1KEEP
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]
	VLD1.P 64(R0), [V8.B16, V9.B16, V10.B16, V11.B16]
	VLD1.P 64(R0), [V12.B16, V13.B16, V14.B16, V15.B16]
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]
	VLD1.P 64(R0), [V8.B16, V9.B16, V10.B16, V11.B16]
	VLD1.P 64(R0), [V12.B16, V13.B16, V14.B16, V15.B16]
	SUBS   $512, R1
	BGT    pass
	RET

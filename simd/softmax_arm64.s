//go:build !noasm

#include "textflag.h"

// Registers as in row_arm64.s. exp: V24 is the maximum, V25 to V28 and V5 to V12 its
// constants, V2 to V4 its work. Its steps and constants are those of simd/_gen/exp.go, so
// that the bits are those of AVX2. For 16-bit elements V25 to V27 and V7 to V11 are.

// quarters is 2^(i/4), less i 2^21: what the lower bits of n add.
DATA quarters<>+0(SB)/4, $0x3f800000
DATA quarters<>+4(SB)/4, $0x3f7837f0
DATA quarters<>+8(SB)/4, $0x3f7504f3
DATA quarters<>+12(SB)/4, $0x3f7744fd
GLOBL quarters<>(SB), RODATA|NOPTR, $16

// EXP0 replaces V0 by its exponential.
#define EXP0 \
	WORD  $0x4e39f400 /* fmax v0.4s, v0.4s, v25.4s */; \
	VMOV  V27.B16, V2.B16;                             \
	VFMLA V0.S4, V26.S4, V2.S4;                        \
	WORD  $0x4ebbd443 /* fsub v3.4s, v2.4s, v27.4s */; \
	VFMLS V3.S4, V28.S4, V0.S4;                        \
	VFMLS V3.S4, V5.S4, V0.S4;                         \
	VMOV  V7.B16, V3.B16;                              \
	VFMLA V0.S4, V6.S4, V3.S4;                         \
	VMOV  V8.B16, V4.B16;                              \
	VFMLA V3.S4, V0.S4, V4.S4;                         \
	VMOV  V9.B16, V3.B16;                              \
	VFMLA V4.S4, V0.S4, V3.S4;                         \
	VMOV  V9.B16, V4.B16;                              \
	VFMLA V3.S4, V0.S4, V4.S4;                         \
	VAND  V10.B16, V2.B16, V0.B16;                     \
	VSHL  $2, V0.S4, V0.S4;                            \
	VSLI  $8, V0.S4, V0.S4;                            \
	VSLI  $16, V0.S4, V0.S4;                           \
	VADD  V11.S4, V0.S4, V0.S4;                        \
	VTBL  V0.B16, [V12.B16], V0.B16;                   \
	VSHL  $21, V2.S4, V2.S4;                           \
	VADD  V0.S4, V2.S4, V2.S4;                         \
	WORD  $0x6e24dc40                                  // fmul v0.4s, v2.4s, v4.4s

// EXP1 replaces V1 by its exponential.
#define EXP1 \
	WORD  $0x4e39f421 /* fmax v1.4s, v1.4s, v25.4s */; \
	VMOV  V27.B16, V2.B16;                             \
	VFMLA V1.S4, V26.S4, V2.S4;                        \
	WORD  $0x4ebbd443 /* fsub v3.4s, v2.4s, v27.4s */; \
	VFMLS V3.S4, V28.S4, V1.S4;                        \
	VFMLS V3.S4, V5.S4, V1.S4;                         \
	VMOV  V7.B16, V3.B16;                              \
	VFMLA V1.S4, V6.S4, V3.S4;                         \
	VMOV  V8.B16, V4.B16;                              \
	VFMLA V3.S4, V1.S4, V4.S4;                         \
	VMOV  V9.B16, V3.B16;                              \
	VFMLA V4.S4, V1.S4, V3.S4;                         \
	VMOV  V9.B16, V4.B16;                              \
	VFMLA V3.S4, V1.S4, V4.S4;                         \
	VAND  V10.B16, V2.B16, V1.B16;                     \
	VSHL  $2, V1.S4, V1.S4;                            \
	VSLI  $8, V1.S4, V1.S4;                            \
	VSLI  $16, V1.S4, V1.S4;                           \
	VADD  V11.S4, V1.S4, V1.S4;                        \
	VTBL  V1.B16, [V12.B16], V1.B16;                   \
	VSHL  $21, V2.S4, V2.S4;                           \
	VADD  V1.S4, V2.S4, V2.S4;                         \
	WORD  $0x6e24dc41                                  // fmul v1.4s, v2.4s, v4.4s

// SHORTEXP0 replaces V0 by 2^(V0/ln 2 - k) for the k of the row, in the degree for bf16.
#define SHORTEXP0 \
	WORD  $0x4e39f400 /* fmax v0.4s, v0.4s, v25.4s */; \
	VMOV  V27.B16, V2.B16;                             \
	VFMLA V0.S4, V26.S4, V2.S4;                        \
	WORD  $0x4ea2d763 /* fsub v3.4s, v27.4s, v2.4s */; \
	VFMLA V0.S4, V26.S4, V3.S4;                        \
	VMOV  V8.B16, V4.B16;                              \
	VFMLA V3.S4, V7.S4, V4.S4;                         \
	VMOV  V9.B16, V0.B16;                              \
	VFMLA V3.S4, V4.S4, V0.S4;                         \
	VMOV  V10.B16, V4.B16;                             \
	VFMLA V3.S4, V0.S4, V4.S4;                         \
	VSHL  $23, V2.S4, V2.S4;                           \
	WORD  $0x6e24dc40                                  // fmul v0.4s, v2.4s, v4.4s

// SHORTEXP1 replaces V1 by 2^(V1/ln 2 - k) for the k of the row, in the degree for bf16.
#define SHORTEXP1 \
	WORD  $0x4e39f421 /* fmax v1.4s, v1.4s, v25.4s */; \
	VMOV  V27.B16, V2.B16;                             \
	VFMLA V1.S4, V26.S4, V2.S4;                        \
	WORD  $0x4ea2d763 /* fsub v3.4s, v27.4s, v2.4s */; \
	VFMLA V1.S4, V26.S4, V3.S4;                        \
	VMOV  V8.B16, V4.B16;                              \
	VFMLA V3.S4, V7.S4, V4.S4;                         \
	VMOV  V9.B16, V1.B16;                              \
	VFMLA V3.S4, V4.S4, V1.S4;                         \
	VMOV  V10.B16, V4.B16;                             \
	VFMLA V3.S4, V1.S4, V4.S4;                         \
	VSHL  $23, V2.S4, V2.S4;                           \
	WORD  $0x6e24dc41                                  // fmul v1.4s, v2.4s, v4.4s

// HALFEXP0 replaces V0 by 2^(V0/ln 2 - k) for the k of the row, in the degree for f16.
#define HALFEXP0 \
	WORD  $0x4e39f400 /* fmax v0.4s, v0.4s, v25.4s */; \
	VMOV  V27.B16, V2.B16;                             \
	VFMLA V0.S4, V26.S4, V2.S4;                        \
	WORD  $0x4ea2d763 /* fsub v3.4s, v27.4s, v2.4s */; \
	VFMLA V0.S4, V26.S4, V3.S4;                        \
	VMOV  V8.B16, V4.B16;                              \
	VFMLA V3.S4, V7.S4, V4.S4;                         \
	VMOV  V9.B16, V0.B16;                              \
	VFMLA V3.S4, V4.S4, V0.S4;                         \
	VMOV  V10.B16, V4.B16;                             \
	VFMLA V3.S4, V0.S4, V4.S4;                         \
	VMOV  V11.B16, V0.B16;                             \
	VFMLA V3.S4, V4.S4, V0.S4;                         \
	VSHL  $23, V2.S4, V2.S4;                           \
	WORD  $0x6e20dc40                                  // fmul v0.4s, v2.4s, v0.4s

// HALFEXP1 replaces V1 by 2^(V1/ln 2 - k) for the k of the row, in the degree for f16.
#define HALFEXP1 \
	WORD  $0x4e39f421 /* fmax v1.4s, v1.4s, v25.4s */; \
	VMOV  V27.B16, V2.B16;                             \
	VFMLA V1.S4, V26.S4, V2.S4;                        \
	WORD  $0x4ea2d763 /* fsub v3.4s, v27.4s, v2.4s */; \
	VFMLA V1.S4, V26.S4, V3.S4;                        \
	VMOV  V8.B16, V4.B16;                              \
	VFMLA V3.S4, V7.S4, V4.S4;                         \
	VMOV  V9.B16, V1.B16;                              \
	VFMLA V3.S4, V4.S4, V1.S4;                         \
	VMOV  V10.B16, V4.B16;                             \
	VFMLA V3.S4, V1.S4, V4.S4;                         \
	VMOV  V11.B16, V1.B16;                             \
	VFMLA V3.S4, V4.S4, V1.S4;                         \
	VSHL  $23, V2.S4, V2.S4;                           \
	WORD  $0x6e21dc41                                  // fmul v1.4s, v2.4s, v1.4s

// NEAREST0 adds half a step of bf16 to V0, less its lowest bit for ties: the upper half is then the bf16.
#define NEAREST0 \
	VUSHR $16, V0.S4, V4.S4;       \
	VAND  V30.B16, V4.B16, V4.B16; \
	VADD  V29.S4, V4.S4, V4.S4;    \
	VADD  V4.S4, V0.S4, V0.S4

// NEAREST1 adds half a step of bf16 to V1, less its lowest bit for ties: the upper half is then the bf16.
#define NEAREST1 \
	VUSHR $16, V1.S4, V4.S4;       \
	VAND  V30.B16, V4.B16, V4.B16; \
	VADD  V29.S4, V4.S4, V4.S4;    \
	VADD  V4.S4, V1.S4, V1.S4

// func softmaxExpF32NEON(x *byte, e *float32, groups int, lanes, row *float32, ahead int)
TEXT ·softmaxExpF32NEON(SB), NOSPLIT, $0-48
	MOVD   x+0(FP), R0
	MOVD   e+8(FP), R1
	MOVD   groups+16(FP), R2
	MOVD   lanes+24(FP), R3
	MOVD   ahead+40(FP), R4
	MOVD   row+32(FP), R9
	FMOVS  (R9), F24                                // the maximum
	VDUP   V24.S[0], V24.S4
	MOVD   $0xc2b00000, R9                          // n is -508 here, and the power of two the bit pattern 0
	VDUP   R9, V25.S4
	MOVD   $0x40b8aa3b, R9                          // 4/ln 2
	VDUP   R9, V26.S4
	MOVD   $0x4b400000, R9                          // 1.5 2^23: the low bits of a sum with it are n
	VDUP   R9, V27.S4
	MOVD   $0x3e317218, R9                          // ln 2 / 4
	VDUP   R9, V28.S4
	MOVD   $0xb002e308, R9                          // and what float32 leaves of it
	VDUP   R9, V5.S4
	MOVD   $0x3d2a908a, R9                          // coefficient of r^4
	VDUP   R9, V6.S4
	MOVD   $0x3e2ab8ec, R9                          // of r^3
	VDUP   R9, V7.S4
	MOVD   $0x3f000003, R9                          // of r^2
	VDUP   R9, V8.S4
	MOVD   $0x3f800000, R9                          // and the others
	VDUP   R9, V9.S4
	MOVD   $0x00000003, R9                          // which quarter
	VDUP   R9, V10.S4
	MOVD   $0x03020100, R9                          // bytes of a word
	VDUP   R9, V11.S4
	MOVD   $quarters<>(SB), R9
	FMOVQ  (R9), F12
	VLD1.P 64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R3), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R3
	CBZ    R2, done

loop:
	ADD   R4, R0, R10
	PRFM  (R10), PLDL2KEEP
	PRFM  64(R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	FMOVQ 16(R0), F1
	WORD  $0x4eb8d400        // fsub v0.4s, v0.4s, v24.4s
	EXP0
	WORD  $0x4e20d610        // fadd v16.4s, v16.4s, v0.4s
	FMOVQ F0, 0(R1)
	WORD  $0x4eb8d421        // fsub v1.4s, v1.4s, v24.4s
	EXP1
	WORD  $0x4e21d631        // fadd v17.4s, v17.4s, v1.4s
	FMOVQ F1, 16(R1)
	FMOVQ 32(R0), F0
	FMOVQ 48(R0), F1
	WORD  $0x4eb8d400        // fsub v0.4s, v0.4s, v24.4s
	EXP0
	WORD  $0x4e20d652        // fadd v18.4s, v18.4s, v0.4s
	FMOVQ F0, 32(R1)
	WORD  $0x4eb8d421        // fsub v1.4s, v1.4s, v24.4s
	EXP1
	WORD  $0x4e21d673        // fadd v19.4s, v19.4s, v1.4s
	FMOVQ F1, 48(R1)
	FMOVQ 64(R0), F0
	FMOVQ 80(R0), F1
	WORD  $0x4eb8d400        // fsub v0.4s, v0.4s, v24.4s
	EXP0
	WORD  $0x4e20d694        // fadd v20.4s, v20.4s, v0.4s
	FMOVQ F0, 64(R1)
	WORD  $0x4eb8d421        // fsub v1.4s, v1.4s, v24.4s
	EXP1
	WORD  $0x4e21d6b5        // fadd v21.4s, v21.4s, v1.4s
	FMOVQ F1, 80(R1)
	FMOVQ 96(R0), F0
	FMOVQ 112(R0), F1
	WORD  $0x4eb8d400        // fsub v0.4s, v0.4s, v24.4s
	EXP0
	WORD  $0x4e20d6d6        // fadd v22.4s, v22.4s, v0.4s
	FMOVQ F0, 96(R1)
	WORD  $0x4eb8d421        // fsub v1.4s, v1.4s, v24.4s
	EXP1
	WORD  $0x4e21d6f7        // fadd v23.4s, v23.4s, v1.4s
	FMOVQ F1, 112(R1)
	ADD   $128, R0
	ADD   $128, R1
	SUB   $1, R2
	CBNZ  R2, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R3)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R3)
	RET

// func softmaxGradF32NEON(y, dy, dx *byte, groups int, dot float32, ahead, nt int)
TEXT ·softmaxGradF32NEON(SB), NOSPLIT, $0-56
	MOVD  y+0(FP), R0
	MOVD  dy+8(FP), R1
	MOVD  dx+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS dot+32(FP), F24
	VDUP  V24.S[0], V24.S4
	CBZ   R3, done

loop:
	ADD  R4, R1, R10
	PRFM (R10), PLDL2KEEP
	PRFM 64(R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R1), F0
	FMOVQ 16(R1), F1
	FMOVQ 0(R0), F2
	FMOVQ 16(R0), F3
	WORD  $0x4eb8d400 // fsub v0.4s, v0.4s, v24.4s
	WORD  $0x6e22dc00 // fmul v0.4s, v0.4s, v2.4s
	WORD  $0x4eb8d421 // fsub v1.4s, v1.4s, v24.4s
	WORD  $0x6e23dc21 // fmul v1.4s, v1.4s, v3.4s
	FMOVQ F0, 0(R2)
	FMOVQ F1, 16(R2)
	ADD   $32, R0
	ADD   $32, R1
	ADD   $32, R2
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

// func softmaxExpBF16NEON(x *byte, e *float32, groups int, lanes, row *float32, ahead int)
TEXT ·softmaxExpBF16NEON(SB), NOSPLIT, $0-48
	MOVD   x+0(FP), R0
	MOVD   e+8(FP), R1
	MOVD   groups+16(FP), R2
	MOVD   lanes+24(FP), R3
	MOVD   ahead+40(FP), R4
	MOVD   row+32(FP), R9
	FMOVS  4(R9), F25                               // the least that has an exponential
	VDUP   V25.S[0], V25.S4
	FMOVS  8(R9), F27                               // the low bits of a sum with it are n + 127
	VDUP   V27.S[0], V27.S4
	MOVD   $0xffff0000, R9                          // a bf16 is the upper half
	VDUP   R9, V31.S4
	MOVD   $0x3fb8aa3b, R9                          // 1/ln 2
	VDUP   R9, V26.S4
	MOVD   $0x3d61fbb1, R9                          // coefficient of f^3
	VDUP   R9, V7.S4
	MOVD   $0x3e786f0d, R9                          // coefficient of f^2
	VDUP   R9, V8.S4
	MOVD   $0x3f31798d, R9                          // coefficient of f^1
	VDUP   R9, V9.S4
	MOVD   $0x3f7ffb49, R9                          // coefficient of f^0
	VDUP   R9, V10.S4
	VLD1.P 64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R3), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R3
	CBZ    R2, done

loop:
	ADD   R4, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	SHORTEXP0
	WORD  $0x4e20d610             // fadd v16.4s, v16.4s, v0.4s
	FMOVQ F0, 0(R1)
	SHORTEXP1
	WORD  $0x4e21d694             // fadd v20.4s, v20.4s, v1.4s
	FMOVQ F1, 64(R1)
	FMOVQ 16(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	SHORTEXP0
	WORD  $0x4e20d631             // fadd v17.4s, v17.4s, v0.4s
	FMOVQ F0, 16(R1)
	SHORTEXP1
	WORD  $0x4e21d6b5             // fadd v21.4s, v21.4s, v1.4s
	FMOVQ F1, 80(R1)
	FMOVQ 32(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	SHORTEXP0
	WORD  $0x4e20d652             // fadd v18.4s, v18.4s, v0.4s
	FMOVQ F0, 32(R1)
	SHORTEXP1
	WORD  $0x4e21d6d6             // fadd v22.4s, v22.4s, v1.4s
	FMOVQ F1, 96(R1)
	FMOVQ 48(R0), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	SHORTEXP0
	WORD  $0x4e20d673             // fadd v19.4s, v19.4s, v0.4s
	FMOVQ F0, 48(R1)
	SHORTEXP1
	WORD  $0x4e21d6f7             // fadd v23.4s, v23.4s, v1.4s
	FMOVQ F1, 112(R1)
	ADD   $64, R0
	ADD   $128, R1
	SUB   $1, R2
	CBNZ  R2, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R3)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R3)
	RET

// func softmaxGradBF16NEON(y, dy, dx *byte, groups int, dot float32, ahead, nt int)
TEXT ·softmaxGradBF16NEON(SB), NOSPLIT, $0-56
	MOVD  y+0(FP), R0
	MOVD  dy+8(FP), R1
	MOVD  dx+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS dot+32(FP), F24
	VDUP  V24.S[0], V24.S4
	MOVD  $0xffff0000, R9   // a bf16 is the upper half
	VDUP  R9, V31.S4
	MOVD  $0x00000001, R9   // its lowest bit
	VDUP  R9, V30.S4
	MOVD  $0x00007fff, R9   // half a step, less that bit
	VDUP  R9, V29.S4
	CBZ   R3, done

loop:
	ADD  R4, R1, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R1), F0
	VAND  V31.B16, V0.B16, V1.B16
	VSHL  $16, V0.S4, V0.S4
	FMOVQ 0(R0), F2
	VAND  V31.B16, V2.B16, V3.B16
	VSHL  $16, V2.S4, V2.S4
	WORD  $0x4eb8d400             // fsub v0.4s, v0.4s, v24.4s
	WORD  $0x6e22dc00             // fmul v0.4s, v0.4s, v2.4s
	WORD  $0x4eb8d421             // fsub v1.4s, v1.4s, v24.4s
	WORD  $0x6e23dc21             // fmul v1.4s, v1.4s, v3.4s
	NEAREST0
	NEAREST1
	VSRI  $16, V0.S4, V1.S4
	FMOVQ F1, 0(R2)
	ADD   $16, R0
	ADD   $16, R1
	ADD   $16, R2
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

// func softmaxExpF16NEON(x *byte, e *float32, groups int, lanes, row *float32, ahead int)
TEXT ·softmaxExpF16NEON(SB), NOSPLIT, $0-48
	MOVD   x+0(FP), R0
	MOVD   e+8(FP), R1
	MOVD   groups+16(FP), R2
	MOVD   lanes+24(FP), R3
	MOVD   ahead+40(FP), R4
	MOVD   row+32(FP), R9
	FMOVS  4(R9), F25                               // the least that has an exponential
	VDUP   V25.S[0], V25.S4
	FMOVS  8(R9), F27                               // the low bits of a sum with it are n + 127
	VDUP   V27.S[0], V27.S4
	MOVD   $0x3fb8aa3b, R9                          // 1/ln 2
	VDUP   R9, V26.S4
	MOVD   $0x3c1ccbeb, R9                          // coefficient of f^4
	VDUP   R9, V7.S4
	MOVD   $0x3d650a20, R9                          // coefficient of f^3
	VDUP   R9, V8.S4
	MOVD   $0x3e76036d, R9                          // coefficient of f^2
	VDUP   R9, V9.S4
	MOVD   $0x3f31706e, R9                          // coefficient of f^1
	VDUP   R9, V10.S4
	MOVD   $0x3f7ffff4, R9                          // coefficient of f^0
	VDUP   R9, V11.S4
	VLD1.P 64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1   (R3), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUB    $64, R3
	CBZ    R2, done

loop:
	ADD   R4, R0, R10
	PRFM  (R10), PLDL2KEEP
	FMOVQ 0(R0), F1
	WORD  $0x0e217820      // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821      // fcvtl2 v1.4s, v1.8h
	HALFEXP0
	WORD  $0x4e20d610      // fadd v16.4s, v16.4s, v0.4s
	FMOVQ F0, 0(R1)
	HALFEXP1
	WORD  $0x4e21d631      // fadd v17.4s, v17.4s, v1.4s
	FMOVQ F1, 16(R1)
	FMOVQ 16(R0), F1
	WORD  $0x0e217820      // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821      // fcvtl2 v1.4s, v1.8h
	HALFEXP0
	WORD  $0x4e20d652      // fadd v18.4s, v18.4s, v0.4s
	FMOVQ F0, 32(R1)
	HALFEXP1
	WORD  $0x4e21d673      // fadd v19.4s, v19.4s, v1.4s
	FMOVQ F1, 48(R1)
	FMOVQ 32(R0), F1
	WORD  $0x0e217820      // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821      // fcvtl2 v1.4s, v1.8h
	HALFEXP0
	WORD  $0x4e20d694      // fadd v20.4s, v20.4s, v0.4s
	FMOVQ F0, 64(R1)
	HALFEXP1
	WORD  $0x4e21d6b5      // fadd v21.4s, v21.4s, v1.4s
	FMOVQ F1, 80(R1)
	FMOVQ 48(R0), F1
	WORD  $0x0e217820      // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821      // fcvtl2 v1.4s, v1.8h
	HALFEXP0
	WORD  $0x4e20d6d6      // fadd v22.4s, v22.4s, v0.4s
	FMOVQ F0, 96(R1)
	HALFEXP1
	WORD  $0x4e21d6f7      // fadd v23.4s, v23.4s, v1.4s
	FMOVQ F1, 112(R1)
	ADD   $64, R0
	ADD   $128, R1
	SUB   $1, R2
	CBNZ  R2, loop

done:
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R3)
	VST1   [V20.S4, V21.S4, V22.S4, V23.S4], (R3)
	RET

// func softmaxGradF16NEON(y, dy, dx *byte, groups int, dot float32, ahead, nt int)
TEXT ·softmaxGradF16NEON(SB), NOSPLIT, $0-56
	MOVD  y+0(FP), R0
	MOVD  dy+8(FP), R1
	MOVD  dx+16(FP), R2
	MOVD  groups+24(FP), R3
	MOVD  ahead+40(FP), R4
	FMOVS dot+32(FP), F24
	VDUP  V24.S[0], V24.S4
	CBZ   R3, done

loop:
	ADD  R4, R1, R10
	PRFM (R10), PLDL2KEEP
	MOVD $4, R11

pair:
	FMOVQ 0(R1), F1
	WORD  $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD  $0x4e217821 // fcvtl2 v1.4s, v1.8h
	FMOVQ 0(R0), F3
	WORD  $0x0e217862 // fcvtl v2.4s, v3.4h
	WORD  $0x4e217863 // fcvtl2 v3.4s, v3.8h
	WORD  $0x4eb8d400 // fsub v0.4s, v0.4s, v24.4s
	WORD  $0x6e22dc00 // fmul v0.4s, v0.4s, v2.4s
	WORD  $0x4eb8d421 // fsub v1.4s, v1.4s, v24.4s
	WORD  $0x6e23dc21 // fmul v1.4s, v1.4s, v3.4s
	WORD  $0x0e216800 // fcvtn v0.4h, v0.4s
	WORD  $0x4e216820 // fcvtn2 v0.8h, v1.4s
	FMOVQ F0, 0(R2)
	ADD   $16, R0
	ADD   $16, R1
	ADD   $16, R2
	SUB   $1, R11
	CBNZ  R11, pair
	SUB   $1, R3
	CBNZ  R3, loop

done:
	RET

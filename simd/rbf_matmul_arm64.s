//go:build !noasm

#include "textflag.h"

// A tile is 4 rows by half a panel, 64 bytes of columns: V16 to V31 accumulate, row r in
// V16+4r to V19+4r. V0 to V3 are columns, V4 (and V10) a component of the rows, V5 one of
// them in all lanes, V6 to V9 differences. R12 is which half. Constants are read where they are used, which
// also starts each sum with its addend. Steps and constants are those of simd/_gen, so
// that the bits are those of AVX2.

// quarters is 2^(i/4), less i 2^21: what the lower bits of n add.
DATA quarters<>+0(SB)/4, $0x3f800000
DATA quarters<>+4(SB)/4, $0x3f7837f0
DATA quarters<>+8(SB)/4, $0x3f7504f3
DATA quarters<>+12(SB)/4, $0x3f7744fd
GLOBL quarters<>(SB), RODATA|NOPTR, $16
// exp2F32 is 1.5 2^23, the coefficients of 2^(f/4), then 3 and the bytes of a word.
DATA exp2F32<>+0(SB)/4, $0x4b400000
DATA exp2F32<>+4(SB)/4, $0x4b400000
DATA exp2F32<>+8(SB)/4, $0x4b400000
DATA exp2F32<>+12(SB)/4, $0x4b400000
DATA exp2F32<>+16(SB)/4, $0x3f800000
DATA exp2F32<>+20(SB)/4, $0x3f800000
DATA exp2F32<>+24(SB)/4, $0x3f800000
DATA exp2F32<>+28(SB)/4, $0x3f800000
DATA exp2F32<>+32(SB)/4, $0x3e317216
DATA exp2F32<>+36(SB)/4, $0x3e317216
DATA exp2F32<>+40(SB)/4, $0x3e317216
DATA exp2F32<>+44(SB)/4, $0x3e317216
DATA exp2F32<>+48(SB)/4, $0x3c75fdf4
DATA exp2F32<>+52(SB)/4, $0x3c75fdf4
DATA exp2F32<>+56(SB)/4, $0x3c75fdf4
DATA exp2F32<>+60(SB)/4, $0x3c75fdf4
DATA exp2F32<>+64(SB)/4, $0x3a637363
DATA exp2F32<>+68(SB)/4, $0x3a637363
DATA exp2F32<>+72(SB)/4, $0x3a637363
DATA exp2F32<>+76(SB)/4, $0x3a637363
DATA exp2F32<>+80(SB)/4, $0x381d8d31
DATA exp2F32<>+84(SB)/4, $0x381d8d31
DATA exp2F32<>+88(SB)/4, $0x381d8d31
DATA exp2F32<>+92(SB)/4, $0x381d8d31
DATA exp2F32<>+96(SB)/4, $0x00000003
DATA exp2F32<>+100(SB)/4, $0x00000003
DATA exp2F32<>+104(SB)/4, $0x00000003
DATA exp2F32<>+108(SB)/4, $0x00000003
DATA exp2F32<>+112(SB)/4, $0x03020100
DATA exp2F32<>+116(SB)/4, $0x03020100
DATA exp2F32<>+120(SB)/4, $0x03020100
DATA exp2F32<>+124(SB)/4, $0x03020100
GLOBL exp2F32<>(SB), RODATA|NOPTR, $128
// exp2F64 is 1.5 2^52 plus the exponent bias, and the coefficients of 2^f.
DATA exp2F64<>+0(SB)/8, $0x43380000000003ff
DATA exp2F64<>+8(SB)/8, $0x43380000000003ff
DATA exp2F64<>+16(SB)/8, $0x3ff0000000000000
DATA exp2F64<>+24(SB)/8, $0x3ff0000000000000
DATA exp2F64<>+32(SB)/8, $0x3fe62e42fefa39f3
DATA exp2F64<>+40(SB)/8, $0x3fe62e42fefa39f3
DATA exp2F64<>+48(SB)/8, $0x3fcebfbdff82c598
DATA exp2F64<>+56(SB)/8, $0x3fcebfbdff82c598
DATA exp2F64<>+64(SB)/8, $0x3fac6b08d7048f2e
DATA exp2F64<>+72(SB)/8, $0x3fac6b08d7048f2e
DATA exp2F64<>+80(SB)/8, $0x3f83b2ab6fba1e12
DATA exp2F64<>+88(SB)/8, $0x3f83b2ab6fba1e12
DATA exp2F64<>+96(SB)/8, $0x3f55d87fe7bbc5a2
DATA exp2F64<>+104(SB)/8, $0x3f55d87fe7bbc5a2
DATA exp2F64<>+112(SB)/8, $0x3f24309130963aa4
DATA exp2F64<>+120(SB)/8, $0x3f24309130963aa4
DATA exp2F64<>+128(SB)/8, $0x3eeffcbee3996d05
DATA exp2F64<>+136(SB)/8, $0x3eeffcbee3996d05
DATA exp2F64<>+144(SB)/8, $0x3eb62bfd496ec926
DATA exp2F64<>+152(SB)/8, $0x3eb62bfd496ec926
DATA exp2F64<>+160(SB)/8, $0x3e7b541691500eb4
DATA exp2F64<>+168(SB)/8, $0x3e7b541691500eb4
DATA exp2F64<>+176(SB)/8, $0x3e3e606094de60e4
DATA exp2F64<>+184(SB)/8, $0x3e3e606094de60e4
DATA exp2F64<>+192(SB)/8, $0x3dfc063887164082
DATA exp2F64<>+200(SB)/8, $0x3dfc063887164082
GLOBL exp2F64<>(SB), RODATA|NOPTR, $208

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

// VALUEF32 replaces squared distances in V6 by 2^(c*u/4): V0 is c, V1 its low part, V2 the limit, V3
// the rounding constant, V7 what c u has beyond its rounded part.
#define VALUEF32 \
	WORD  $0x4ea2f4c6 /* fmin v6.4s, v6.4s, v2.4s */; \
	VMOV  V3.B16, V4.B16;                             \
	VFMLA V6.S4, V0.S4, V4.S4;                        \
	WORD  $0x4ea4d467 /* fsub v7.4s, v3.4s, v4.4s */; \
	VFMLA V6.S4, V0.S4, V7.S4;                        \
	VFMLA V6.S4, V1.S4, V7.S4;                        \
	FMOVQ 80(R11), F8;                                \
	FMOVQ 64(R11), F9;                                \
	VFMLA V8.S4, V7.S4, V9.S4;                        \
	FMOVQ 48(R11), F8;                                \
	VFMLA V9.S4, V7.S4, V8.S4;                        \
	FMOVQ 32(R11), F9;                                \
	VFMLA V8.S4, V7.S4, V9.S4;                        \
	FMOVQ 16(R11), F8;                                \
	VFMLA V9.S4, V7.S4, V8.S4;                        \
	VAND  V14.B16, V4.B16, V5.B16;                    \
	VSHL  $2, V5.S4, V5.S4;                           \
	VSLI  $8, V5.S4, V5.S4;                           \
	VSLI  $16, V5.S4, V5.S4;                          \
	VADD  V15.S4, V5.S4, V5.S4;                       \
	VTBL  V5.B16, [V12.B16], V5.B16;                  \
	VSHL  $21, V4.S4, V4.S4;                          \
	VADD  V5.S4, V4.S4, V4.S4;                        \
	WORD  $0x6e28dc86                                 // fmul v6.4s, v4.4s, v8.4s

// VALUEF64 replaces squared distances in V6 by 2^(c*u): V0 is c, V1 its low part, V2 the limit, V3
// the rounding constant, V7 what c u has beyond its rounded part.
#define VALUEF64 \
	WORD  $0x4ee2f4c6 /* fmin v6.2d, v6.2d, v2.2d */; \
	VMOV  V3.B16, V4.B16;                             \
	VFMLA V6.D2, V0.D2, V4.D2;                        \
	WORD  $0x4ee4d467 /* fsub v7.2d, v3.2d, v4.2d */; \
	VFMLA V6.D2, V0.D2, V7.D2;                        \
	VFMLA V6.D2, V1.D2, V7.D2;                        \
	WORD  $0x6e67dce6 /* fmul v6.2d, v7.2d, v7.2d */; \
	FMOVQ 192(R11), F8;                               \
	FMOVQ 176(R11), F10;                              \
	FMOVQ 160(R11), F9;                               \
	VFMLA V8.D2, V6.D2, V9.D2;                        \
	FMOVQ 144(R11), F11;                              \
	VFMLA V10.D2, V6.D2, V11.D2;                      \
	FMOVQ 128(R11), F8;                               \
	VFMLA V9.D2, V6.D2, V8.D2;                        \
	FMOVQ 112(R11), F10;                              \
	VFMLA V11.D2, V6.D2, V10.D2;                      \
	FMOVQ 96(R11), F9;                                \
	VFMLA V8.D2, V6.D2, V9.D2;                        \
	FMOVQ 80(R11), F11;                               \
	VFMLA V10.D2, V6.D2, V11.D2;                      \
	FMOVQ 64(R11), F8;                                \
	VFMLA V9.D2, V6.D2, V8.D2;                        \
	FMOVQ 48(R11), F10;                               \
	VFMLA V11.D2, V6.D2, V10.D2;                      \
	FMOVQ 32(R11), F9;                                \
	VFMLA V8.D2, V6.D2, V9.D2;                        \
	FMOVQ 16(R11), F11;                               \
	VFMLA V10.D2, V6.D2, V11.D2;                      \
	VFMLA V9.D2, V7.D2, V11.D2;                       \
	VSHL  $52, V4.D2, V4.D2;                          \
	WORD  $0x6e6bdc86                                 // fmul v6.2d, v4.2d, v11.2d

// func rbfTileF32NEON(x, y, k *float32, d, panels, stride int, c, clow, limit float32)
TEXT ·rbfTileF32NEON(SB), NOSPLIT, $0-60
	MOVD x+0(FP), R0
	MOVD y+8(FP), R1
	MOVD k+16(FP), R2
	MOVD d+24(FP), R3
	MOVD panels+32(FP), R4
	MOVD stride+40(FP), R5
	LSL  $7, R3, R6          // bytes of a panel
	MOVD $exp2F32<>(SB), R11
	MOVD ZR, R12
	CBZ  R4, done

loop:

half:
	ZERO
	MOVD R0, R7
	MOVD R1, R8
	MOVD R3, R9

component:
	FMOVQ 0(R8), F0
	FMOVQ 16(R8), F1
	FMOVQ 32(R8), F2
	FMOVQ 48(R8), F3
	FMOVQ (R7), F4
	VDUP  V4.S[0], V5.S4
	WORD  $0x4ea0d4a6          // fsub v6.4s, v5.4s, v0.4s
	WORD  $0x4ea1d4a7          // fsub v7.4s, v5.4s, v1.4s
	WORD  $0x4ea2d4a8          // fsub v8.4s, v5.4s, v2.4s
	WORD  $0x4ea3d4a9          // fsub v9.4s, v5.4s, v3.4s
	VFMLA V6.S4, V6.S4, V16.S4
	VFMLA V7.S4, V7.S4, V17.S4
	VFMLA V8.S4, V8.S4, V18.S4
	VFMLA V9.S4, V9.S4, V19.S4
	VDUP  V4.S[1], V5.S4
	WORD  $0x4ea0d4a6          // fsub v6.4s, v5.4s, v0.4s
	WORD  $0x4ea1d4a7          // fsub v7.4s, v5.4s, v1.4s
	WORD  $0x4ea2d4a8          // fsub v8.4s, v5.4s, v2.4s
	WORD  $0x4ea3d4a9          // fsub v9.4s, v5.4s, v3.4s
	VFMLA V6.S4, V6.S4, V20.S4
	VFMLA V7.S4, V7.S4, V21.S4
	VFMLA V8.S4, V8.S4, V22.S4
	VFMLA V9.S4, V9.S4, V23.S4
	VDUP  V4.S[2], V5.S4
	WORD  $0x4ea0d4a6          // fsub v6.4s, v5.4s, v0.4s
	WORD  $0x4ea1d4a7          // fsub v7.4s, v5.4s, v1.4s
	WORD  $0x4ea2d4a8          // fsub v8.4s, v5.4s, v2.4s
	WORD  $0x4ea3d4a9          // fsub v9.4s, v5.4s, v3.4s
	VFMLA V6.S4, V6.S4, V24.S4
	VFMLA V7.S4, V7.S4, V25.S4
	VFMLA V8.S4, V8.S4, V26.S4
	VFMLA V9.S4, V9.S4, V27.S4
	VDUP  V4.S[3], V5.S4
	WORD  $0x4ea0d4a6          // fsub v6.4s, v5.4s, v0.4s
	WORD  $0x4ea1d4a7          // fsub v7.4s, v5.4s, v1.4s
	WORD  $0x4ea2d4a8          // fsub v8.4s, v5.4s, v2.4s
	WORD  $0x4ea3d4a9          // fsub v9.4s, v5.4s, v3.4s
	VFMLA V6.S4, V6.S4, V28.S4
	VFMLA V7.S4, V7.S4, V29.S4
	VFMLA V8.S4, V8.S4, V30.S4
	VFMLA V9.S4, V9.S4, V31.S4
	ADD   $16, R7
	ADD   $128, R8
	SUB   $1, R9
	CBNZ  R9, component
	FMOVS c+48(FP), F0
	VDUP  V0.S[0], V0.S4
	FMOVS clow+52(FP), F1
	VDUP  V1.S[0], V1.S4
	FMOVS limit+56(FP), F2
	VDUP  V2.S[0], V2.S4
	FMOVQ (R11), F3
	MOVD  $quarters<>(SB), R9
	FMOVQ (R9), F12
	FMOVQ 96(R11), F14
	FMOVQ 112(R11), F15
	MOVD  R2, R7
	VMOV  V16.B16, V6.B16
	VALUEF32
	FMOVQ F6, 0(R7)
	VMOV  V17.B16, V6.B16
	VALUEF32
	FMOVQ F6, 16(R7)
	VMOV  V18.B16, V6.B16
	VALUEF32
	FMOVQ F6, 32(R7)
	VMOV  V19.B16, V6.B16
	VALUEF32
	FMOVQ F6, 48(R7)
	ADD   R5, R7
	VMOV  V20.B16, V6.B16
	VALUEF32
	FMOVQ F6, 0(R7)
	VMOV  V21.B16, V6.B16
	VALUEF32
	FMOVQ F6, 16(R7)
	VMOV  V22.B16, V6.B16
	VALUEF32
	FMOVQ F6, 32(R7)
	VMOV  V23.B16, V6.B16
	VALUEF32
	FMOVQ F6, 48(R7)
	ADD   R5, R7
	VMOV  V24.B16, V6.B16
	VALUEF32
	FMOVQ F6, 0(R7)
	VMOV  V25.B16, V6.B16
	VALUEF32
	FMOVQ F6, 16(R7)
	VMOV  V26.B16, V6.B16
	VALUEF32
	FMOVQ F6, 32(R7)
	VMOV  V27.B16, V6.B16
	VALUEF32
	FMOVQ F6, 48(R7)
	ADD   R5, R7
	VMOV  V28.B16, V6.B16
	VALUEF32
	FMOVQ F6, 0(R7)
	VMOV  V29.B16, V6.B16
	VALUEF32
	FMOVQ F6, 16(R7)
	VMOV  V30.B16, V6.B16
	VALUEF32
	FMOVQ F6, 32(R7)
	VMOV  V31.B16, V6.B16
	VALUEF32
	FMOVQ F6, 48(R7)
	ADD   $64, R2
	ADD   $64, R1
	EOR   $1, R12
	CBNZ  R12, half
	SUB   $128, R1
	ADD   R6, R1
	SUB   $1, R4
	CBNZ  R4, loop

done:
	RET

// func rbfTileF64NEON(x, y, k *float64, d, panels, stride int, c, clow, limit float64)
TEXT ·rbfTileF64NEON(SB), NOSPLIT, $0-72
	MOVD x+0(FP), R0
	MOVD y+8(FP), R1
	MOVD k+16(FP), R2
	MOVD d+24(FP), R3
	MOVD panels+32(FP), R4
	MOVD stride+40(FP), R5
	LSL  $7, R3, R6          // bytes of a panel
	MOVD $exp2F64<>(SB), R11
	MOVD ZR, R12
	CBZ  R4, done

loop:

half:
	ZERO
	MOVD R0, R7
	MOVD R1, R8
	MOVD R3, R9

component:
	FMOVQ 0(R8), F0
	FMOVQ 16(R8), F1
	FMOVQ 32(R8), F2
	FMOVQ 48(R8), F3
	FMOVQ (R7), F4
	FMOVQ 16(R7), F10
	VDUP  V4.D[0], V5.D2
	WORD  $0x4ee0d4a6          // fsub v6.2d, v5.2d, v0.2d
	WORD  $0x4ee1d4a7          // fsub v7.2d, v5.2d, v1.2d
	WORD  $0x4ee2d4a8          // fsub v8.2d, v5.2d, v2.2d
	WORD  $0x4ee3d4a9          // fsub v9.2d, v5.2d, v3.2d
	VFMLA V6.D2, V6.D2, V16.D2
	VFMLA V7.D2, V7.D2, V17.D2
	VFMLA V8.D2, V8.D2, V18.D2
	VFMLA V9.D2, V9.D2, V19.D2
	VDUP  V4.D[1], V5.D2
	WORD  $0x4ee0d4a6          // fsub v6.2d, v5.2d, v0.2d
	WORD  $0x4ee1d4a7          // fsub v7.2d, v5.2d, v1.2d
	WORD  $0x4ee2d4a8          // fsub v8.2d, v5.2d, v2.2d
	WORD  $0x4ee3d4a9          // fsub v9.2d, v5.2d, v3.2d
	VFMLA V6.D2, V6.D2, V20.D2
	VFMLA V7.D2, V7.D2, V21.D2
	VFMLA V8.D2, V8.D2, V22.D2
	VFMLA V9.D2, V9.D2, V23.D2
	VDUP  V10.D[0], V5.D2
	WORD  $0x4ee0d4a6          // fsub v6.2d, v5.2d, v0.2d
	WORD  $0x4ee1d4a7          // fsub v7.2d, v5.2d, v1.2d
	WORD  $0x4ee2d4a8          // fsub v8.2d, v5.2d, v2.2d
	WORD  $0x4ee3d4a9          // fsub v9.2d, v5.2d, v3.2d
	VFMLA V6.D2, V6.D2, V24.D2
	VFMLA V7.D2, V7.D2, V25.D2
	VFMLA V8.D2, V8.D2, V26.D2
	VFMLA V9.D2, V9.D2, V27.D2
	VDUP  V10.D[1], V5.D2
	WORD  $0x4ee0d4a6          // fsub v6.2d, v5.2d, v0.2d
	WORD  $0x4ee1d4a7          // fsub v7.2d, v5.2d, v1.2d
	WORD  $0x4ee2d4a8          // fsub v8.2d, v5.2d, v2.2d
	WORD  $0x4ee3d4a9          // fsub v9.2d, v5.2d, v3.2d
	VFMLA V6.D2, V6.D2, V28.D2
	VFMLA V7.D2, V7.D2, V29.D2
	VFMLA V8.D2, V8.D2, V30.D2
	VFMLA V9.D2, V9.D2, V31.D2
	ADD   $32, R7
	ADD   $128, R8
	SUB   $1, R9
	CBNZ  R9, component
	FMOVD c+48(FP), F0
	VDUP  V0.D[0], V0.D2
	FMOVD clow+56(FP), F1
	VDUP  V1.D[0], V1.D2
	FMOVD limit+64(FP), F2
	VDUP  V2.D[0], V2.D2
	FMOVQ (R11), F3
	MOVD  R2, R7
	VMOV  V16.B16, V6.B16
	VALUEF64
	FMOVQ F6, 0(R7)
	VMOV  V17.B16, V6.B16
	VALUEF64
	FMOVQ F6, 16(R7)
	VMOV  V18.B16, V6.B16
	VALUEF64
	FMOVQ F6, 32(R7)
	VMOV  V19.B16, V6.B16
	VALUEF64
	FMOVQ F6, 48(R7)
	ADD   R5, R7
	VMOV  V20.B16, V6.B16
	VALUEF64
	FMOVQ F6, 0(R7)
	VMOV  V21.B16, V6.B16
	VALUEF64
	FMOVQ F6, 16(R7)
	VMOV  V22.B16, V6.B16
	VALUEF64
	FMOVQ F6, 32(R7)
	VMOV  V23.B16, V6.B16
	VALUEF64
	FMOVQ F6, 48(R7)
	ADD   R5, R7
	VMOV  V24.B16, V6.B16
	VALUEF64
	FMOVQ F6, 0(R7)
	VMOV  V25.B16, V6.B16
	VALUEF64
	FMOVQ F6, 16(R7)
	VMOV  V26.B16, V6.B16
	VALUEF64
	FMOVQ F6, 32(R7)
	VMOV  V27.B16, V6.B16
	VALUEF64
	FMOVQ F6, 48(R7)
	ADD   R5, R7
	VMOV  V28.B16, V6.B16
	VALUEF64
	FMOVQ F6, 0(R7)
	VMOV  V29.B16, V6.B16
	VALUEF64
	FMOVQ F6, 16(R7)
	VMOV  V30.B16, V6.B16
	VALUEF64
	FMOVQ F6, 32(R7)
	VMOV  V31.B16, V6.B16
	VALUEF64
	FMOVQ F6, 48(R7)
	ADD   $64, R2
	ADD   $64, R1
	EOR   $1, R12
	CBNZ  R12, half
	SUB   $128, R1
	ADD   R6, R1
	SUB   $1, R4
	CBNZ  R4, loop

done:
	RET

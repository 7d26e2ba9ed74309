package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("residual_encode", func(c *build.Context) {
	v := vec{Context: c}
	for _, bits := range []int{1, 2, 4, 8} {
		encodeBucket(v, bits)
	}
	encodeSum(v)
})

// encodeBucket: a binary search down levels of cut points, whose entries the bits found so far
// number. Up to 8 are in a register, more in memory.
func encodeBucket(v vec, bits int) {
	v.function(fmt.Sprintf("encodeBucket%d", bits), "finds the buckets of n components, a multiple of 8, and the squares of c plus weight.\nReference: encodeBucketGeneric.",
		"func(x, c, levels, weight *float32, n int, bucket *uint8, square *float32)")
	x, c, levels, weight := v.pointer("x"), v.pointer("c"), v.pointer("levels"), v.pointer("weight")
	n, bucket, square := v.pointer("n"), v.pointer("bucket"), v.pointer("square")
	v.SHRQ(U8(3), n)
	level := v.regs(min(bits, 4))
	v.VBROADCASTSS(at(levels, f32, 0), level[0])
	for l := 1; l < len(level); l++ {
		v.VMOVUPS(at(levels, f32, 8*l), level[l])
	}
	weights := v.regs(max(1<<bits/8, 1))
	switch bits {
	case 1:
		v.VBROADCASTSD(Mem{Base: weight}, weights[0]) // both, without reading beyond
	case 2:
		v.VBROADCASTF128(Mem{Base: weight}, weights[0])
	case 4:
		v.VMOVUPS(at(weight, f32, 0), weights[0])
		v.VMOVUPS(at(weight, f32, 8), weights[1])
	}
	ones := v.reg()
	v.loop("", n, func() {
		center, r, at8 := v.reg(), v.reg(), v.reg()
		v.VMOVUPS(Mem{Base: c}, center)
		v.VMOVUPS(Mem{Base: x}, r)
		v.VSUBPS(center, r, r)
		for l := range bits {
			cut := v.reg()
			switch {
			case l == 0:
				cut = level[0]
			case l < 4:
				v.VPERMPS(level[l], at8, cut)
			default:
				v.VPCMPEQD(ones, ones, ones)
				v.VGATHERDPS(ones, Mem{Base: levels, Disp: 4 * (1<<l + 16), Index: at8, Scale: 4}, cut)
			}
			below := v.reg()
			const less = 0x11 // false for NaN, quiet
			v.VCMPPS(U8(less), r, cut, below)
			if l == 0 {
				v.VPSRLD(U8(31), below, at8)
			} else {
				v.VPADDD(at8, at8, at8)
				v.VPSUBD(below, at8, at8)
			}
		}
		w := v.reg()
		switch bits {
		case 8:
			v.VPCMPEQD(ones, ones, ones)
			v.VGATHERDPS(ones, Mem{Base: weight, Index: at8, Scale: 4}, w)
		case 4:
			high, upper := v.reg(), v.reg()
			v.VPERMPS(weights[0], at8, w)
			v.VPERMPS(weights[1], at8, high)
			v.VPSLLD(U8(28), at8, upper) // the bit that tells the halves apart, as the sign
			v.VBLENDVPS(upper, high, w, w)
		default:
			v.VPERMPS(weights[0], at8, w)
		}
		v.VADDPS(w, center, w)
		v.VMULPS(w, w, w)
		v.VMOVUPS(w, Mem{Base: square})
		v.bytes8(at8, bucket)
		v.ADDQ(U32(32), x)
		v.ADDQ(U32(32), c)
		v.ADDQ(U32(32), square)
		v.ADDQ(U32(8), bucket)
	})
	v.end()
}

// bytes8 stores eight 32-bit integers below 256 as bytes.
func (v vec) bytes8(r reg.VecVirtual, p reg.Register) {
	high := v.XMM()
	v.VEXTRACTI128(U8(1), r, high)
	v.VPACKUSDW(high, r.AsX(), high)
	v.VPACKUSWB(high, high, high)
	v.VMOVQ(high, Mem{Base: p})
}

// encodeSum: eight chains of scalar additions keep the adder as busy as a vector would that
// first had to be transposed.
func encodeSum(v vec) {
	v.function("encodeSum", "adds up n squares of each of 8 tokens, stride elements apart, in ascending order.\nReference: encodeSumGeneric.",
		"func(square *float32, stride, n int, sums *float32)")
	p, stride, n := v.pointer("square"), v.pointer("stride"), v.pointer("n")
	v.SHLQ(U8(2), stride)
	stride3, q := v.GP64(), v.GP64()
	v.LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	v.LEAQ(Mem{Base: p, Index: stride, Scale: 4}, q)
	var s [8]reg.VecVirtual
	for j := range s {
		s[j] = v.XMM()
		v.VXORPS(s[j], s[j], s[j])
	}
	v.loop("", n, func() {
		for j := range s {
			m := Mem{Base: []reg.Register{p, q}[j/4]}
			switch j % 4 {
			case 1:
				m.Index, m.Scale = stride, 1
			case 2:
				m.Index, m.Scale = stride, 2
			case 3:
				m.Index, m.Scale = stride3, 1
			}
			v.VADDSS(m, s[j], s[j])
		}
		v.ADDQ(U32(4), p)
		v.ADDQ(U32(4), q)
	})
	sums := v.pointer("sums")
	for j := range s {
		v.VMOVSS(s[j], at(sums, f32, j))
	}
	v.end()
}

package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packRows emits the transposition of 8 query tokens into a panel, 8 components a time.
func packRows(c *build.Context, bf16 bool) {
	name, elem, size, what := "maxsimPackF32AVX2", "float32", 4, "32-bit components (f32, or pairs of bf16)"
	if bf16 {
		name, elem, size, what = "maxsimPackBF16AVX2", "uint16", 2, "bf16 components, widened to f32"
	}
	begin(c, name, fmt.Sprintf("func(src *%s, stride, rows, d int, panel *float32, lanes int)", elem),
		fmt.Sprintf("%s sets panel[k*lanes+j] to component k of row j, for 8 rows of d %s,", name, what),
		"that are stride bytes apart. d is a multiple of 8; rows at and beyond the number given (1 to 8) repeat",
		"the last. Reference: maxsimPackGeneric.")
	src, stride, rows, d := load(c, "src"), load(c, "stride"), load(c, "rows"), load(c, "d")
	panel, pitch := load(c, "panel"), load(c, "lanes")
	c.SHLQ(U8(2), pitch)
	var row [8]reg.GPVirtual
	for i := range row {
		row[i] = c.GP64()
		if i == 0 {
			c.MOVQ(src, row[0])
			continue
		}
		c.MOVQ(row[i-1], row[i])
		c.ADDQ(stride, row[i])
		c.CMPQ(rows, U32(i))
		c.CMOVQLE(row[i-1], row[i])
	}
	for i := range row { // rows end where the offset k comes to 0
		c.LEAQ(Mem{Base: row[i], Index: d, Scale: uint8(size)}, row[i])
	}
	pitch3, k := stride, d
	c.LEAQ(Mem{Base: pitch, Index: pitch, Scale: 2}, pitch3)
	c.IMUL3Q(U32(size), d, k)
	c.NEGQ(k)
	c.JZ(LabelRef("end"))
	c.Label("pass")
	if bf16 {
		var r [8]reg.VecVirtual
		for i := range r {
			r[i] = c.YMM()
			c.VPMOVZXWD(Mem{Base: row[i], Index: k, Scale: 1}, r[i])
			c.VPSLLD(U8(16), r[i], r[i])
		}
		out := transpose8(c, r)
		storeRows(c, out[:4], panel, pitch, pitch3)
		storeRows(c, out[4:], panel, pitch, pitch3)
	} else {
		for half := 0; half < 2; half++ {
			var r [4]reg.VecVirtual
			for i := range r { // rows i and i+4 as they come from memory: that needs no shuffle unit
				r[i] = c.YMM()
				c.VMOVUPS(Mem{Base: row[i], Index: k, Scale: 1, Disp: 16 * half}, r[i].AsX())
				c.VINSERTF128(U8(1), Mem{Base: row[i+4], Index: k, Scale: 1, Disp: 16 * half}, r[i], r[i])
			}
			out := transpose4(c, r, c.YMM)
			storeRows(c, out[:], panel, pitch, pitch3)
		}
	}
	c.ADDQ(U32(8*size), k)
	c.JNZ(LabelRef("pass"))
	c.Label("end")
	c.VZEROUPPER()
	c.RET()
}

// packSixteen emits the transposition of 16 query tokens, 4 components a time: half the
// stores of two times 8.
func packSixteen(c *build.Context) {
	begin(c, "maxsimPackF32AVX512", "func(src *float32, stride, d int, panel *float32, lanes int)",
		"maxsimPackF32AVX512 sets panel[k*lanes+j] to component k of row j, for 16 rows of d 32-bit components,",
		"a multiple of 4, that are stride bytes apart. Reference: maxsimPackGeneric.")
	src, stride, d := load(c, "src"), load(c, "stride"), load(c, "d")
	panel, pitch := load(c, "panel"), load(c, "lanes")
	c.SHLQ(U8(2), pitch)
	stride3, pitch3 := c.GP64(), c.GP64()
	c.LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	c.LEAQ(Mem{Base: pitch, Index: pitch, Scale: 2}, pitch3)
	var row [4]reg.Register // every fourth
	row[0] = src
	for i := 1; i < len(row); i++ {
		row[i] = c.GP64()
		c.LEAQ(Mem{Base: row[i-1], Index: stride, Scale: 4}, row[i])
	}
	c.SHRQ(U8(2), d)
	c.JZ(LabelRef("end"))
	c.Label("pass")
	var r [4]reg.VecVirtual
	for i := range r { // rows i, i+4, i+8, i+12
		r[i] = c.ZMM()
		for j, base := range row {
			at := Mem{Base: base}
			switch i {
			case 1, 2:
				at.Index, at.Scale = stride, uint8(i)
			case 3:
				at.Index, at.Scale = stride3, 1
			}
			if j == 0 {
				c.VMOVUPS(at, r[i].AsX())
			} else {
				c.VINSERTF32X4(U8(j), at, r[i], r[i])
			}
		}
	}
	out := transpose4(c, r, c.ZMM)
	storeRows(c, out[:], panel, pitch, pitch3)
	for _, base := range row {
		c.ADDQ(U32(16), base)
	}
	c.DECQ(d)
	c.JNZ(LabelRef("pass"))
	c.Label("end")
	c.VZEROUPPER()
	c.RET()
}

// storeRows emits the stores of four rows of a panel, and moves on to the next.
func storeRows(c *build.Context, v []reg.VecVirtual, panel, pitch, pitch3 reg.Register) {
	c.VMOVUPS(v[0], Mem{Base: panel})
	c.VMOVUPS(v[1], Mem{Base: panel, Index: pitch, Scale: 1})
	c.VMOVUPS(v[2], Mem{Base: panel, Index: pitch, Scale: 2})
	c.VMOVUPS(v[3], Mem{Base: panel, Index: pitch3, Scale: 1})
	c.LEAQ(Mem{Base: panel, Index: pitch, Scale: 4}, panel)
}

// transpose4 emits the transposition of 4 rows of 4 32-bit elements in each 128 bits.
func transpose4(c *build.Context, r [4]reg.VecVirtual, vector func() reg.VecVirtual) (out [4]reg.VecVirtual) {
	var t [4]reg.VecVirtual
	for i := 0; i < 4; i += 2 { // pairs of rows, interleaved
		t[i], t[i+1] = vector(), vector()
		c.VUNPCKLPS(r[i+1], r[i], t[i])
		c.VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	for i := range out {
		out[i] = vector()
		c.VSHUFPS(U8([]int{0x44, 0xee}[i%2]), t[2+i/2], t[i/2], out[i])
	}
	return out
}

// transpose8 emits the transposition of 8 rows of 8 32-bit elements.
func transpose8(c *build.Context, r [8]reg.VecVirtual) (out [8]reg.VecVirtual) {
	var t, u [8]reg.VecVirtual
	for i := 0; i < 8; i += 2 { // pairs of rows, interleaved within 128-bit halves
		t[i], t[i+1] = c.YMM(), c.YMM()
		c.VUNPCKLPS(r[i+1], r[i], t[i])
		c.VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 { // groups of four rows
		for h := 0; h < 2; h++ {
			u[i+2*h], u[i+2*h+1] = c.YMM(), c.YMM()
			c.VSHUFPS(U8(0x44), t[i+2+h], t[i+h], u[i+2*h])
			c.VSHUFPS(U8(0xee), t[i+2+h], t[i+h], u[i+2*h+1])
		}
	}
	for i := 0; i < 4; i++ { // halves
		out[i], out[i+4] = c.YMM(), c.YMM()
		c.VPERM2F128(U8(0x20), u[i+4], u[i], out[i])
		c.VPERM2F128(U8(0x31), u[i+4], u[i], out[i+4])
	}
	return out
}

// prefetchBytes emits what asks for memory ahead of its use.
func prefetchBytes(c *build.Context) {
	begin(c, "maxsimPrefetchAVX2", "func(p *byte, n int)",
		"maxsimPrefetchAVX2 asks for the lines of n bytes, at least 1, from p on; n is rounded up to whole lines.")
	p, n := load(c, "p"), load(c, "n")
	c.Label("line")
	c.PREFETCHT0(Mem{Base: p})
	c.ADDQ(U32(64), p)
	c.SUBQ(U32(64), n)
	c.JG(LabelRef("line"))
	c.RET()
}

// widenRow emits the conversion of a row of bf16 to f32.
func widenRow(c *build.Context) {
	begin(c, "maxsimWidenBF16AVX2", "func(dst *float32, src *uint16, n int)",
		"maxsimWidenBF16AVX2 sets dst[i] to src[i] as f32, for n a multiple of 8.")
	dst, src, n := load(c, "dst"), load(c, "src"), load(c, "n")
	i := c.GP64()
	c.XORQ(i, i)
	c.JMP(LabelRef("check"))
	c.Label("pass")
	x := c.YMM()
	c.VPMOVZXWD(Mem{Base: src, Index: i, Scale: 2}, x)
	c.VPSLLD(U8(16), x, x)
	c.VMOVDQU(x, Mem{Base: dst, Index: i, Scale: 4})
	c.ADDQ(U32(8), i)
	c.Label("check")
	c.CMPQ(i, n)
	c.JLT(LabelRef("pass"))
	c.VZEROUPPER()
	c.RET()
}

// decodeRow emits the conversion of a row of e4m3, sign, 4 bits of exponent and 3 of
// fraction, to f32 or bf16. In integers, the exponent is rebiased from 7 to 127; numbers
// below 8, whose exponent is 0, are that number of 2^-9.
func decodeRow(c *build.Context, bf16 bool) {
	name, elem := "maxsimDecodeF32AVX2", "float32"
	if bf16 {
		name, elem = "maxsimDecodeBF16AVX2", "uint16"
	}
	begin(c, name, fmt.Sprintf("func(dst *%s, src *uint8, n int)", elem),
		fmt.Sprintf("%s sets dst[i] to the e4m3 code src[i], for n a multiple of 8. Reference: the table e4m3.", name))
	dst, src, n := load(c, "dst"), load(c, "src"), load(c, "n")
	constant := func(x uint32) reg.VecVirtual {
		r, v := c.GP32(), c.YMM()
		c.MOVL(U32(x), r)
		c.VMOVD(r, v.AsX())
		c.VPBROADCASTD(v.AsX(), v)
		return v
	}
	magnitude, eight := constant(0x7f), constant(8)
	bias, unit, signBit := constant(120<<23), constant(0x3b000000), constant(1<<31) // unit is 2^-9
	i := c.GP64()
	c.XORQ(i, i)
	c.JMP(LabelRef("check"))
	c.Label("pass")
	x, m, v, sub, mask := c.YMM(), c.YMM(), c.YMM(), c.YMM(), c.YMM()
	c.VPMOVZXBD(Mem{Base: src, Index: i, Scale: 1}, x)
	c.VPAND(magnitude, x, m)
	c.VPSLLD(U8(20), m, v)
	c.VPADDD(bias, v, v)
	c.VCVTDQ2PS(m, sub)
	c.VMULPS(unit, sub, sub)
	c.VPCMPGTD(m, eight, mask)
	c.VBLENDVPS(mask, sub, v, v)
	c.VPCMPEQD(magnitude, m, mask) // the one NaN
	c.VPOR(mask, v, v)
	c.VPSLLD(U8(24), x, x)
	c.VPAND(signBit, x, x)
	c.VPOR(x, v, v)
	if bf16 { // the lower halves are 0: every code is a bf16
		c.VPSRLD(U8(16), v, v)
		c.VEXTRACTI128(U8(1), v, x.AsX())
		c.VPACKUSDW(x.AsX(), v.AsX(), v.AsX())
		c.VMOVDQU(v.AsX(), Mem{Base: dst, Index: i, Scale: 2})
	} else {
		c.VMOVDQU(v, Mem{Base: dst, Index: i, Scale: 4})
	}
	c.ADDQ(U32(8), i)
	c.Label("check")
	c.CMPQ(i, n)
	c.JLT(LabelRef("pass"))
	c.VZEROUPPER()
	c.RET()
}

// normalizeRow emits x/sqrt(max(|x|², floor)): 8 running sums by component modulo 8, added
// in a fixed tree.
func normalizeRow(c *build.Context) {
	begin(c, "maxsimNormalizeAVX2", "func(x *float32, n int, floor float32)",
		"maxsimNormalizeAVX2 divides x[:n], n a multiple of 8, by the root of the larger of its sum of squares",
		"and floor; a NaN component makes them all NaN. Reference: maxsimNormalizeGeneric, with fused sums.")
	x, n := load(c, "x"), load(c, "n")
	floor := c.Load(c.Param("floor"), c.XMM())
	sum, v, hi := c.YMM(), c.YMM(), c.YMM()
	i := c.GP64()
	c.VXORPS(sum, sum, sum)
	c.XORQ(i, i)
	c.JMP(LabelRef("sumcheck"))
	c.Label("sum")
	c.VMOVUPS(Mem{Base: x, Index: i, Scale: 4}, v)
	c.VFMADD231PS(v, v, sum)
	c.ADDQ(U32(8), i)
	c.Label("sumcheck")
	c.CMPQ(i, n)
	c.JLT(LabelRef("sum"))
	c.VEXTRACTF128(U8(1), sum, hi.AsX()) // lanes 4 to 7 onto 0 to 3, then 2 onto 0, then 1 onto 0
	c.VADDPS(hi.AsX(), sum.AsX(), sum.AsX())
	c.VPERMILPS(U8(0x0e), sum.AsX(), hi.AsX())
	c.VADDPS(hi.AsX(), sum.AsX(), sum.AsX())
	c.VPERMILPS(U8(0x01), sum.AsX(), hi.AsX())
	c.VADDSS(hi.AsX(), sum.AsX(), sum.AsX())
	c.VMAXSS(sum.AsX(), floor.(reg.VecVirtual), sum.AsX()) // second source wins for NaN: the sum
	c.VSQRTSS(sum.AsX(), sum.AsX(), sum.AsX())
	c.VBROADCASTSS(sum.AsX(), sum)
	c.XORQ(i, i)
	c.JMP(LabelRef("check"))
	c.Label("divide")
	c.VMOVUPS(Mem{Base: x, Index: i, Scale: 4}, v)
	c.VDIVPS(sum, v, v)
	c.VMOVUPS(v, Mem{Base: x, Index: i, Scale: 4})
	c.ADDQ(U32(8), i)
	c.Label("check")
	c.CMPQ(i, n)
	c.JLT(LabelRef("divide"))
	c.VZEROUPPER()
	c.RET()
}

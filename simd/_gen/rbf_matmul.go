package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile is 4 rows by a panel of 128 bytes of columns: 32 float32 or 16 float64. On AVX2 a
// panel goes in two halves, so that 8 accumulators, 2 columns and 3 temporaries fit 16 registers.
const rbfRows = 4

var _ = register("rbf_matmul", func(c *build.Context) {
	each(c, func(v vec) {
		for _, double := range []bool{false, true} {
			rbfTile(rbf{v, double})
			rbfSum(rbf{v, double})
		}
	})
})

// rbf emits for one element type.
type rbf struct {
	vec
	double bool
}

func (v rbf) element() string {
	if v.double {
		return "F64"
	}
	return "F32"
}

func (v rbf) goType() string {
	if v.double {
		return "float64"
	}
	return "float32"
}

func (v rbf) size() int {
	if v.double {
		return 8
	}
	return 4
}

// width is the bytes of a register.
func (v rbf) width() int { return 4 * v.lanes() }

// pick emits the single or the double form of an instruction.
func (v rbf) pick(single, double func(...operand.Op), ops ...operand.Op) {
	if v.double {
		double(ops...)
	} else {
		single(ops...)
	}
}

func (v rbf) spread(m operand.Op, r reg.VecVirtual) {
	if v.double {
		v.VBROADCASTSD(m, r)
	} else {
		v.VBROADCASTSS(m, r)
	}
}

// broadcast fills a register with a parameter where it is needed: between panels the
// register serves others.
func (v rbf) broadcast(name string) reg.VecVirtual {
	r := v.reg()
	v.spread(v.argument(name), r)
	return r
}

func rbfTile(v rbf) {
	var k rbfConstants
	if v.double {
		k.poly = v.table("exp2F64", bits64(exp2F64...), 8)
		k.magic = v.table("magicF64", bits64(3<<51+1023), 8)(0) // 1.5·2^52 and the exponent's bias
	} else {
		k.poly, k.quarters = v.table("exp2F32", bits32(inQuarters(exp2F32)...), 4), v.quarters()
		k.magic = v.table("magicF32", bits32(12582912), 4)(0)
	}
	v.function("rbfTile"+v.element(), "writes k = 2^(c*u), for float32 2^(c*u/4), u the squared distances of 4 rows of x from the columns of\npanels of y. x is d by 4, a panel of y d by 128 bytes, k 4 rows stride bytes apart.\nu is cut at limit, where the result is 0; clow is the part of c that its type cannot hold.\nReference: rbfTileGeneric.",
		"func(x, y, k *"+v.goType()+", d, panels, stride int, c, clow, limit "+v.goType()+")")
	x, y, out := v.pointer("x"), v.pointer("y"), v.pointer("k")
	d, panels, stride := v.pointer("d"), v.pointer("panels"), v.pointer("stride")
	stride3 := v.GP64()
	v.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	bytes := v.GP64() // of a panel of y
	v.MOVQ(d, bytes)
	v.SHLQ(operand.U8(7), bytes)
	v.loop("", panels, func() {
		for half := 0; half < 64/v.width(); half++ {
			u := v.distances(x, y, d, half)
			v.kernelValues(u, k)
			for r := 0; r < rbfRows; r++ {
				m := operand.Mem{Base: out, Disp: half * 2 * v.width()}
				switch r {
				case 1:
					m.Index, m.Scale = stride, 1
				case 2:
					m.Index, m.Scale = stride, 2
				case 3:
					m.Index, m.Scale = stride3, 1
				}
				v.VMOVUPS(u[2*r], m)
				m.Disp += v.width()
				v.VMOVUPS(u[2*r+1], m)
			}
		}
		v.ADDQ(bytes, y)
		v.ADDQ(operand.I32(128), out)
	})
	v.end()
}

// distances sums squared differences over d, in ascending order, of 4 rows and 2 registers of columns.
func (v rbf) distances(x, y, d reg.Register, half int) regs {
	u := v.regs(2 * rbfRows)
	for _, a := range u {
		v.zero(a)
	}
	px, py, n := v.GP64(), v.GP64(), v.GP64()
	v.MOVQ(x, px)
	v.MOVQ(y, py)
	steps := func(count int) {
		for i := range count {
			v.distance(u, px, py, i, half)
		}
		v.ADDQ(operand.I32(count*rbfRows*v.size()), px)
		v.ADDQ(operand.I32(count*128), py)
		v.DECQ(n)
	}
	name := []string{"first", "second"}[half]
	v.MOVQ(d, n)
	v.SHRQ(operand.U8(2), n)
	v.JE(operand.LabelRef(name + "rest"))
	v.Label(name)
	steps(4) // the loop's own instructions would take a sixth of the issue slots
	v.JNE(operand.LabelRef(name))
	v.Label(name + "rest")
	v.MOVQ(d, n)
	v.ANDQ(operand.I8(3), n)
	v.JE(operand.LabelRef(name + "values"))
	v.Label(name + "one")
	steps(1)
	v.JNE(operand.LabelRef(name + "one"))
	v.Label(name + "values")
	return u
}

// distance adds the squared differences in component i.
func (v rbf) distance(u regs, px, py reg.Register, i, half int) {
	c := v.regs(2)
	for j := range c {
		v.VMOVUPS(operand.Mem{Base: py, Disp: i*128 + half*2*v.width() + j*v.width()}, c[j])
	}
	for r := range rbfRows {
		m := operand.Mem{Base: px, Disp: (i*rbfRows + r) * v.size()}
		e := v.regs(2)
		if v.wide {
			for j := range e {
				v.pick(v.VSUBPS_BCST, v.VSUBPD_BCST, m, c[j], e[j])
			}
		} else {
			b := v.reg()
			v.spread(m, b)
			for j := range e {
				v.pick(v.VSUBPS, v.VSUBPD, c[j], b, e[j])
			}
		}
		for j := range e {
			v.pick(v.VFMADD231PS, v.VFMADD231PD, e[j], e[j], u[2*r+j])
		}
	}
}

// rbfConstants are those of 2^t in memory.
type rbfConstants struct {
	poly            table
	magic, quarters operand.Mem
}

// kernelValues replaces u by 2^(c u): n = round(c u), in quarters for f32, f = c u - n with one
// rounding. A NaN stays.
func (v rbf) kernelValues(u regs, k rbfConstants) {
	c, low, limit := v.broadcast("c"), v.broadcast("clow"), v.broadcast("limit")
	magic := v.keep(k.magic)
	var quarters reg.VecVirtual
	if !v.double {
		quarters = v.keep(k.quarters)
	}
	for _, a := range u {
		t, n := v.reg(), v.reg()
		v.pick(v.VMINPS, v.VMINPD, a, limit, a) // a NaN is the second source, so it stays
		v.VMOVAPS(magic, t)
		v.pick(v.VFMADD231PS, v.VFMADD231PD, a, c, t)
		v.pick(v.VSUBPS, v.VSUBPD, magic, t, n)
		v.pick(v.VFMSUB231PS, v.VFMSUB231PD, a, c, n)
		v.pick(v.VFMADD213PS, v.VFMADD213PD, n, low, a)
		if v.double {
			v.split(k.poly, len(exp2F64)-1, a, n)
			v.VPSLLQ(operand.U8(52), t, t)
		} else {
			v.horner(k.poly, len(exp2F32)-1, a, n)
			v.power(quarters, t)
		}
		v.pick(v.VMULPS, v.VMULPD, t, n, a)
	}
}

// horner sets p to the polynomial at f.
func (v rbf) horner(poly table, degree int, f, p reg.VecVirtual) {
	v.VMOVUPS(poly(degree), p)
	for q := degree - 1; q >= 0; q-- {
		v.pick(v.VFMADD213PS, v.VFMADD213PD, poly(q), f, p)
	}
}

// split does so for an odd degree as odd and even parts in f², which halves the chain: with
// one of 11 steps a core's window does not hold enough of them.
func (v rbf) split(poly table, degree int, f, p reg.VecVirtual) {
	square, odd := v.reg(), v.reg()
	v.VMULPD(f, f, square)
	v.VMOVUPS(poly(degree), odd)
	v.VMOVUPS(poly(degree-1), p)
	for q := degree - 2; q > 0; q -= 2 {
		v.VFMADD213PD(poly(q), square, odd)
		v.VFMADD213PD(poly(q-1), square, p)
	}
	v.VFMADD231PD(odd, f, p)
}

func rbfSum(v rbf) {
	v.function("rbfSum"+v.element(), "adds to acc[r] the dot product of row r of k with one column of weights.\nk is 4 rows stride bytes apart. A row has 64 bytes of lanes, folded in float64.\nReference: rbfSumGeneric.",
		"func(k, w *"+v.goType()+", acc *float64, panels, stride int)")
	k, w, acc := v.pointer("k"), v.pointer("w"), v.pointer("acc")
	panels, stride := v.pointer("panels"), v.pointer("stride")
	stride3 := v.GP64()
	v.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	per := 64 / v.width() // registers of a row's lanes
	sum := v.regs(rbfRows * per)
	for _, s := range sum {
		v.zero(s)
	}
	v.loop("", panels, func() {
		for half := 0; half < 2; half++ {
			e := v.regs(per)
			for i := range e {
				v.VMOVUPS(operand.Mem{Base: w, Disp: half*64 + i*v.width()}, e[i])
			}
			for r := 0; r < rbfRows; r++ {
				for i := range e {
					m := operand.Mem{Base: k, Disp: half*64 + i*v.width()}
					switch r {
					case 1:
						m.Index, m.Scale = stride, 1
					case 2:
						m.Index, m.Scale = stride, 2
					case 3:
						m.Index, m.Scale = stride3, 1
					}
					v.pick(v.VFMADD231PS, v.VFMADD231PD, m, e[i], sum[r*per+i])
				}
			}
		}
		v.ADDQ(operand.I32(128), k)
		v.ADDQ(operand.I32(128), w)
	})
	row := make(regs, rbfRows)
	for r := range row {
		row[r] = v.fold(sum[r*per : (r+1)*per])
	}
	a, b := v.YMM(), v.YMM()
	v.VHADDPD(row[1], row[0], a)
	v.VHADDPD(row[3], row[2], b)
	lo, hi := v.YMM(), v.YMM()
	v.VPERM2F128(operand.U8(0x20), b, a, lo)
	v.VPERM2F128(operand.U8(0x31), b, a, hi)
	v.VADDPD(hi, lo, lo)
	v.VADDPD(operand.Mem{Base: acc}, lo, lo)
	v.VMOVUPD(lo, operand.Mem{Base: acc})
	v.end()
}

// fold adds the lanes of a row down to 4 float64.
func (v rbf) fold(s regs) reg.VecVirtual {
	var a, b operand.Op = s[0], nil // halves of the lanes
	if v.wide {
		up := v.YMM()
		v.VEXTRACTF64X4(operand.U8(1), s[0], up)
		a, b = s[0].(reg.Vec).AsY(), up
	} else {
		b = s[1]
	}
	sum := v.YMM()
	if v.double {
		v.VADDPD(b, a, sum)
		return sum
	}
	v.VADDPS(b, a, sum)
	hi, lo, up := v.XMM(), v.YMM(), v.YMM()
	v.VEXTRACTF128(operand.U8(1), sum, hi)
	v.VCVTPS2PD(sum.AsX(), lo)
	v.VCVTPS2PD(hi, up)
	v.VADDPD(up, lo, lo)
	return lo
}

// zero clears a register; on 512 bits VXORPS would need more than AVX-512F.
func (v rbf) zero(r reg.VecVirtual) {
	if v.wide {
		v.VPXORD(r, r, r)
	} else {
		v.VXORPS(r, r, r)
	}
}

package main

import (
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Row routines work on groups of 32 elements, whatever the register width, so that lane i
// of a reduction always holds the elements i, i+32, i+64, ...: AVX2, AVX-512 and NEON give
// the same bits. Tails are padded by the caller and run through the same code.
const group = 32

// Element types of a row.
const (
	f32 = iota
	bf16
	f16
)

var (
	typeNames = []string{"F32", "BF16", "F16"}
	typeSizes = []int{4, 2, 2}
)

// vec emits for one register width.
type vec struct {
	*build.Context
	wide bool // 512 bits, else 256
}

// regs are the registers of a group, or part of it.
type regs []reg.VecVirtual

// each runs emit for both widths.
func each(c *build.Context, emit func(vec)) {
	emit(vec{c, false})
	emit(vec{c, true})
}

func (v vec) level() string {
	if v.wide {
		return "AVX512"
	}
	return "AVX2"
}

// lanes is the f32 elements of a register, registers those of a group.
func (v vec) lanes() int {
	if v.wide {
		return 16
	}
	return 8
}
func (v vec) registers() int { return group / v.lanes() }

func (v vec) reg() reg.VecVirtual {
	if v.wide {
		return v.ZMM()
	}
	return v.YMM()
}

func (v vec) regs(n int) regs {
	r := make(regs, n)
	for i := range r {
		r[i] = v.reg()
	}
	return r
}

// function starts name<Type><Level> with a one-line doc and a signature.
func (v vec) function(name, doc, signature string) {
	v.Function(name + v.level())
	v.Pragma("noescape")
	v.SignatureExpr(signature)
	for _, l := range strings.Split(name+v.level()+" "+doc, "\n") {
		v.Doc(l)
	}
}

// pointer loads an argument into a general register.
func (v vec) pointer(name string) reg.Register { return v.Load(v.Param(name), v.GP64()) }

// scalar broadcasts a float argument.
func (v vec) scalar(name string) reg.VecVirtual {
	r := v.reg()
	a, err := v.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v.VBROADCASTSS(a.Addr, r)
	return r
}

// loop runs body count times, none for 0, and then returns from the function.
func (v vec) loop(name string, count reg.Register, body func()) {
	v.TESTQ(count, count)
	v.JE(operand.LabelRef(name + "done"))
	v.Label(name + "loop")
	body()
	v.DECQ(count)
	v.JNE(operand.LabelRef(name + "loop"))
	v.Label(name + "done")
}

// end clears the upper halves, which slow later SSE code, and returns.
func (v vec) end() {
	v.VZEROUPPER()
	v.RET()
}

// at addresses element i of type t behind p.
func at(p reg.Register, t, i int) operand.Mem {
	return operand.Mem{Base: p, Disp: i * typeSizes[t]}
}

// advance moves p by one group of type t.
func (v vec) advance(t int, p ...reg.Register) {
	for _, q := range p {
		v.ADDQ(operand.I32(group*typeSizes[t]), q)
	}
}

// load widens a register's worth of elements from element i on.
func (v vec) load(t int, p reg.Register, i int) reg.VecVirtual {
	r := v.reg()
	m := at(p, t, i)
	switch t {
	case f32:
		v.VMOVUPS(m, r)
	case bf16:
		v.VPMOVZXWD(m, r)
		v.VPSLLD(operand.U8(16), r, r)
	case f16:
		v.VCVTPH2PS(m, r)
	}
	return r
}

// ints are the constants of bf16 rounding, in registers.
type ints struct{ one, bias, high reg.VecVirtual }

// broadcast fills a register with a 32-bit constant.
func (v vec) broadcast(bits uint32) reg.VecVirtual {
	g, x, r := v.GP32(), v.XMM(), v.reg()
	v.MOVL(operand.U32(bits), g)
	v.VMOVD(g, x)
	v.VPBROADCASTD(x, r)
	return r
}

// rounding prepares what round and store need for t.
func (v vec) rounding(t int) ints {
	if t != bf16 {
		return ints{}
	}
	return ints{v.broadcast(1), v.broadcast(0x7fff), v.broadcast(0xffff0000)}
}

func (v vec) and(a, b, d reg.VecVirtual) {
	if v.wide {
		v.VPANDD(a, b, d)
	} else {
		v.VPAND(a, b, d)
	}
}

// nearest adds half a bf16 step, ties to even, to the bits of x: the upper half is then the bf16.
func (v vec) nearest(k ints, x reg.VecVirtual) reg.VecVirtual {
	t := v.reg()
	v.VPSRLD(operand.U8(16), x, t)
	v.and(k.one, t, t)
	v.VPADDD(k.bias, t, t)
	v.VPADDD(x, t, t)
	return t
}

// round rounds x to t and back, for the modes that round between two products.
func (v vec) round(t int, k ints, x reg.VecVirtual) {
	switch t {
	case bf16:
		n := v.nearest(k, x)
		v.and(k.high, n, x)
	case f16:
		if v.wide {
			h := v.YMM()
			v.VCVTPS2PH(operand.U8(0), x, h)
			v.VCVTPH2PS(h, x)
		} else {
			h := v.XMM()
			v.VCVTPS2PH(operand.U8(0), x, h)
			v.VCVTPH2PS(h, x)
		}
	}
}

// half narrows x to 16 bits in the low lanes of a register of half the width; a NaN of any
// payload stays a NaN.
func (v vec) half(t int, k ints, x reg.VecVirtual) reg.VecVirtual {
	if t == f16 {
		var h reg.VecVirtual = v.XMM()
		if v.wide {
			h = v.YMM()
		}
		v.VCVTPS2PH(operand.U8(0), x, h)
		return h
	}
	n := v.nearest(k, x)
	if v.wide {
		m, h := v.K(), v.YMM()
		v.VCMPPS(operand.U8(3), x, x, m)
		v.VPTERNLOGD(operand.U8(0xff), n, n, m, n)
		v.VPSRLD(operand.U8(16), n, n)
		v.VPMOVDW(n, h)
		return h
	}
	m := v.YMM()
	v.VCMPPS(operand.U8(3), x, x, m)
	v.VPOR(m, n, n)
	v.VPSRLD(operand.U8(16), n, n)
	return n
}

// store writes one group, rounded to t; nt bypasses the cache and needs a 64-byte aligned p.
func (v vec) store(t int, k ints, x regs, p reg.Register, nt bool) {
	if t == f32 {
		for i, r := range x {
			if nt {
				v.VMOVNTPS(r, at(p, t, i*v.lanes()))
			} else {
				v.VMOVUPS(r, at(p, t, i*v.lanes()))
			}
		}
		return
	}
	for i := 0; i < len(x); i += 2 {
		lo, hi := v.half(t, k, x[i]), v.half(t, k, x[i+1])
		m := at(p, t, i*v.lanes())
		if v.wide {
			z := v.ZMM()
			v.VINSERTI64X4(operand.U8(1), hi, lo.(reg.Vec).AsZ(), z)
			if nt {
				v.VMOVNTDQ(z, m)
			} else {
				v.VMOVDQU64(z, m)
			}
			continue
		}
		y := v.YMM()
		if t == bf16 {
			v.VPACKUSDW(hi, lo, y)
			v.VPERMQ(operand.U8(0xd8), y, y)
		} else {
			v.VINSERTI128(operand.U8(1), hi, lo.(reg.Vec).AsY(), y)
		}
		if nt {
			v.VMOVNTDQ(y, m)
		} else {
			v.VMOVDQU(y, m)
		}
	}
}

// twice emits a loop with ordinary stores and one with stores that bypass the cache, chosen
// by the argument nt. The fence orders the latter before whatever tells another core.
func (v vec) twice(count reg.Register, body func(nt bool)) {
	nt := v.pointer("nt")
	v.TESTQ(nt, nt)
	v.JNE(operand.LabelRef("around"))
	v.loop("plain", count, func() { body(false) })
	v.end()
	v.Label("around")
	v.loop("around", count, func() { body(true) })
	v.SFENCE()
	v.end()
}

// prefetch asks for the cache lines of a group of type t that lie ahead bytes behind p.
func (v vec) prefetch(t int, p, ahead reg.Register) {
	for o := 0; o < group*typeSizes[t]; o += 64 {
		v.PREFETCHT0(operand.Mem{Base: p, Index: ahead, Scale: 1, Disp: o})
	}
}

// accumulators loads a reduction's 32 lanes, and flush writes them back.
func (v vec) accumulators(p reg.Register) regs {
	acc := v.regs(v.registers())
	for i, a := range acc {
		v.VMOVUPS(at(p, f32, i*v.lanes()), a)
	}
	return acc
}

func (v vec) flush(acc regs, p reg.Register) {
	for i, a := range acc {
		v.VMOVUPS(a, at(p, f32, i*v.lanes()))
	}
}

var _ = register("row", func(c *build.Context) {
	each(c, func(v vec) {
		for t := range typeNames {
			rowMax(v, t)
			rowFind(v, t)
			rowSquare(v, t)
			rowDot(v, t)
			rowScale(v, t)
		}
	})
})

func rowMax(v vec, t int) {
	v.function("rowMax"+typeNames[t], "keeps the larger of each lane and its elements; a NaN stays.",
		"func(x *byte, groups int, lanes *float32)")
	x, n, lanes := v.pointer("x"), v.pointer("groups"), v.pointer("lanes")
	acc := v.accumulators(lanes)
	var nan reg.VecVirtual
	var mask reg.OpmaskVirtual
	if v.wide {
		mask = v.K()
		v.KXORW(mask, mask, mask)
	} else {
		nan = v.reg()
		v.VXORPS(nan, nan, nan)
	}
	v.loop("", n, func() {
		e := make(regs, len(acc))
		for i, a := range acc {
			e[i] = v.load(t, x, i*v.lanes())
			v.VMAXPS(a, e[i], a) // the second source wins where one is NaN: the old maximum
		}
		for i := 0; i < len(acc); i += 2 {
			if v.wide {
				k := v.K()
				v.VCMPPS(operand.U8(3), e[i], e[i+1], k)
				v.KORW(k, mask, mask)
			} else {
				k := v.reg()
				v.VCMPPS(operand.U8(3), e[i], e[i+1], k)
				v.VORPS(k, nan, nan)
			}
		}
		v.advance(t, x)
	})
	for _, a := range acc {
		if v.wide {
			v.VPTERNLOGD(operand.U8(0xff), a, a, mask, a)
		} else {
			v.VORPS(nan, a, a)
		}
	}
	v.flush(acc, lanes)
	v.end()
}

func rowFind(v vec, t int) {
	v.function("rowFind"+typeNames[t], "returns the first group that has an element equal to value, or groups.",
		"func(x *byte, groups int, value float32) int")
	x, n := v.pointer("x"), v.pointer("groups")
	want := v.scalar("value")
	i := v.GP64()
	v.XORQ(i, i)
	v.Label("next")
	v.CMPQ(i, n)
	v.JGE(operand.LabelRef("out"))
	if v.wide {
		a, b := v.K(), v.K()
		v.VCMPPS(operand.U8(0), v.load(t, x, 0), want, a)
		v.VCMPPS(operand.U8(0), v.load(t, x, 16), want, b)
		v.KORTESTW(a, b)
		v.JNE(operand.LabelRef("out"))
	} else {
		var any reg.VecVirtual
		for j := 0; j < v.registers(); j++ {
			e := v.load(t, x, j*v.lanes())
			v.VCMPPS(operand.U8(0), e, want, e)
			if any == nil {
				any = e
			} else {
				v.VORPS(e, any, any)
			}
		}
		g := v.GP32()
		v.VMOVMSKPS(any, g)
		v.TESTL(g, g)
		v.JNE(operand.LabelRef("out"))
	}
	v.advance(t, x)
	v.INCQ(i)
	v.JMP(operand.LabelRef("next"))
	v.Label("out")
	v.VZEROUPPER()
	v.Store(i, v.ReturnIndex(0))
	v.RET()
}

func rowSquare(v vec, t int) {
	v.function("rowSquare"+typeNames[t], "adds the squares of the elements to their lanes.",
		"func(x *byte, groups int, lanes *float32)")
	x, n, lanes := v.pointer("x"), v.pointer("groups"), v.pointer("lanes")
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		for i, a := range acc {
			e := v.load(t, x, i*v.lanes())
			v.VFMADD231PS(e, e, a)
		}
		v.advance(t, x)
	})
	v.flush(acc, lanes)
	v.end()
}

func rowDot(v vec, t int) {
	v.function("rowDot"+typeNames[t], "adds the products of the elements of a and b to their lanes.",
		"func(a, b *byte, groups int, lanes *float32)")
	a, b, n, lanes := v.pointer("a"), v.pointer("b"), v.pointer("groups"), v.pointer("lanes")
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		for i, s := range acc {
			e := v.load(t, a, i*v.lanes())
			if t == f32 {
				v.VFMADD231PS(at(b, t, i*v.lanes()), e, s)
			} else {
				v.VFMADD231PS(v.load(t, b, i*v.lanes()), e, s)
			}
		}
		v.advance(t, a, b)
	})
	v.flush(acc, lanes)
	v.end()
}

func rowScale(v vec, t int) {
	v.function("rowScale"+typeNames[t], "writes e*s rounded to the type of y; nt not 0 bypasses the cache.",
		"func(e *float32, y *byte, groups int, s float32, nt int)")
	e, y, n := v.pointer("e"), v.pointer("y"), v.pointer("groups")
	s, k := v.scalar("s"), v.rounding(t)
	v.twice(n, func(nt bool) {
		r := v.regs(v.registers())
		for i := range r {
			v.VMULPS(at(e, f32, i*v.lanes()), s, r[i])
		}
		v.store(t, k, r, y, nt)
		v.advance(f32, e)
		v.advance(t, y)
	})
}

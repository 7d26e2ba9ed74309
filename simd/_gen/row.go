package main

import (
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Row routines work on groups of 32 elements, whatever the register width, so that a lane
// of a reduction always holds the same element of each group: AVX2, AVX-512 and NEON give
// the same bits. Tails are padded by the caller and run through the same code.
//
// In float32 a group has an order of its own, its places: that of the elements for f32 and
// f16, but even elements before odd ones for bf16, since a shift and a mask split two bf16
// faster than a shuffle spreads them.
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
	wide  bool  // 512 bits, else 256
	high  table // the mask of a bf16 in the upper half of 32 bits
	words table // 1 in each 16 bits
}

// regs are the registers of a group, or part of it.
type regs []reg.VecVirtual

// steps emit instructions of which each waits for the one before.
type steps []func()

// weave emits chains of steps side by side, each lag steps behind the one before: the scheduler of a
// processor holds fewer instructions than one that waits for its operands blocks.
func weave(lag int, chains ...steps) {
	for s, left := 0, true; left; s++ {
		left = false
		for i, c := range chains {
			if k := s - i*lag; k < len(c) {
				left = true
				if k >= 0 {
					c[k]()
				}
			}
		}
	}
}

func run(s steps) { weave(0, s) }

// each runs emit for both widths.
func each(c *build.Context, emit func(vec)) {
	emit(vec{Context: c})
	emit(vec{Context: c, wide: true})
}

// withHigh adds what loading and storing bf16 needs to the file.
func (v vec) withHigh() vec {
	v.high = v.table("high", []uint64{0xffff0000}, 4)
	v.words = v.table("words", []uint64{0x00010001}, 4)
	return v
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
	return v.spread(v.argument(name))
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

// pairs is the number of register pairs in a group.
func (v vec) pairs() int { return v.registers() / 2 }

// places are where the registers of pair j stand in a group.
func (v vec) places(t, j int) [2]int {
	switch {
	case v.wide:
		return [2]int{0, 16}
	case t == bf16:
		return [2]int{8 * j, 16 + 8*j}
	}
	return [2]int{16 * j, 16*j + 8}
}

func (v vec) or(a operand.Op, b, d reg.VecVirtual) {
	if v.wide {
		v.VPORD(a, b, d)
	} else {
		v.VPOR(a, b, d)
	}
}

func (v vec) xor(a operand.Op, b, d reg.VecVirtual) {
	if v.wide {
		v.VPXORD(a, b, d)
	} else {
		v.VPXOR(a, b, d)
	}
}

// andNot sets d to a and not b.
func (v vec) andNot(a operand.Op, b, d reg.VecVirtual) {
	if v.wide {
		v.VPANDND(a, b, d)
	} else {
		v.VPANDN(a, b, d)
	}
}

// widen splits a register of 16-bit elements, as load does; x is lost.
func (v vec) widen(t int, x reg.VecVirtual) regs {
	r := v.regs(2)
	switch {
	case t == bf16:
		v.and(v.high(0), x, r[1])
		v.VPSLLD(operand.U8(16), x, r[0])
	case v.wide:
		h := v.YMM()
		v.VEXTRACTI64X4(operand.U8(1), x, h)
		v.VCVTPH2PS(x.AsY(), r[0])
		v.VCVTPH2PS(h, r[1])
	default:
		h := v.XMM()
		v.VEXTRACTI128(operand.U8(1), x, h)
		v.VCVTPH2PS(x.AsX(), r[0])
		v.VCVTPH2PS(h, r[1])
	}
	return r
}

// load widens pair j of a group.
func (v vec) load(t int, p reg.Register, j int) regs {
	r := v.regs(2)
	for _, s := range v.loads(t, p, j, r) {
		run(s)
	}
	return r
}

// loads are the steps of both registers of a pair; those of the second need the first two of the first.
func (v vec) loads(t int, p reg.Register, j int, r regs) []steps {
	if t == bf16 {
		return []steps{{
			func() { v.VMOVUPS(at(p, t, 2*j*v.lanes()), r[0]) },
			func() { v.and(v.high(0), r[0], r[1]) },
			func() { v.VPSLLD(operand.U8(16), r[0], r[0]) },
		}, nil}
	}
	one := func(i int) steps {
		return steps{func() {
			if m := at(p, t, (2*j+i)*v.lanes()); t == f32 {
				v.VMOVUPS(m, r[i])
			} else {
				v.VCVTPH2PS(m, r[i])
			}
		}}
	}
	return []steps{one(0), one(1)}
}

// ints are the constants of bf16 rounding.
type ints struct{ one, bias, high operand.Op }

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

// roundingMemory does so where registers are short.
func (v vec) roundingMemory() ints {
	m := v.table("round", []uint64{1, 0x7fff, 0xffff0000}, 4)
	return ints{m(0), m(1), m(2)}
}

func (v vec) and(a operand.Op, b, d reg.VecVirtual) {
	if v.wide {
		v.VPANDD(a, b, d)
	} else {
		v.VPAND(a, b, d)
	}
}

// nearest adds half a bf16 step, ties to even, to the bits of each x, step by step: the upper half is then the bf16.
func (v vec) nearest(k ints, x ...reg.VecVirtual) regs {
	t := v.regs(len(x))
	for i := range x {
		v.VPSRLD(operand.U8(16), x[i], t[i])
	}
	for i := range x {
		v.and(k.one, t[i], t[i])
	}
	for i := range x {
		v.VPADDD(k.bias, t[i], t[i])
	}
	for i := range x {
		v.VPADDD(x[i], t[i], t[i])
	}
	return t
}

// round rounds each x to t and back, for the modes that round between two products.
func (v vec) round(t int, k ints, x ...reg.VecVirtual) {
	switch t {
	case bf16:
		for i, n := range v.nearest(k, x...) {
			v.and(k.high, n, x[i])
		}
	case f16:
		for _, r := range x {
			h := reg.VecVirtual(v.XMM())
			if v.wide {
				h = v.YMM()
			}
			v.VCVTPS2PH(operand.U8(0), r, h)
			v.VCVTPH2PS(h, r)
		}
	}
}

// store writes pair j of a group, rounded to t; nt bypasses the cache and needs a 64-byte
// aligned p. A NaN must carry nothing in the lower half of a float32: no such NaN arises
// from bf16 inputs, and the Go side cleans the others.
func (v vec) store(t int, k ints, x regs, p reg.Register, j int, nt bool) {
	if t == f32 {
		for i, r := range x {
			v.write(r, at(p, t, (2*j+i)*v.lanes()), nt)
		}
		return
	}
	if t == bf16 {
		run(v.storeBF16(x, at(p, t, 2*j*v.lanes()), nt))
		return
	}
	both := v.reg()
	if v.wide {
		lo, hi := v.YMM(), v.YMM()
		v.VCVTPS2PH(operand.U8(0), x[0], lo)
		v.VCVTPS2PH(operand.U8(0), x[1], hi)
		v.VINSERTI64X4(operand.U8(1), hi, lo.AsZ(), both)
	} else {
		lo, hi := v.XMM(), v.XMM()
		v.VCVTPS2PH(operand.U8(0), x[0], lo)
		v.VCVTPS2PH(operand.U8(0), x[1], hi)
		v.VINSERTI128(operand.U8(1), hi, lo.AsY(), both)
	}
	v.write(both, at(p, t, 2*j*v.lanes()), nt)
}

// storeBF16 rounds both registers of a pair at once: their upper halves, as 16-bit words, are the result
// but for one that is added where the lower half, less one if the upper is even, is at least a half.
func (v vec) storeBF16(x regs, m operand.Mem, nt bool) steps {
	a, b, h := x[0], x[1], v.reg()
	return steps{
		func() { v.VPSRLD(operand.U8(16), a, h) },
		func() { v.odd(b, h) },
		func() { v.VPSLLD(operand.U8(16), b, b) },
		func() { v.even(a, b) },
		func() { v.andNot(v.words(0), h, a) },
		func() { v.VPSUBUSW(a, b, b) },
		func() { v.VPSRLW(operand.U8(15), b, b) },
		func() { v.VPADDW(b, h, h) },
		func() { v.write(h, m, nt) },
	}
}

// odd puts the odd words of a into d, whose own are zero; even the even ones.
func (v vec) odd(a, d reg.VecVirtual) {
	if v.wide {
		v.VPTERNLOGD(operand.U8(0xf8), v.high(0), a, d) // d | a & high
	} else {
		v.VPBLENDW(operand.U8(0xaa), a, d, d)
	}
}

func (v vec) even(a, d reg.VecVirtual) {
	if v.wide {
		v.VPTERNLOGD(operand.U8(0xf4), v.high(0), a, d) // d | a &^ high
	} else {
		v.VPBLENDW(operand.U8(0x55), a, d, d)
	}
}

func (v vec) write(r reg.VecVirtual, m operand.Mem, nt bool) {
	if nt {
		v.VMOVNTPS(r, m)
	} else {
		v.VMOVUPS(r, m)
	}
}

// twice emits a loop with ordinary stores and one with stores that bypass the cache, chosen
// by the argument nt. rowFence orders the latter before whatever tells another core.
func (v vec) twice(count reg.Register, body func(nt bool)) {
	nt := v.pointer("nt")
	v.TESTQ(nt, nt)
	v.JNE(operand.LabelRef("around"))
	v.loop("plain", count, func() { body(false) })
	v.end()
	v.Label("around")
	v.loop("around", count, func() { body(true) })
	v.end()
}

// prefetch asks the level 2 cache for the lines of a group of type t that lie ahead bytes behind p.
func (v vec) prefetch(t int, p, ahead reg.Register) {
	for o := 0; o < group*typeSizes[t]; o += 64 {
		v.PREFETCHT1(operand.Mem{Base: p, Index: ahead, Scale: 1, Disp: o})
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
	c.Function("rowFence")
	c.SignatureExpr("func()")
	c.Doc("rowFence orders stores that bypass the cache before later ones.")
	c.SFENCE()
	c.RET()
	each(c, func(v vec) {
		v = v.withHigh()
		k := v.codeConstants()
		for t := range typeNames {
			if t == f32 {
				rowMax(v)
			} else {
				rowMaxCodes(v, t, k)
				rowExtremes(v, t, k)
			}
			rowFind(v, t)
			rowSquare(v, t)
			rowDot(v, t)
			rowScale(v, t)
		}
	})
})

func rowFind(v vec, t int) {
	v.function("rowFind"+typeNames[t], "returns the first group that has an element equal to value, or groups.\nReference: rowFindGeneric.",
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
		e := v.load(t, x, 0)
		v.VCMPPS(operand.U8(0), e[0], want, a)
		v.VCMPPS(operand.U8(0), e[1], want, b)
		v.KORTESTW(a, b)
	} else {
		a, b := v.load(t, x, 0), v.load(t, x, 1)
		for _, e := range append(a, b...) {
			v.VCMPPS(operand.U8(0), e, want, e)
		}
		v.VORPS(a[1], a[0], a[0])
		v.VORPS(b[1], b[0], b[0])
		v.VORPS(b[0], a[0], a[0])
		v.VPTEST(a[0], a[0])
	}
	v.JNE(operand.LabelRef("out"))
	v.advance(t, x)
	v.INCQ(i)
	v.JMP(operand.LabelRef("next"))
	v.Label("out")
	v.VZEROUPPER()
	v.Store(i, v.ReturnIndex(0))
	v.RET()
}

func rowSquare(v vec, t int) {
	v.function("rowSquare"+typeNames[t], "adds the squares of the elements to their lanes.\nReference: rowDotGeneric.",
		"func(x *byte, groups int, lanes *float32)")
	x, n, lanes := v.pointer("x"), v.pointer("groups"), v.pointer("lanes")
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		for j := range v.pairs() {
			e := v.load(t, x, j)
			for i, o := range v.places(t, j) {
				v.VFMADD231PS(e[i], e[i], acc[o/v.lanes()])
			}
		}
		v.advance(t, x)
	})
	v.flush(acc, lanes)
	v.end()
}

func rowDot(v vec, t int) {
	v.function("rowDot"+typeNames[t], "adds the products of the elements of a and b to their lanes.\nIt prefetches a ahead bytes further on.\nReference: rowDotGeneric.",
		"func(a, b *byte, groups int, lanes *float32, ahead int)")
	a, b, n, lanes, ahead := v.pointer("a"), v.pointer("b"), v.pointer("groups"), v.pointer("lanes"), v.pointer("ahead")
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		v.prefetch(t, a, ahead)
		for j := range v.pairs() {
			p, q := v.load(t, a, j), v.load(t, b, j)
			for i, o := range v.places(t, j) {
				v.VFMADD231PS(q[i], p[i], acc[o/v.lanes()])
			}
		}
		v.advance(t, a, b)
	})
	v.flush(acc, lanes)
	v.end()
}

func rowScale(v vec, t int) {
	v.function("rowScale"+typeNames[t], "writes e*s rounded to the type of y; e is in places. nt not 0 bypasses the cache.\nReference: rowScaleGeneric.",
		"func(e *float32, y *byte, groups int, s float32, nt int)")
	e, y, n := v.pointer("e"), v.pointer("y"), v.pointer("groups")
	s, k := v.scalar("s"), v.rounding(t)
	v.twice(n, func(nt bool) {
		for j := range v.pairs() {
			r := v.regs(2)
			for i, o := range v.places(t, j) {
				v.VMULPS(at(e, f32, o), s, r[i])
			}
			v.store(t, k, r, y, j, nt)
		}
		v.advance(f32, e)
		v.advance(t, y)
	})
}

package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("softmax", func(c *build.Context) {
	each(c, func(v vec) {
		v = v.withHigh()
		k := v.expTables()
		for t := range typeNames {
			softmaxExp(v, t, k)
			softmaxPipe(v, t, k, false)
			if t != f32 {
				softmaxPipe(v, t, k, true)
			}
			softmaxGrad(v, t)
		}
	})
})

func softmaxExp(v vec, t int, tables expTables) {
	v.function("softmaxExp"+typeNames[t], "writes e = c*exp(x-max), which must be neither above c nor NaN, in places, and adds\nit to its lane. It prefetches x ahead bytes further on.\nReference: softmaxExpGeneric.",
		"func(x *byte, e *float32, groups int, lanes *float32, row *float32, ahead int)")
	x, e, n, lanes, ahead := v.pointer("x"), v.pointer("e"), v.pointer("groups"), v.pointer("lanes"), v.pointer("ahead")
	k := v.expConstants(tables, t, v.pointer("row"))
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		v.prefetch(t, x, ahead)
		var chains []steps
		for j := range v.pairs() {
			chains = append(chains, v.exps(t, k, x, e, acc, j)...)
		}
		weave(6, chains...)
		v.advance(t, x)
		v.advance(f32, e)
	})
	v.flush(acc, lanes)
	v.end()
}

// exps are the steps of both registers of pair j from x to e and acc.
func (v vec) exps(t int, k expConstants, x, e reg.Register, acc regs, j int) []steps {
	z := v.regs(2)
	head := v.loads(t, x, j, z)
	for i, o := range v.places(t, j) {
		a := acc[o/v.lanes()]
		head[i] = append(append(head[i], v.exp(k, z[i])...),
			func() { v.VADDPS(z[i], a, a) },
			func() { v.VMOVUPS(z[i], at(e, f32, o)) })
	}
	return head
}

// softmaxPipe writes the row before around the cache while it computes: the stores of a
// pass of their own would wait for the memory with nothing to do meanwhile.
func softmaxPipe(v vec, t int, tables expTables, near bool) {
	name := "softmaxPipe"
	if near {
		name += "Near"
	}
	v.function(name+typeNames[t], "is softmaxExp, and writes what e was, times row.scale, to y around the cache.\nReference: softmaxExpGeneric and rowScaleGeneric.",
		"func(x *byte, e *float32, groups int, lanes *float32, row *float32, ahead int, y *byte)")
	x, e, n, lanes, ahead := v.pointer("x"), v.pointer("e"), v.pointer("groups"), v.pointer("lanes"), v.pointer("ahead")
	y := v.pointer("y")
	k := v.expConstants(tables, t, v.pointer("row"))
	k.near = near
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		v.prefetch(t, x, ahead)
		var chains []steps
		for j := range v.pairs() {
			c, store := v.exps(t, k, x, e, acc, j), v.scaledStore(t, k.s, e, y, j)
			if t != bf16 { // a load of x behind the store to the same place of y, in a page, would wait for it
				chains = append(chains, c[0], c[1], store)
			} else {
				chains = append(chains, c[0], store, c[1])
			}
		}
		weave(4, chains...)
		v.advance(t, x, y)
		v.advance(f32, e)
	})
	v.flush(acc, lanes)
	v.end()
}

// scaledStore are the steps that write pair j of e times s to y around the cache.
func (v vec) scaledStore(t int, s operand.Op, e, y reg.Register, j int) steps {
	z := v.regs(2)
	var c steps
	for i, o := range v.places(t, j) {
		c = append(c,
			func() { v.VMOVUPS(at(e, f32, o), z[i]) },
			func() { v.VMULPS(s, z[i], z[i]) })
	}
	if t == bf16 {
		return append(c, v.storeBF16(z, at(y, t, 2*j*v.lanes()), true)...)
	}
	return append(c, func() { v.store(t, ints{}, z, y, j, true) })
}

// argument addresses a float argument, and spread broadcasts it.
func (v vec) argument(name string) operand.Mem {
	a, err := v.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Addr
}

func (v vec) spread(m operand.Mem) reg.VecVirtual {
	r := v.reg()
	v.VBROADCASTSS(m, r)
	return r
}

func softmaxGrad(v vec, t int) {
	v.function("softmaxGrad"+typeNames[t], "writes dx = y*(dy-dot). It prefetches dy ahead bytes further on;\nnt not 0 bypasses the cache.\nReference: softmaxGradGeneric.",
		"func(y, dy, dx *byte, groups int, dot float32, ahead, nt int)")
	y, dy, dx, n, ahead := v.pointer("y"), v.pointer("dy"), v.pointer("dx"), v.pointer("groups"), v.pointer("ahead")
	dot, k := v.scalar("dot"), v.rounding(t)
	v.twice(n, func(nt bool) {
		v.prefetch(t, dy, ahead)
		for j := range v.pairs() {
			r, q := v.load(t, dy, j), v.load(t, y, j)
			for i := range r {
				v.VSUBPS(dot, r[i], r[i])
				v.VMULPS(q[i], r[i], r[i])
			}
			v.store(t, k, r, dx, j, nt)
		}
		v.advance(t, y, dy, dx)
	})
}

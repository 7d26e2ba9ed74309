package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("softmax", func(c *build.Context) {
	each(c, func(v vec) {
		v = v.withHigh()
		k, round := v.expTables(), v.roundingMemory()
		for t := range typeNames {
			softmaxExp(v, t, k)
			softmaxPipe(v, t, k, round)
			softmaxGrad(v, t)
		}
	})
})

func softmaxExp(v vec, t int, tables expTables) {
	v.function("softmaxExp"+typeNames[t], "writes e = exp(x-max), which must be neither above 1 nor NaN, in places, and adds\nit to its lane. It prefetches x ahead bytes further on.\nReference: softmaxExpGeneric.",
		"func(x *byte, e *float32, groups int, lanes *float32, max float32, ahead int)")
	x, e, n, lanes, ahead := v.pointer("x"), v.pointer("e"), v.pointer("groups"), v.pointer("lanes"), v.pointer("ahead")
	max := v.scalar("max")
	acc := v.accumulators(lanes)
	k := v.expConstants(tables, t)
	v.loop("", n, func() {
		v.prefetch(t, x, ahead)
		for j := range v.pairs() {
			z := v.load(t, x, j)
			for i, o := range v.places(t, j) {
				v.VSUBPS(max, z[i], z[i])
				v.exp(k, z[i])
				a := acc[o/v.lanes()]
				v.VADDPS(z[i], a, a)
				v.VMOVUPS(z[i], at(e, f32, o))
			}
		}
		v.advance(t, x)
		v.advance(f32, e)
	})
	v.flush(acc, lanes)
	v.end()
}

// softmaxPipe writes the row before around the cache while it computes: the stores of a
// pass of their own would wait for the memory with nothing to do meanwhile.
func softmaxPipe(v vec, t int, tables expTables, round ints) {
	v.function("softmaxPipe"+typeNames[t], "is softmaxExp, and writes done*s to y around the cache.\nReference: softmaxExpGeneric and rowScaleGeneric.",
		"func(x *byte, e *float32, groups int, lanes *float32, max float32, ahead int, done *float32, y *byte, s float32)")
	x, e, n, lanes, ahead := v.pointer("x"), v.pointer("e"), v.pointer("groups"), v.pointer("lanes"), v.pointer("ahead")
	done, y := v.pointer("done"), v.pointer("y")
	max, s := v.argument("max"), v.argument("s")
	acc := v.accumulators(lanes)
	k := v.expConstants(tables, t)
	v.loop("", n, func() {
		v.prefetch(t, x, ahead)
		for j := range v.pairs() {
			z := v.load(t, x, j)
			for i, o := range v.places(t, j) {
				v.VSUBPS(v.spread(max), z[i], z[i])
				v.exp(k, z[i])
				a := acc[o/v.lanes()]
				v.VADDPS(z[i], a, a)
				v.VMOVUPS(z[i], at(e, f32, o))
			}
			for i, o := range v.places(t, j) {
				z[i] = v.spread(s)
				v.VMULPS(at(done, f32, o), z[i], z[i])
			}
			v.store(t, round, z, y, j, true)
		}
		v.advance(t, x, y)
		v.advance(f32, e, done)
	})
	v.flush(acc, lanes)
	v.end()
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

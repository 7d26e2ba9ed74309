package main

import (
	"github.com/mmcloughlin/avo/build"
)

var _ = register("softmax", func(c *build.Context) {
	each(c, func(v vec) {
		k := v.expTable()
		for t := range typeNames {
			softmaxExp(v, t, k)
			softmaxGrad(v, t)
		}
	})
})

func softmaxExp(v vec, t int, table table) {
	v.function("softmaxExp"+typeNames[t], "writes e = exp(x-max), which must not exceed 1, and adds it to its lane.\nIt prefetches x ahead bytes further on.",
		"func(x *byte, e *float32, groups int, lanes *float32, max float32, ahead int)")
	x, e, n, lanes, ahead := v.pointer("x"), v.pointer("e"), v.pointer("groups"), v.pointer("lanes"), v.pointer("ahead")
	max := v.scalar("max")
	acc := v.accumulators(lanes)
	k := v.expConstants(table)
	v.loop("", n, func() {
		v.prefetch(t, x, ahead)
		for i := 0; i < len(acc); i += 2 { // two at a time: more would not fit 16 registers
			z := regs{v.load(t, x, i*v.lanes()), v.load(t, x, (i+1)*v.lanes())}
			for j := range z {
				v.VSUBPS(max, z[j], z[j])
			}
			v.exp(k, z)
			for j := range z {
				v.VADDPS(z[j], acc[i+j], acc[i+j])
				v.VMOVUPS(z[j], at(e, f32, (i+j)*v.lanes()))
			}
		}
		v.advance(t, x)
		v.advance(f32, e)
	})
	v.flush(acc, lanes)
	v.end()
}

func softmaxGrad(v vec, t int) {
	v.function("softmaxGrad"+typeNames[t], "writes dx = y*(dy-dot). It prefetches both inputs ahead bytes further on;\nnt not 0 bypasses the cache.",
		"func(y, dy, dx *byte, groups int, dot float32, ahead, nt int)")
	y, dy, dx, n, ahead := v.pointer("y"), v.pointer("dy"), v.pointer("dx"), v.pointer("groups"), v.pointer("ahead")
	dot, k := v.scalar("dot"), v.rounding(t)
	v.twice(n, func(nt bool) {
		v.prefetch(t, y, ahead)
		v.prefetch(t, dy, ahead)
		r := make(regs, v.registers())
		for i := range r {
			r[i] = v.load(t, dy, i*v.lanes())
			v.VSUBPS(dot, r[i], r[i])
			if t == f32 {
				v.VMULPS(at(y, t, i*v.lanes()), r[i], r[i])
			} else {
				v.VMULPS(v.load(t, y, i*v.lanes()), r[i], r[i])
			}
		}
		v.store(t, k, r, dx, nt)
		v.advance(t, y, dy, dx)
	})
}

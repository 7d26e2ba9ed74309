package main

import (
	"github.com/mmcloughlin/avo/build"
)

var _ = register("rms_norm", func(c *build.Context) {
	each(c, func(v vec) {
		v = v.withHigh()
		for t := range typeNames {
			rmsDot(v, t)
			rmsGrad(v, t)
			for _, round := range []bool{false, true} {
				if t == f32 && round {
					continue // rounding float32 to float32 is nothing
				}
				rmsScale(v, t, round)
				rmsDotWeight(v, t, round)
			}
		}
	})
})

// rounded names the variants that round x·r to the type of x before they go on.
func rounded(name string, t int, round bool) string {
	if round {
		name += "Round"
	}
	return name + typeNames[t]
}

func rmsScale(v vec, t int, round bool) {
	v.function(rounded("rmsScale", t, round), "writes y = x*r*w, w in places. It prefetches x ahead bytes further on; nt not 0 bypasses the cache.\nReference: rmsScaleGeneric.",
		"func(x *byte, w *float32, y *byte, groups int, r float32, ahead, nt int)")
	x, w, y, n, ahead := v.pointer("x"), v.pointer("w"), v.pointer("y"), v.pointer("groups"), v.pointer("ahead")
	r, k := v.scalar("r"), v.rounding(t)
	v.twice(n, func(nt bool) {
		v.prefetch(t, x, ahead)
		for j := range v.pairs() {
			e := v.load(t, x, j)
			for i, o := range v.places(t, j) {
				v.VMULPS(r, e[i], e[i])
				if round {
					v.round(t, k, e[i])
				}
				v.VMULPS(at(w, f32, o), e[i], e[i])
			}
			v.store(t, k, e, y, j, nt)
		}
		v.advance(t, x, y)
		v.advance(f32, w)
	})
}

func rmsDot(v vec, t int) {
	v.function("rmsDot"+typeNames[t], "adds dy*w*x to their lanes, w in places. It prefetches dy ahead bytes further on.\nReference: rmsDotGeneric.",
		"func(dy, x *byte, w *float32, groups int, lanes *float32, ahead int)")
	dy, x, w := v.pointer("dy"), v.pointer("x"), v.pointer("w")
	n, lanes, ahead := v.pointer("groups"), v.pointer("lanes"), v.pointer("ahead")
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		v.prefetch(t, dy, ahead)
		for j := range v.pairs() {
			m, e := v.load(t, dy, j), v.load(t, x, j)
			for i, o := range v.places(t, j) {
				v.VMULPS(at(w, f32, o), m[i], m[i])
				v.VFMADD231PS(e[i], m[i], acc[o/v.lanes()])
			}
		}
		v.advance(t, dy, x)
		v.advance(f32, w)
	})
	v.flush(acc, lanes)
	v.end()
}

func rmsDotWeight(v vec, t int, round bool) {
	v.function(rounded("rmsDotWeight", t, round), "adds dy*w*x to their lanes and dy*(x*r) to part, w and part in places.\nIt prefetches dy ahead bytes further on.\nReference: rmsDotGeneric.",
		"func(dy, x *byte, w, part *float32, groups int, lanes *float32, r float32, ahead int)")
	dy, x, w, part := v.pointer("dy"), v.pointer("x"), v.pointer("w"), v.pointer("part")
	n, lanes, r, ahead := v.pointer("groups"), v.pointer("lanes"), v.scalar("r"), v.pointer("ahead")
	acc := v.accumulators(lanes)
	var k ints
	if round {
		k = v.rounding(t)
	}
	v.loop("", n, func() {
		v.prefetch(t, dy, ahead)
		for j := range v.pairs() {
			d, e := v.load(t, dy, j), v.load(t, x, j)
			for i, o := range v.places(t, j) {
				m := v.reg()
				v.VMULPS(at(w, f32, o), d[i], m)
				v.VFMADD231PS(e[i], m, acc[o/v.lanes()])
				v.VMULPS(r, e[i], e[i])
				if round {
					v.round(t, k, e[i])
				}
				p := v.reg()
				v.VMOVUPS(at(part, f32, o), p)
				v.VFMADD231PS(e[i], d[i], p)
				v.VMOVUPS(p, at(part, f32, o))
			}
		}
		v.advance(t, dy, x)
		v.advance(f32, w, part)
	})
	v.flush(acc, lanes)
	v.end()
}

func rmsGrad(v vec, t int) {
	v.function("rmsGrad"+typeNames[t], "writes dx = r*(dy*w) - c*x, w in places. It prefetches x ahead bytes further on;\nnt not 0 bypasses the cache.\nReference: rmsGradGeneric.",
		"func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, ahead, nt int)")
	dy, x, w, dx := v.pointer("dy"), v.pointer("x"), v.pointer("w"), v.pointer("dx")
	n, ahead, r, c := v.pointer("groups"), v.pointer("ahead"), v.scalar("r"), v.scalar("c")
	k := v.rounding(t)
	v.twice(n, func(nt bool) {
		v.prefetch(t, x, ahead)
		for j := range v.pairs() {
			e, p := v.load(t, dy, j), v.load(t, x, j)
			for i, o := range v.places(t, j) {
				v.VMULPS(at(w, f32, o), e[i], e[i])
				v.VMULPS(r, e[i], e[i])
				v.VFNMADD231PS(p[i], c, e[i])
			}
			v.store(t, k, e, dx, j, nt)
		}
		v.advance(t, dy, x, dx)
		v.advance(f32, w)
	})
}

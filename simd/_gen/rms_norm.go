package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("rms_norm", func(c *build.Context) {
	each(c, func(v vec) {
		v = v.withHigh()
		k := v.roundingMemory()
		for t := range typeNames {
			rmsDot(v, t)
			rmsGrad(v, t)
			for _, round := range []bool{false, true} {
				if t == f32 && round {
					continue // rounding float32 to float32 is nothing
				}
				rmsScale(v, t, round)
				rmsDotWeight(v, t, round)
				rmsPipe(v, t, round, k)
				rmsGradPipe(v, t, round, k)
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
		v.scaled(t, round, k, x, w, y, r, nt)
		v.advance(t, x, y)
		v.advance(f32, w)
	})
}

// scaled writes a group of x*r*w, step by step.
func (v vec) scaled(t int, round bool, k ints, x, w, y reg.Register, r reg.VecVirtual, nt bool) {
	var e regs
	var places []int
	for j := range v.pairs() {
		e = append(e, v.load(t, x, j)...)
		o := v.places(t, j)
		places = append(places, o[:]...)
	}
	for i := range e {
		v.VMULPS(r, e[i], e[i])
	}
	if round {
		v.round(t, k, e...)
	}
	for i, o := range places {
		v.VMULPS(at(w, f32, o), e[i], e[i])
	}
	for j := range v.pairs() {
		v.store(t, k, e[2*j:], y, j, nt)
	}
}

// rmsPipe reads a later row while it writes this one: the memory has both to do all the time.
func rmsPipe(v vec, t int, round bool, k ints) {
	v.function(rounded("rmsPipe", t, round), "is rmsScale, around the cache, and adds the squares of next to their lanes. It prefetches\nnext ahead bytes further on.\nReference: rmsScaleGeneric and rowDotGeneric.",
		"func(x *byte, w *float32, y *byte, groups int, r float32, next *byte, lanes *float32, ahead int)")
	x, w, y, n := v.pointer("x"), v.pointer("w"), v.pointer("y"), v.pointer("groups")
	next, lanes, ahead, r := v.pointer("next"), v.pointer("lanes"), v.pointer("ahead"), v.scalar("r")
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		v.prefetch(t, next, ahead)
		for j := range v.pairs() {
			e := v.load(t, next, j)
			for i, o := range v.places(t, j) {
				v.VFMADD231PS(e[i], e[i], acc[o/v.lanes()])
			}
		}
		v.scaled(t, round, k, x, w, y, r, true)
		v.advance(t, x, y, next)
		v.advance(f32, w)
	})
	v.flush(acc, lanes)
	v.end()
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
			v.dotWeight(t, round, k, dy, x, w, part, r, acc, j)
		}
		v.advance(t, dy, x)
		v.advance(f32, w, part)
	})
	v.flush(acc, lanes)
	v.end()
}

// dotWeight adds pair j of dy*w*x to acc and of dy*(x*r) to part.
func (v vec) dotWeight(t int, round bool, k ints, dy, x, w, part reg.Register, r reg.VecVirtual, acc regs, j int) {
	d, e, places := v.load(t, dy, j), v.load(t, x, j), v.places(t, j)
	m := v.regs(len(d))
	for i, o := range places {
		v.VMULPS(at(w, f32, o), d[i], m[i])
	}
	for i, o := range places {
		v.VFMADD231PS(e[i], m[i], acc[o/v.lanes()])
	}
	for i := range e {
		v.VMULPS(r, e[i], e[i])
	}
	if round {
		v.round(t, k, e...)
	}
	for i, o := range places {
		v.VMOVUPS(at(part, f32, o), m[i])
	}
	for i := range e {
		v.VFMADD231PS(e[i], d[i], m[i])
	}
	for i, o := range places {
		v.VMOVUPS(m[i], at(part, f32, o))
	}
}

// rmsGradPipe does the first pass over a later row beside the second over this one.
func rmsGradPipe(v vec, t int, round bool, k ints) {
	v.function(rounded("rmsGradPipe", t, round), "is rmsGrad, around the cache, and rmsDotWeight of nextDY and nextX with nextR. It prefetches\nthese ahead bytes further on.\nReference: rmsGradGeneric and rmsDotGeneric.",
		"func(dy, x *byte, w *float32, dx *byte, groups int, r, c float32, nextDY, nextX *byte, part, lanes *float32, nextR float32, ahead int)")
	dy, x, w, dx, n := v.pointer("dy"), v.pointer("x"), v.pointer("w"), v.pointer("dx"), v.pointer("groups")
	nextDY, nextX, part, lanes, ahead := v.pointer("nextDY"), v.pointer("nextX"), v.pointer("part"), v.pointer("lanes"), v.pointer("ahead")
	r, c, nextR := v.scalar("r"), v.scalar("c"), v.scalar("nextR")
	acc := v.accumulators(lanes)
	v.loop("", n, func() {
		v.prefetch(t, nextDY, ahead)
		v.prefetch(t, nextX, ahead)
		for j := range v.pairs() {
			v.dotWeight(t, round, k, nextDY, nextX, w, part, nextR, acc, j)
			v.gradient(t, k, dy, x, w, dx, r, c, j, true)
		}
		v.advance(t, dy, x, dx, nextDY, nextX)
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
			v.gradient(t, k, dy, x, w, dx, r, c, j, nt)
		}
		v.advance(t, dy, x, dx)
		v.advance(f32, w)
	})
}

// gradient writes pair j of r*(dy*w) - c*x.
func (v vec) gradient(t int, k ints, dy, x, w, dx reg.Register, r, c reg.VecVirtual, j int, nt bool) {
	e, p := v.load(t, dy, j), v.load(t, x, j)
	for i, o := range v.places(t, j) {
		v.VMULPS(at(w, f32, o), e[i], e[i])
		v.VMULPS(r, e[i], e[i])
		v.VFNMADD231PS(p[i], c, e[i])
	}
	v.store(t, k, e, dx, j, nt)
}

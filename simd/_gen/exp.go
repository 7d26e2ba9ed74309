package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// e^z and 2^t are 2^(n/4) p(r): n/4 is the argument in units of ln 2, or 1, to the nearest
// quarter, its upper bits go to the exponent and its lower two choose from quarters. p is a
// polynomial of least relative error on the rest, |r| at most ln 2 / 8 or 1/8, with the
// constant (for e^z also the linear) coefficient held at 1: 5.3e-9 and 2.6e-9 in degree 4.
// In f64 the parts are whole and p has degree 11 on |f| at most 1/2, 1.8e-17.
//
// With half an ulp each for the table, for p and for their product, e^z is within 2 ulp of
// the exact value for float32 z ≤ 0 where that is normal, 0 or subnormal below; so is
// 2^(c u), for c u before rounding. TestExp measures it.
//
// For 16-bit elements the parts are whole too, and p, on |f| at most 1/2, has degree 3 for bf16, 7.5e-5, a
// fiftieth of its rounding, and 4 for f16, 2.6e-6, less than that. See expShort.
var (
	expF32   = []float32{1, 1, 0.500000204, 0.166721052, 0.0416417501}
	expBF16  = []float32{0.999928057, 0.693260968, 0.242611125, 0.0551716723}
	expF16   = []float32{0.999999285, 0.693121791, 0.240247443, 0.0559178591, 0.00957010221}
	exp2F32  = []float32{1, 0.693147081, 0.240226561, 0.0555299643, 0.00961618201}
	quarters = func() (t []uint64) {
		for i := range 16 { // four times: a lookup stays within 128 bits. What n's lower bits add is taken off.
			t = append(t, uint64(math.Float32bits(float32(math.Exp2(float64(i%4)/4)))-uint32(i%4)<<21))
		}
		return t
	}()
	exp2F64 = []float64{
		1, 0.6931471805599456971384, 0.2402265069591009803282, 0.0555041086647903695515, 0.009618129107606985446185,
		0.001333355815344418722016, 0.0001540353044160075543669, 0.00001525272738261150429152,
		0.00000132154426578081827974, 1.018064817587759011389e-7, 7.072573927467211557604e-9, 4.078072385745398075945e-10,
	}
)

// inQuarters are the coefficients for four times the argument.
func inQuarters(p []float32) []float32 {
	r, unit := make([]float32, len(p)), float32(1)
	for i := range p {
		r[i], unit = p[i]*unit, unit/4
	}
	return r
}

// table addresses constant i of a read-only array.
type table func(i int) operand.Mem

// table adds a read-only array with each constant repeated over 64 bytes.
func (v vec) table(name string, bits []uint64, size int) table {
	g := v.StaticGlobal(name + v.level())
	v.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, b := range bits {
		for o := 0; o < 64; o += size {
			if size == 4 {
				v.AddDatum(i*64+o, operand.U32(b))
			} else {
				v.AddDatum(i*64+o, operand.U64(b))
			}
		}
	}
	return func(i int) operand.Mem { return g.Offset(i * 64) }
}

func bits32(x ...float32) []uint64 {
	r := make([]uint64, len(x))
	for i := range x {
		r[i] = uint64(math.Float32bits(x[i]))
	}
	return r
}

func bits64(x ...float64) []uint64 {
	r := make([]uint64, len(x))
	for i := range x {
		r[i] = math.Float64bits(x[i])
	}
	return r
}

// expTables are the constants of a file.
type expTables struct {
	c        table
	short    table
	quarters operand.Mem
}

// expTables adds them, once per width.
func (v vec) expTables() expTables {
	return expTables{v.table("exp", bits32(
		-88,              // n is -508 here, and the power of two the bit pattern 0
		4*1.44269504,     // 4/ln 2
		12582912,         // 1.5·2^23: the low bits of a sum with it are n
		0.693147182/4,    // ln 2 / 4
		-1.90465421e-9/4, // and what float32 leaves of it
		expF32[4], expF32[3], expF32[2], 1,
	), 4), v.table("short", bits32(append(append([]float32{1.44269504}, expBF16...), expF16...)...), 4), v.quarters()}
}

// quarters adds the table of 2^(i/4), less i·2^21.
func (v vec) quarters() operand.Mem {
	g := v.StaticGlobal("quarters" + v.level())
	v.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, b := range quarters {
		v.AddDatum(4*i, operand.U32(b))
	}
	return g
}

// keep loads a constant into a register.
func (v vec) keep(m operand.Mem) reg.VecVirtual {
	r := v.reg()
	v.VMOVUPS(m, r)
	return r
}

// expConstants are the operands of exp: registers, or memory where registers are short.
type expConstants struct {
	max, low, scale, ln2hi, ln2lo, c2, c4, s operand.Op // those of a row first, then those of the file
	magic, c3, one, quarters                 reg.VecVirtual
	c                                        []operand.Op // of 16-bit elements, but for the last, which is c3
	short, near                              bool
}

// expConstants prepares exp for elements of type t of a row, whose own constants are at row.
func (v vec) expConstants(k expTables, t int, row reg.Register) expConstants {
	of := func(i int) operand.Op { // a constant of the row
		m := at(row, f32, 16+16*i)
		r := v.spread(at(row, f32, i))
		if v.wide {
			return r
		}
		v.VMOVUPS(r, m)
		return m
	}
	in := func(m operand.Mem) operand.Op {
		if v.wide {
			return v.keep(m)
		}
		return m
	}
	e := expConstants{short: t != f32, s: of(3)}
	if !e.short {
		e.max, e.low, e.scale, e.ln2hi, e.ln2lo = of(0), in(k.c(0)), in(k.c(1)), in(k.c(3)), in(k.c(4))
		e.c4, e.c2, e.c3, e.magic, e.one, e.quarters = in(k.c(5)), in(k.c(7)), v.keep(k.c(6)), v.keep(k.c(2)), v.keep(k.c(8)), v.keep(k.quarters)
		return e
	}
	e.low, e.magic, e.scale = of(1), v.spread(at(row, f32, 2)), v.keep(k.short(0))
	first, last := 1, len(expBF16)
	if t == f16 {
		first, last = last+1, last+len(expF16)
	}
	for i := first; i < last; i++ {
		e.c = append(e.c, in(k.short(i)))
	}
	e.c3 = v.keep(k.short(last))
	return e
}

// exp replaces z by e^(z-max), which is at most 1, or for 16-bit elements by what expShort says. z is not NaN.
func (v vec) exp(k expConstants, z reg.VecVirtual) steps {
	if k.short {
		return v.expShort(k, z)
	}
	t, n := v.reg(), v.reg()
	return append(steps{
		func() { v.VSUBPS(k.max, z, z) },
		func() { v.VMAXPS(k.low, z, z) },
		func() { v.VMOVAPS(k.magic, t) },
		func() { v.VFMADD231PS(k.scale, z, t) },
		func() { v.VSUBPS(k.magic, t, n) },
		func() { v.VFNMADD231PS(k.ln2hi, n, z) },
		func() { v.VFNMADD231PS(k.ln2lo, n, z) },
		func() { v.VMOVAPS(k.c3, n) },
		func() { v.VFMADD231PS(k.c4, z, n) },
		func() { v.VFMADD213PS(k.c2, z, n) },
		func() { v.VFMADD213PS(k.one, z, n) },
		func() { v.VFMADD213PS(k.one, n, z) }, // z p + 1, the result apart from the power
	}, append(v.powerSteps(k.quarters, t), func() { v.VMULPS(t, z, z) })...)
}

// expShort replaces x by 2^(x/ln 2 - k) for the whole number k next to max/ln 2: e^(x-max) but for a factor near 1 that
// softmax divides by. n = round(x/ln 2) less k is exact, and so is the rest f before its one rounding, as long as |max|
// is below 2^20; low makes n -127 for what lies further down, and the power of two the bit pattern 0. A row that is near
// has nothing so far down: n is added to the exponent then, which is the same product without a multiplier.
func (v vec) expShort(k expConstants, x reg.VecVirtual) steps {
	t, f := v.reg(), v.reg()
	var s steps
	if !k.near {
		s = steps{func() { v.VMAXPS(k.low, x, x) }}
	}
	s = append(s,
		func() { v.VMOVAPS(k.magic, t) },
		func() { v.VFMADD231PS(k.scale, x, t) }, // n, or n + 127, in the low bits
		func() { v.VSUBPS(k.magic, t, f) },
		func() { v.VFMSUB231PS(k.scale, x, f) },
		func() { v.VMOVAPS(k.c3, x) })
	for i := range k.c {
		s = append(s, func() { v.VFMADD213PS(k.c[len(k.c)-1-i], f, x) })
	}
	s = append(s, func() { v.VPSLLD(operand.U8(23), t, t) })
	if k.near {
		return append(s, func() { v.VPADDD(t, x, x) })
	}
	return append(s, func() { v.VMULPS(t, x, x) })
}

// power replaces t, n plus 1.5·2^23, by 2^(n/4).
func (v vec) power(quarters, t reg.VecVirtual) { run(v.powerSteps(quarters, t)) }

func (v vec) powerSteps(quarters, t reg.VecVirtual) steps {
	e := v.reg()
	return steps{
		func() { v.VPERMILPS(t, quarters, e) },
		func() { v.VPSLLD(operand.U8(21), t, t) },
		func() { v.VPADDD(e, t, t) },
	}
}

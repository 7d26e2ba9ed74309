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
// For 16-bit elements, 4.3e-7 in degree 3 is plenty.
// In f64 the parts are whole and p has degree 11 on |f| at most 1/2, 1.8e-17.
//
// With half an ulp each for the table, for p and for their product, e^z is within 2 ulp of
// the exact value for float32 z ≤ 0 where that is normal, 0 or subnormal below; so is
// 2^(c u), for c u before rounding. TestExp measures it.
var (
	expF32   = []float32{1, 1, 0.500000204, 0.166721052, 0.0416417501}
	expShort = []float32{1, 1, 0.500257075, 0.166673079}
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

// expConstants are registers of exp, and what it takes from memory to leave some free.
type expConstants struct {
	scale, magic, ln2hi, c4, c3, one, quarters reg.VecVirtual
	low, ln2lo, c2                             operand.Mem
	short                                      bool // for 16-bit elements: without c4 and ln2lo
}

// expTables are the constants of a file.
type expTables struct {
	c        table
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
		expShort[3], expShort[2],
	), 4), v.quarters()}
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

// expConstants prepares exp for elements of type t.
func (v vec) expConstants(k expTables, t int) expConstants {
	e := expConstants{scale: v.keep(k.c(1)), magic: v.keep(k.c(2)), ln2hi: v.keep(k.c(3)), one: v.keep(k.c(8)),
		quarters: v.keep(k.quarters), low: k.c(0), ln2lo: k.c(4), short: t != f32}
	if e.short {
		e.c3, e.c2 = v.keep(k.c(9)), k.c(10)
	} else {
		e.c4, e.c3, e.c2 = v.keep(k.c(5)), v.keep(k.c(6)), k.c(7)
	}
	return e
}

// exp replaces z by e^z. z is at most 0 and not NaN.
func (v vec) exp(k expConstants, z reg.VecVirtual) {
	t, n := v.reg(), v.reg()
	v.VMAXPS(k.low, z, z)
	v.VMOVAPS(k.magic, t)
	v.VFMADD231PS(z, k.scale, t)
	v.VSUBPS(k.magic, t, n)
	v.VFNMADD231PS(n, k.ln2hi, z)
	if k.short {
		v.VMOVUPS(k.c2, n)
		v.VFMADD231PS(z, k.c3, n)
	} else {
		v.VFNMADD231PS(k.ln2lo, n, z)
		v.VMOVAPS(k.c3, n)
		v.VFMADD231PS(z, k.c4, n)
		v.VFMADD213PS(k.c2, z, n)
	}
	v.VFMADD213PS(k.one, z, n)
	v.VFMADD213PS(k.one, n, z) // z p + 1, the result apart from the power
	v.power(k.quarters, t)
	v.VMULPS(t, z, z)
}

// power replaces t, n plus 1.5·2^23, by 2^(n/4).
func (v vec) power(quarters, t reg.VecVirtual) {
	e := v.reg()
	v.VPERMILPS(t, quarters, e)
	v.VPSLLD(operand.U8(21), t, t)
	v.VPADDD(e, t, t)
}

package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Minimax polynomials in relative error, by Remez exchange in 60 digits with the constant
// coefficient held at 1: e^r on |r| ≤ ln 2 / 2 (linear coefficient held at 1 too) to 3.1e-9,
// 2^f on |f| ≤ 1/2 to 2.6e-9 in degree 6 and 1.8e-17 in degree 11. With the roundings of
// Horner's rule and of the range reduction, e^z for float32 z ≤ 0 is within 1 ulp of the
// exact value where that is normal, and 2^(c u) within 1 ulp in both types for the rounded
// product; TestExp measures it.
var (
	expF32  = []float32{1, 1, 0.49999993, 0.16666521, 0.041668388, 0.0083687169, 0.0013814599}
	exp2F32 = []float32{1, 0.69314721499, 0.24022652780, 0.055503105096, 0.0096176927928, 0.0013406659164, 0.00015594717177}
	exp2F64 = []float64{
		1, 0.6931471805599456971384, 0.2402265069591009803282, 0.0555041086647903695515, 0.009618129107606985446185,
		0.001333355815344418722016, 0.0001540353044160075543669, 0.00001525272738261150429152,
		0.00000132154426578081827974, 1.018064817587759011389e-7, 7.072573927467211557604e-9, 4.078072385745398075945e-10,
	}
)

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

// expConstants are the registers of exp: e^z = 2^n e^r with n = round(z log2 e), r = z - n ln 2.
type expConstants struct {
	low, log2e, magic, ln2hi, ln2lo reg.VecVirtual
	poly                            table
}

// expTable adds the polynomial once per file and width.
func (v vec) expTable() table { return v.table("exp", bits32(expF32...), 4) }

func (v vec) expConstants(poly table) expConstants {
	k := expConstants{poly: poly}
	for _, c := range []struct {
		r *reg.VecVirtual
		x float32
	}{
		{&k.low, -88},              // n is -127 here, whose power of two is the bit pattern 0
		{&k.log2e, 1.44269504},     // 1/ln 2
		{&k.magic, 12582912 + 127}, // 1.5·2^23 plus the exponent bias: the sum's low bits are n+127
		{&k.ln2hi, 0.693147182},
		{&k.ln2lo, -1.90465421e-9},
	} {
		*c.r = v.broadcast(math.Float32bits(c.x))
	}
	return k
}

// exp replaces z[i] ≤ 0 by e^z[i]: a NaN stays, below -87.7 the result is 0.
func (v vec) exp(k expConstants, z regs) {
	t, p := v.regs(len(z)), v.regs(len(z))
	for i := range z {
		v.VMAXPS(z[i], k.low, z[i]) // a NaN is the second source, so it stays
		v.VMOVAPS(k.magic, t[i])
	}
	for i := range z {
		v.VFMADD231PS(z[i], k.log2e, t[i])
		v.VSUBPS(k.magic, t[i], p[i])
	}
	for i := range z {
		v.VFNMADD231PS(p[i], k.ln2hi, z[i])
		v.VFNMADD231PS(p[i], k.ln2lo, z[i])
	}
	last := len(expF32) - 1
	for i := range z {
		v.VMOVUPS(k.poly(last), p[i])
		v.VPSLLD(operand.U8(23), t[i], t[i])
	}
	for c := last - 1; c >= 0; c-- {
		for i := range z {
			v.VFMADD213PS(k.poly(c), z[i], p[i])
		}
	}
	for i := range z {
		v.VMULPS(t[i], p[i], z[i])
	}
}

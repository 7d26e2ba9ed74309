package kernels

import (
	"maps"
	"slices"

	"github.com/likbench/likbench/backend/kernel"
)

// fillBelow draws integers of [low, n).
func fillBelow(low, n int64) func(kernel.Rand, []float64) {
	return func(r kernel.Rand, x []float64) {
		for i := range x {
			x[i] = float64(low + r.Int64N(max(n-low, 1)))
		}
	}
}

// fillConstant is one value.
func fillConstant(v float64) func(kernel.Rand, []float64) {
	return func(_ kernel.Rand, x []float64) {
		for i := range x {
			x[i] = v
		}
	}
}

// fillAscending draws sorted values of [-a, a].
func fillAscending(a float64) func(kernel.Rand, []float64) {
	return func(r kernel.Rand, x []float64) {
		for i := range x {
			x[i] = float64(float32(a * (2*r.Float64() - 1)))
		}
		slices.Sort(x)
	}
}

// fillRamp is 0, 1, 2, …, repeated after n: for bytes, every value at every position.
func fillRamp(n int) func(kernel.Rand, []float64) {
	return func(_ kernel.Rand, x []float64) {
		for i := range x {
			x[i] = float64((i + i/n) % n)
		}
	}
}

// fillIdentity is 0, 1, 2, … in each row of c.
func fillIdentity(c int64) func(kernel.Rand, []float64) {
	return func(_ kernel.Rand, x []float64) {
		for i := range x {
			x[i] = float64(int64(i) % c)
		}
	}
}

// fillWords draws 32-bit words.
func fillWords(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(1<<32) - 1<<31)
	}
}

// fillInt8 draws the bytes of an int8 vector.
func fillInt8(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(256) - 128)
	}
}

// canonShift leaves room for sums of a thousand dot products of a thousand components.
const canonShift = 40

// setFills gives integer operands of a case data that fits its sizes. A case about wrong
// data keeps its own.
func setFills(c *kernel.Case, add fills) {
	f := maps.Clone(c.Fill)
	if f == nil {
		f = fills{}
	}
	for name, fill := range add {
		if _, own := f[name]; own && c.Faults {
			continue
		}
		f[name] = fill
	}
	c.Fill = f
}

func setAttr(c *kernel.Case, name string, v any) {
	a := maps.Clone(c.Attrs)
	if a == nil {
		a = map[string]any{}
	}
	a[name] = v
	c.Attrs = a
}

// bitsOf is the attribute Bits of a case, 2 where it has none.
func bitsOf(c *kernel.Case) int64 {
	if b, ok := c.Attrs["Bits"].(int); ok {
		return int64(b)
	}
	setAttr(c, "Bits", 2)
	return 2
}

// derived completes cases as an axis change would.
func derived(derive func(*kernel.Case), cases ...kernel.Case) []kernel.Case {
	for i := range cases {
		derive(&cases[i])
	}
	return cases
}

// instead gives a derived case other data for its sizes; deriving again takes it away.
func instead(c kernel.Case, f fills) kernel.Case {
	maps.Copy(c.Fill, f)
	return c
}

// deriveRows makes d fill whole bytes and sizes the tables.
func deriveRows(c *kernel.Case) int64 {
	bits := bitsOf(c)
	per := 8 / bits
	d := (max(c.Dims["d"], 1) + per - 1) / per * per
	c.Dims["d"], c.Dims["rb"], c.Dims["w"], c.Dims["k"] = d, d*bits/8, 1<<bits, max(c.Dims["k"], 1)
	return bits
}

// deriveListing gives candidates and codes that exist.
func deriveListing(c *kernel.Case) fills {
	docs := c.Dims["nd"]
	if l, ok := c.Lens["td"]; ok {
		docs = int64(len(l))
	}
	return fills{"Candidate": fillBelow(-1, docs), "Code": fillBelow(0, c.Dims["k"]), "Shift": fillConstant(canonShift)}
}

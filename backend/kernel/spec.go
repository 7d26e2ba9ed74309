package kernel

import (
	"slices"

	"github.com/likbench/likbench/backend"
)

// Dims are named axis sizes.
type Dims map[string]int64

// Clone copies d.
func (d Dims) Clone() Dims {
	c := make(Dims, len(d))
	for k, v := range d {
		c[k] = v
	}
	return c
}

// Case is one point of tests or benchmarks.
type Case struct {
	Name   string
	Dims   Dims                             // sizes of axes; a ragged axis may be left to Lens
	Types  []backend.DType                  // picks the instance, in the order of Spec.Vars; nil = every instance
	Absent []string                         // optional operands left out, by field; the others are present
	Attrs  map[string]any                   // by field; a field not named has its zero value
	Lens   map[string][]int64               // segment lengths of ragged axes, by axis; nil = drawn from the seed
	Fill   map[string]func(Rand, []float64) // data of an operand by field, instead of uniform values in [-1,1]
	Faults bool                             // the data is wrong on purpose: Sync must return *ArgumentError
	Smoke  bool                             // among the few cases for sanitizers, as the first three are
	Note   string                           // for docs: what the shape stands for
}

// Of says whether an instance has the case.
func (c *Case) Of(in Instance) bool {
	return c.Types == nil || slices.Equal(c.Types, in.Types[:len(c.Types)])
}

// Rand is the seeded source that Fill draws from.
type Rand interface {
	Float64() float64
	NormFloat64() float64
	Int64N(n int64) int64
}

// Cost is the compulsory work of one call: operations on its values and bytes that must
// move once.
type Cost struct {
	FLOP    float64 // multiply and add count one each
	Special float64 // exponentials, logarithms, square roots
	Read    float64 // bytes
	Write   float64 // bytes
	Unit    string  // ceiling that bounds FLOP: "fma_f32", "dot_bf16", …; "" = fma_f32
}

// Spec declares one kernel over all its dtypes.
type Spec[A any] struct {
	Name   string // lower snake case
	Family string // folder of device sources
	Source string // where the algorithm comes from
	Doc    string // one paragraph: what it computes, empty input, ties, NaN

	Vars      []string          // type variables, T first; one whose operands are all absent takes T's type
	Instances [][]backend.DType // allowed assignments in the order of Vars; never a cross product

	Check     func(*A) error       // attributes and derived sizes; never data
	Reference func(*Ref, *A) error // float64; decodes every dtype through Ref
	Faults    []string             // data errors by status code, from 1

	Tolerance   map[string]Tolerance // per output field
	Independent string               // an axis along which outputs do not depend on one another
	Cost        func(*backend.Call) Cost
	Derive      func(*Case) // makes dependent sizes and attributes of a case fit after an axis was changed

	Cases, Bench []Case
}

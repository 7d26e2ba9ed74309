// Package kernel declares kernels once, as data, from a tagged operand struct, and
// launches them through typed values.
//
// A declaration is a [Spec]: operands with named axes, dtypes, attributes, a float64
// reference, tolerances, cost and cases. Conformance, benchmarks, generated headers and
// docs all read it through [All]; nothing else describes a shape.
//
// Tag grammar, one field each:
//
//	kernel:"in|out|inout dtype axes [opt] [strided] [alias=Field] [offsets=axis] [count=axis]"
//	kernel:"attr"
//
//	dtype    f32, i32, … | T (a type variable of Spec.Vars) | acc(T): f64 where T is f64, else f32
//	axes     a,b,c | a+1 | - (one element)
//	opt      the zero View means absent
//	strided  rows may be apart by View.Stride elements
//	alias=F  may be exactly the storage of that earlier operand (in place); any other overlap is an error
//	offsets  int64 prefix sums over that axis: n+1 entries (field type Offsets)
//	count    live number of elements of that axis, at most its size (i64)
//
// Attributes are fields of type float64, int64, bool or a uint8 enumeration.
package kernel

// Package kernels declares the kernels, one file each: operands, float64 reference,
// tolerances, cost, cases. A new file is a new kernel; nothing else lists it.
//
// Every declaration is launched through its typed value:
//
//	err := kernels.TopK.Launch(stream, &kernels.TopKArgs{Score: s, Value: v, Index: i})
package kernels

import (
	"math"
	"strconv"

	"github.com/likbench/likbench/backend"
)

const (
	f64    = backend.F64
	f32    = backend.F32
	f16    = backend.F16
	bf16   = backend.BF16
	f8e4m3 = backend.F8E4M3
)

// rowTypes are the dtypes of row kernels; weightTypes add a weight that may stay f32.
var (
	rowTypes    = [][]backend.DType{{f32}, {bf16}, {f16}}
	weightTypes = [][]backend.DType{{f32, f32}, {bf16, bf16}, {f16, f16}, {bf16, f32}, {f16, f32}}
)

var negInf = math.Inf(-1)

// viewBytes is the compulsory traffic of a call's operands with these numbers; absent ones have none.
func viewBytes(c *backend.Call, operands ...int) float64 {
	var n float64
	for _, i := range operands {
		if v := &c.Operands[i]; !v.Absent() {
			n += float64(v.Elements()) * float64(v.DType.Size())
		}
	}
	return n
}

// spacing is the relative spacing of a storage dtype: the largest relative error of one
// rounding is half of it.
func spacing(t backend.DType) float64 {
	switch t {
	case bf16:
		return 0x1p-7
	case f16:
		return 0x1p-10
	case f64:
		return 0x1p-52
	}
	return 0x1p-23
}

// number is an attribute with a wrong value.
func number(kernel, attr string, x float64, why string) error {
	return argument(kernel, attr, "", strconv.FormatFloat(x, 'g', -1, 64)+" "+why, 0, 0)
}

func argument(kernel, operand, axis, why string, want, got int64) error {
	return &backend.ArgumentError{Kernel: kernel, Operand: operand, Axis: axis, Why: why, Want: want, Got: got}
}

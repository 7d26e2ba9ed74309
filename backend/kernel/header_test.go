package kernel

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestMembers(t *testing.T) {
	var got []string
	for _, m := range toyKernel.Members() {
		got = append(got, m.What+" "+m.Name)
	}
	require.Equal(t, []string{
		"operand x", "operand off", "operand weight", "operand live", "operand state", "operand y", "operand sum",
		"axis rows", "axis n", "axis parts", "stride x_stride",
		"attribute gain", "attribute shift", "attribute flag", "attribute mode",
		"block scratch", "block scratch_bytes", "block status", "block tag",
	}, got)
	require.Equal(t, reflect.Float64, toyKernel.Members()[11].Kind)
	require.Equal(t, reflect.Int64, toyKernel.Members()[14].Kind)
}

type toySmallArgs struct {
	X   backend.View `kernel:"in T rows,n strided"`
	Off Offsets      `kernel:"in i64 parts+1 offsets=rows"`
	W   backend.View `kernel:"in f32 n opt"`
	S   backend.View `kernel:"inout i32 -"`
	Eps float64      `kernel:"attr"`
	On  bool         `kernel:"attr"`
}

var toySmall = Declare(Spec[toySmallArgs]{Name: "toy_small", Family: "toys", Source: "definition", Vars: []string{"T"},
	Instances: [][]backend.DType{{backend.F32}}, Reference: func(*Ref, *toySmallArgs) error { return nil },
	Cost: func(*backend.Call) Cost { return Cost{} }, Tolerance: map[string]Tolerance{"S": Exact{}}})

func TestHeaderCUDA(t *testing.T) {
	require.Equal(t, `// Code generated from the declaration of toy_small. DO NOT EDIT.
#ifndef TOY_SMALL_ARGS_H
#define TOY_SMALL_ARGS_H
struct toy_small_args {
  unsigned long long x; // in [rows,n]
  unsigned long long off; // in [parts+1]
  unsigned long long w; // in [n], 0 = absent
  unsigned long long s; // inout []
  long long rows;
  long long n;
  long long parts;
  long long x_stride; // elements between rows
  double eps;
  long long on;
  unsigned long long scratch; // address of the workspace
  unsigned long long scratch_bytes;
  unsigned long long status; // address of the stream's status word
  unsigned long long tag; // number of this binding in status words
};
#endif
`, Header(toySmall, CUDA))
}

func TestHeaderMSL(t *testing.T) {
	require.Equal(t, `// Code generated from the declaration of toy_small. DO NOT EDIT.
#ifndef TOY_SMALL_ARGS_H
#define TOY_SMALL_ARGS_H
struct toy_small_args {
  ulong x; // in [rows,n]
  ulong off; // in [parts+1]
  ulong w; // in [n], 0 = absent
  ulong s; // inout []
  long rows;
  long n;
  long parts;
  long x_stride; // elements between rows
  float eps; uint eps_pad;
  long on;
  ulong scratch; // address of the workspace
  ulong scratch_bytes;
  ulong status; // address of the stream's status word
  ulong tag; // number of this binding in status words
};
#define TOY_SMALL_X 0
#define TOY_SMALL_OFF 1
#define TOY_SMALL_W 2
#define TOY_SMALL_S 3
#define TOY_SMALL_BUFFER_SCRATCH 4
#define TOY_SMALL_BUFFER_STATUS 5
#define TOY_SMALL_BUFFER_ARGS 6
#endif
`, Header(toySmall, MSL))
}

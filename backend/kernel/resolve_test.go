package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestResolve(t *testing.T) {
	d := &toyDevice{b: &toy{}}
	a := good(d)
	a.X.Stride, a.X.Buf = 5, &toyBuffer{d: d, mem: make([]byte, 18*4)} // 3 strides and a row
	var c backend.Call
	name, err := toyKernel.Resolve(a, &c)
	require.NoError(t, err)
	require.Equal(t, "toy_gain_f32", name)
	require.Equal(t, [backend.MaxAxes]int64{4, 3, 2}, c.Axes)
	require.Equal(t, []uint8{7, 3, 4}, []uint8{c.NOperand, c.NAxis, c.NAttr})
	require.Equal(t, [backend.MaxTypes]backend.DType{backend.F32, backend.F32}, c.Types)
	require.Equal(t, []backend.Word{backend.Word(math.Float64bits(2)), math.MaxUint64, 1, 3}, c.Attrs[:4])
	require.Equal(t, a.X, c.Operands[0])
	require.Equal(t, a.Off.View, c.Operands[1])
	require.Same(t, a, c.Args)
	require.Same(t, toyKernel, c.Kernel)
}

func TestResolveTypes(t *testing.T) {
	d := &toyDevice{b: &toy{}}
	for want, types := range map[string][2]backend.DType{
		"toy_gain_f32": {backend.F32, backend.F32}, "toy_gain_bf16": {backend.BF16, backend.BF16},
		"toy_gain_bf16_f32": {backend.BF16, backend.F32}, "toy_gain_f64": {backend.F64, backend.F64},
	} {
		a := good(d)
		a.X, a.Y, a.Weight = view(d, types[0], 4, 3), view(d, types[0], 4, 3), view(d, types[1], 3)
		a.Sum = backend.View{}
		var c backend.Call
		name, err := toyKernel.Resolve(a, &c)
		require.NoError(t, err)
		require.Equal(t, want, name)
	}
	// A variable whose operands are all absent takes T's type; acc(T) is f64 for f64 alone.
	for dt, acc := range map[backend.DType]backend.DType{backend.BF16: backend.F32, backend.F64: backend.F64} {
		a := good(d)
		a.X, a.Y, a.Sum, a.Weight = view(d, dt, 4, 3), view(d, dt, 4, 3), view(d, acc, 4), backend.View{}
		var c backend.Call
		name, err := toyKernel.Resolve(a, &c)
		require.NoError(t, err)
		require.Equal(t, "toy_gain_"+dt.String(), name)
		require.Equal(t, dt, c.Types[1])
	}
}

func TestResolveAbsentAndEmpty(t *testing.T) {
	d := &toyDevice{b: &toy{}}
	a := good(d)
	a.Weight, a.Live, a.Sum = backend.View{}, backend.View{}, backend.View{}
	var c backend.Call
	_, err := toyKernel.Resolve(a, &c)
	require.NoError(t, err)
	require.Equal(t, [backend.MaxAxes]int64{4, 3, 2}, c.Axes)

	a = good(d)
	a.X, a.Y, a.Sum = view(d, backend.F32, 0, 3), view(d, backend.F32, 0, 3), view(d, backend.F32, 0)
	a.Off = DeviceOffsets(view(d, backend.I64, 1), 0, 0)
	a.Live = backend.View{}
	_, err = toyKernel.Resolve(a, &c)
	require.NoError(t, err)
	require.Equal(t, [backend.MaxAxes]int64{0, 3, 0}, c.Axes)
}

func TestResolveRefusals(t *testing.T) {
	d := &toyDevice{b: &toy{}}
	short := func(v *backend.View, n int64) { v.Buf = &toyBuffer{d: d, mem: make([]byte, n)} }
	for want, change := range map[string]func(a *toyArgs){
		"X: absent":   func(a *toyArgs) { a.X = backend.View{} },
		"Off: absent": func(a *toyArgs) { a.Off = Offsets{} },
		"Y: absent":   func(a *toyArgs) { a.Y = backend.View{} },

		"X: rank (got 3, want 2)":                    func(a *toyArgs) { a.X.Rank = 3 },
		"State: rank (got 1, want 0)":                func(a *toyArgs) { a.State.Rank = 1 },
		"Y: dtype bf16, want f32":                    func(a *toyArgs) { a.Y.DType = backend.BF16 },
		"Sum: dtype f64, want f32":                   func(a *toyArgs) { a.Sum.DType = backend.F64 },
		"State: dtype i64, want i32":                 func(a *toyArgs) { a.State.DType = backend.I64 },
		"X: dtype invalid is no element type":        func(a *toyArgs) { a.X.DType = backend.Invalid },
		"Weight: dtype dtype(99) is no element type": func(a *toyArgs) { a.Weight.DType = 99 },

		"Y: sizes differ between operands: axis n is 2, want 3":        func(a *toyArgs) { a.Y.Dims[1] = 2 },
		"Weight: sizes differ between operands: axis n is 4, want 3":   func(a *toyArgs) { a.Weight.Dims[0] = 4 },
		"Live: sizes differ between operands: axis parts is 3, want 2": func(a *toyArgs) { a.Live.Dims[0] = 3 },
		"X: negative size: axis rows is -4, want 0":                    func(a *toyArgs) { a.X.Dims[0] = -4 },
		"Off: negative size: axis parts is -1, want 0":                 func(a *toyArgs) { a.Off.View.Dims[0] = 0 },

		"Y: a row stride is not declared for this operand (got 3, want 0)": func(a *toyArgs) { a.Y.Stride = 3 },
		"X: row stride is less than a row (got 2, want 3)":                 func(a *toyArgs) { a.X.Stride = 2 },
		"X: row stride is less than a row (got -3, want 3)":                func(a *toyArgs) { a.X.Stride = -3 }, // reversed rows
		"X: past the end of its buffer (got 72, want 71)": func(a *toyArgs) {
			a.X.Stride = 5
			short(&a.X, 71) // 3 strides and a row are 18 elements
		},

		"X: byte offset is negative or no multiple of the element size (got -4, want 4)": func(a *toyArgs) { a.X.Off = -4 },
		"X: byte offset is negative or no multiple of the element size (got 2, want 4)":  func(a *toyArgs) { a.X.Off = 2 },
		"X: past the end of its buffer (got 48, want 44)":                                func(a *toyArgs) { a.X.Off = 4 },
		"X: past the end of its buffer (got 48, want 0)":                                 func(a *toyArgs) { a.X.Off = 400 },
		"State: past the end of its buffer (got 4, want 0)":                              func(a *toyArgs) { a.State.Off = math.MaxInt64 - 3 },

		"Off: offsets not made by NewOffsets or DeviceOffsets":                                 func(a *toyArgs) { a.Off = Offsets{View: a.Off.View, N: 2, Total: 4, Max: 3} },
		"Off: offsets changed after they were checked (got 1, want 2)":                         func(a *toyArgs) { a.Off.View.Dims[0] = 2; a.Live = backend.View{} },
		"Off: longest segment and total of the offsets do not fit each other (got 5, want 4)":  func(a *toyArgs) { a.Off.Max = 5 },
		"Off: longest segment and total of the offsets do not fit each other (got -1, want 4)": func(a *toyArgs) { a.Off.Max = -1 },
		"Off: longest segment and total of the offsets do not fit each other (got 0, want -1)": func(a *toyArgs) { a.Off = DeviceOffsets(a.Off.View, -1, 0) },
		"Off: offsets end past the axis: axis rows is 5, want 4":                               func(a *toyArgs) { a.Off = DeviceOffsets(a.Off.View, 5, 5) },
		"Off: offsets end past the axis: axis rows is 9223372036854775807, want 4":             func(a *toyArgs) { a.Off = DeviceOffsets(a.Off.View, math.MaxInt64, 3) },
		"Gain: negative": func(a *toyArgs) { a.Gain = -1 }, // by the kernel's own check
	} {
		a := good(d)
		change(a)
		var c backend.Call
		_, err := toyKernel.Resolve(a, &c)
		require.EqualError(t, err, "kernel: toy_gain: operand "+want)
		require.ErrorIs(t, err, backend.ErrArgument)
	}
	a := good(d)
	a.Weight.DType = backend.BF16
	var c backend.Call
	_, err := toyKernel.Resolve(a, &c)
	require.EqualError(t, err, "kernel: toy_gain: no instance for dtypes f32,bf16")
}

// Sizes beyond 2^31 are legal, sizes whose bytes do not fit in 63 bits are not, also where
// another axis is empty.
func TestResolveHugeSizes(t *testing.T) {
	d := &toyDevice{b: &toy{}}
	resolve := func(rows, n, stride int64) error {
		a := good(d)
		a.X, a.Y = view(d, backend.F32), view(d, backend.F32)
		for _, v := range []*backend.View{&a.X, &a.Y} {
			v.Rank, v.Dims = 2, [backend.MaxRank]int64{rows, n}
			v.Buf = &toyBuffer{d: d, n: math.MaxInt64}
		}
		a.X.Stride = stride
		a.Weight, a.Sum, a.Live = backend.View{}, backend.View{}, backend.View{}
		a.Off = DeviceOffsets(view(d, backend.I64, 1), 0, 0)
		var c backend.Call
		_, err := toyKernel.Resolve(a, &c)
		return err
	}
	require.NoError(t, resolve(1<<32, 1<<20, 0))
	require.NoError(t, resolve(1<<31+1, 3, 5))
	require.NoError(t, resolve(1<<60-1, 1, 0))
	const most = math.MaxInt64 / 8
	require.EqualError(t, resolve(1<<60, 1, 0), "kernel: toy_gain: operand X: too many elements: axis rows is 1152921504606846976, want 1152921504606846975")
	require.EqualError(t, resolve(1<<32, 1<<32, 0), "kernel: toy_gain: operand X: too many elements: axis n is 4294967296, want 268435455")
	require.EqualError(t, resolve(math.MaxInt64, math.MaxInt64, 0), "kernel: toy_gain: operand X: too many elements: axis rows is 9223372036854775807, want 1152921504606846975")
	require.Error(t, resolve(0, 1<<61, 0))
	require.EqualError(t, resolve(1<<40, 2, most>>40+1), "kernel: toy_gain: operand X: row stride is too large (got 1048576, want 1048575)")
	require.NoError(t, resolve(1<<40, 2, most>>40))
	require.NoError(t, resolve(0, 2, math.MaxInt64), "no rows, no distance between them")
}

func TestResolveAliases(t *testing.T) {
	d := &toyDevice{b: &toy{}}
	resolve := func(change func(a *toyArgs, b backend.Buffer)) error {
		a := good(d)
		change(a, &toyBuffer{d: d, mem: make([]byte, 1000)})
		var c backend.Call
		_, err := toyKernel.Resolve(a, &c)
		return err
	}
	at := func(v *backend.View, b backend.Buffer, off int64) { v.Buf, v.Off = b, off }
	for name, change := range map[string]func(a *toyArgs, b backend.Buffer){
		"in place":                 func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 8); at(&a.Y, b, 8) },
		"in place with the stride": func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 8); at(&a.Y, b, 8); a.X.Stride = 3 },
		"side by side":             func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 0); at(&a.Y, b, 48); at(&a.Sum, b, 96) },
		"inputs share":             func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 0); at(&a.Weight, b, 4) },
		"an empty output":          func(a *toyArgs, b backend.Buffer) { emptyRows(a, d); at(&a.Weight, b, 0); at(&a.Y, b, 4) },
		"an empty input":           func(a *toyArgs, b backend.Buffer) { emptyRows(a, d); at(&a.X, b, 4); at(&a.State, b, 4) },
	} {
		require.NoError(t, resolve(change), name)
	}
	for want, change := range map[string]func(a *toyArgs, b backend.Buffer){
		"Y: overlaps operand X":      func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 0); at(&a.Y, b, 4) },
		"Y: overlaps operand Weight": func(a *toyArgs, b backend.Buffer) { at(&a.Weight, b, 40); at(&a.Y, b, 0) },
		"Sum: overlaps operand X":    func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 0); at(&a.Sum, b, 0) },
		"Y: overlaps operand Sum":    func(a *toyArgs, b backend.Buffer) { at(&a.Y, b, 0); at(&a.Sum, b, 44) },
		"State: overlaps operand X":  func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 0); at(&a.State, b, 44) },
	} {
		err := resolve(change)
		require.EqualError(t, err, "kernel: toy_gain: operand "+want)
	}
	// In place needs the same rows: a strided input lies elsewhere from its second row on.
	err := resolve(func(a *toyArgs, b backend.Buffer) { at(&a.X, b, 0); at(&a.Y, b, 0); a.X.Stride = 4 })
	require.EqualError(t, err, "kernel: toy_gain: operand Y: overlaps operand X")
}

// emptyRows makes X, Y and Sum empty.
func emptyRows(a *toyArgs, d *toyDevice) {
	a.X, a.Y, a.Sum = view(d, backend.F32, 0, 3), view(d, backend.F32, 0, 3), view(d, backend.F32, 0)
	a.Off = DeviceOffsets(view(d, backend.I64, 1), 0, 0)
	a.Live = backend.View{}
}

// An axis that only offsets measure takes their total.
func TestResolveAxisOfOffsetsAlone(t *testing.T) {
	type args struct {
		Off Offsets      `kernel:"in i64 parts+1 offsets=total"`
		Y   backend.View `kernel:"out f32 parts"`
	}
	k := Declare(Spec[args]{Name: "toy_offsets", Family: "toys", Source: "definition", Reference: func(*Ref, *args) error { return nil },
		Cost: func(*backend.Call) Cost { return Cost{} }, Tolerance: map[string]Tolerance{"Y": Exact{}}})
	d := &toyDevice{b: &toy{}}
	var c backend.Call
	name, err := k.Resolve(&args{DeviceOffsets(view(d, backend.I64, 3), 9, 5), view(d, backend.F32, 2)}, &c)
	require.NoError(t, err)
	require.Equal(t, "toy_offsets", name)
	require.Equal(t, [backend.MaxAxes]int64{2, 9}, c.Axes)
}

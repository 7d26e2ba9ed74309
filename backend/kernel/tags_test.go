package kernel

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestBadTags(t *testing.T) {
	type V = backend.View
	vars := []string{"T"}
	for _, c := range []struct {
		args any
		want string
	}{
		{struct{ X V }{}, `X: no kernel tag`},
		{struct {
			x V `kernel:"in T n"`
		}{}, `x: not exported`},
		{struct {
			X V `kernel:"in T"`
		}{}, `X: tag "in T": want mode, dtype, axes`},
		{struct {
			X V `kernel:"on T n"`
		}{}, `X: mode "on"`},
		{struct {
			X int64 `kernel:"in T n"`
		}{}, `X: type int64: want backend.View or kernel.Offsets`},
		{struct {
			X V `kernel:"in f33 n"`
		}{}, `X: dtype "f33"`},
		{struct {
			X V `kernel:"in U n"`
		}{}, `X: dtype "U"`},
		{struct {
			X V `kernel:"in acc(f32) n"`
		}{}, `X: dtype "acc(f32)": acc takes a type variable`},
		{struct {
			X V `kernel:"in acc(T n"`
		}{}, `X: dtype "acc(T": acc takes a type variable`},
		{struct {
			X V `kernel:"in T n,"`
		}{}, `X: axis ""`},
		{struct {
			X V `kernel:"in T N"`
		}{}, `X: axis "N"`},
		{struct {
			X V `kernel:"in T n+2"`
		}{}, `X: axis "n+2"`},
		{struct {
			X V `kernel:"in T 2d"`
		}{}, `X: axis "2d"`},
		{struct {
			X V `kernel:"in T a,b,c,d,e,f"`
		}{}, `X: rank 6, at most 5`},
		{struct {
			X V `kernel:"in T n optional"`
		}{}, `X: option "optional"`},
		{struct {
			X V `kernel:"in T n opt=1"`
		}{}, `X: option "opt=1" takes no value`},
		{struct {
			X V `kernel:"in T n strided"`
		}{}, `X: strided needs rows: at least two axes`},
		{struct {
			X V `kernel:"in T n"`
			Y V `kernel:"out T n alias=Z"`
		}{}, `Y: alias of unknown or later operand "Z"`},
		{struct {
			Y V `kernel:"out T n alias=X"`
			X V `kernel:"in T n"`
		}{}, `Y: alias of unknown or later operand "X"`},
		{struct {
			X V `kernel:"in T n"`
			Y V `kernel:"in T n alias=X"`
		}{}, `Y: alias is for outputs`},
		{struct {
			X V `kernel:"in T n"`
			C V `kernel:"in i64 b count="`
		}{}, `C: option "count=": axis ""`},
		{struct {
			X V `kernel:"in T n"`
			C V `kernel:"in i32 b count=n"`
		}{}, `C: a count is an input of type i64`},
		{struct {
			X V `kernel:"in T n"`
			C V `kernel:"in i64 b count=m"`
		}{}, `C: count of axis "m", which no operand has`},
		{struct {
			X V       `kernel:"in T n"`
			O Offsets `kernel:"in i64 b+1"`
		}{}, `O: offsets are a field of type Offsets with tag "i64 n+1 offsets=axis"`},
		{struct {
			X V       `kernel:"in T n"`
			O Offsets `kernel:"in i64 b offsets=n"`
		}{}, `O: offsets are a field of type Offsets with tag "i64 n+1 offsets=axis"`},
		{struct {
			X V       `kernel:"in T n"`
			O Offsets `kernel:"in i32 b+1 offsets=n"`
		}{}, `O: offsets are a field of type Offsets with tag "i64 n+1 offsets=axis"`},
		{struct {
			X V `kernel:"in T n"`
			O V `kernel:"in i64 b+1 offsets=n"`
		}{}, `O: offsets are a field of type Offsets with tag "i64 n+1 offsets=axis"`},
		{struct {
			S V `kernel:"out acc(T) n"`
			X V `kernel:"in T n"`
		}{}, `S: acc(T) before a required operand of type T`},
		{struct {
			X V `kernel:"in T n opt"`
		}{}, `type variable T: no operand has it`},
		{struct {
			X V `kernel:"in f32 n"`
		}{}, `type variable T: no operand has it`},
		{struct {
			X V       `kernel:"in T n"`
			A float32 `kernel:"attr"`
		}{}, `A: attribute of type float32: want float64, int64, bool or a uint8 enumeration`},
		{struct {
			X V     `kernel:"in T n"`
			N int64 `kernel:"attr"`
		}{}, `attribute "n" collides with axis of the same name`},
		{struct {
			X    V `kernel:"in T n"`
			Half V `kernel:"out f16 n"`
		}{}, `operand "half" is a word of a device language`},
		{struct {
			X       V     `kernel:"in T a,b strided"`
			XStride int64 `kernel:"attr"`
		}{}, ``}, // xstride and x_stride
		{struct {
			X   V     `kernel:"in T n"`
			Tag int64 `kernel:"attr"`
		}{}, `block "tag" collides with attribute of the same name`},
		{struct {
			Query V `kernel:"in T query"`
		}{}, `axis "query" collides with operand of the same name`},
	} {
		_, err := parseLayout(reflect.TypeOf(c.args), vars)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
}

func TestTooMuchForACall(t *testing.T) {
	fields := []reflect.StructField{{Name: "X", Type: viewType, Tag: `kernel:"in f32 n"`}}
	for i := range backend.MaxAttrs + 1 {
		fields = append(fields, reflect.StructField{Name: "A" + string(rune('A'+i)), Type: reflect.TypeFor[bool](), Tag: `kernel:"attr"`})
	}
	_, err := parseLayout(reflect.StructOf(fields), nil)
	require.EqualError(t, err, "1 axes, 1 operands, 13 attributes, 0 type variables: more than a call holds")
}

func TestLayout(t *testing.T) {
	k := toyKernel
	require.Equal(t, []string{"rows", "n", "parts"}, k.Axes())
	o := slices.Clone(k.Operands())
	require.Len(t, o, 7)
	for i := range o {
		o[i].offset = 0
	}
	require.Equal(t, Operand{Name: "X", Snake: "x", Strided: true, TypeVar: 0, Axes: []AxisRef{{0, 0}, {1, 0}}, Alias: -1, OffsetsOf: -1, CountOf: -1}, o[0])
	require.Equal(t, Operand{Name: "Off", Snake: "off", IsOffsets: true, TypeVar: -1, DType: backend.I64, Axes: []AxisRef{{2, 1}}, Alias: -1, OffsetsOf: 0, CountOf: -1}, o[1])
	require.Equal(t, Operand{Name: "Live", Snake: "live", Optional: true, TypeVar: -1, DType: backend.I64, Axes: []AxisRef{{2, 0}}, Alias: -1, OffsetsOf: -1, CountOf: 1}, o[3])
	require.Equal(t, Operand{Name: "State", Snake: "state", Mode: InOut, TypeVar: -1, DType: backend.I32, Alias: -1, OffsetsOf: -1, CountOf: -1}, o[4])
	require.Equal(t, Operand{Name: "Y", Snake: "y", Mode: Out, Axes: []AxisRef{{0, 0}, {1, 0}}, Alias: 0, OffsetsOf: -1, CountOf: -1}, o[5])
	require.Equal(t, Operand{Name: "Sum", Snake: "sum", Mode: Out, Optional: true, Acc: true, Axes: []AxisRef{{0, 0}}, Alias: -1, OffsetsOf: -1, CountOf: -1}, o[6])
	require.Equal(t, []string{"Gain float64", "Shift int64", "Flag bool", "Mode uint8"}, func() (s []string) {
		for _, a := range k.Attrs() {
			s = append(s, a.Name+" "+a.Kind.String())
		}
		return s
	}())
}

func TestOperandType(t *testing.T) {
	types := [backend.MaxTypes]backend.DType{backend.BF16, backend.F32}
	o := toyKernel.Operands()
	require.Equal(t, backend.BF16, o[0].Type(types))
	require.Equal(t, backend.I64, o[1].Type(types))
	require.Equal(t, backend.F32, o[2].Type(types))
	require.Equal(t, backend.F32, o[6].Type(types)) // acc
	require.Equal(t, backend.F64, o[6].Type([backend.MaxTypes]backend.DType{backend.F64, backend.F64}))
}

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{
		"X": "x", "QueryOff": "query_off", "EmptyZero": "empty_zero", "DX": "dx", "DScore": "dscore", "RStd": "rstd",
		"HTTPServer": "http_server", "Top2": "top2",
	} {
		require.Equal(t, want, snake(in), in)
	}
}

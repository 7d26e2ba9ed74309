package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestBadDeclarationsPanic(t *testing.T) {
	for want, change := range map[string]func(*Spec[toyArgs]){
		"kernel: toy_gain declared twice":                                      func(s *Spec[toyArgs]) { s.Name = "toy_gain" },
		"kernel: bad: reference, cost, source and family are required":         func(s *Spec[toyArgs]) { s.Source = "" },
		"kernel: bad: output Y has no tolerance":                               func(s *Spec[toyArgs]) { delete(s.Tolerance, "Y") },
		"kernel: bad: 4 tolerances for 3 outputs":                              func(s *Spec[toyArgs]) { s.Tolerance["Z"] = Exact{} },
		`kernel: bad: independent axis "rwos" is not an axis`:                  func(s *Spec[toyArgs]) { s.Independent = "rwos" },
		"kernel: bad: 15 fault codes, at most 14":                              func(s *Spec[toyArgs]) { s.Faults = make([]string, 15) },
		"kernel: bad: no instances":                                            func(s *Spec[toyArgs]) { s.Instances = nil },
		"kernel: bad: instance [f32]: want 2 dtypes":                           func(s *Spec[toyArgs]) { s.Instances = [][]backend.DType{{backend.F32}} },
		`kernel: bad.X: dtype "T"`:                                             func(s *Spec[toyArgs]) { s.Vars = []string{"W"} },
		`kernel: bad: instance bad_f32 twice`:                                  func(s *Spec[toyArgs]) { s.Instances = append(s.Instances, s.Instances[0]) },
		`kernel: bad: terms "n+m": "m" is neither an axis nor an integer`:      func(s *Spec[toyArgs]) { s.Tolerance["Sum"] = Rounding[toyArgs]{Terms: "n+m"} },
		`kernel: bad: winner State of "Z", which is no output with a Rounding`: func(s *Spec[toyArgs]) { s.Tolerance["State"] = Winner{Of: "Z"} },
		`kernel: Bad Name: the name is not lower snake case`:                   func(s *Spec[toyArgs]) { s.Name = "Bad Name" },
	} {
		s := toySpec("bad")
		change(&s)
		require.PanicsWithValue(t, want, func() { Declare(s) })
	}
	k, _ := Find("bad_f32")
	require.Nil(t, k, "a refused declaration is not registered")

	type plain struct {
		Y backend.View `kernel:"out f32 n"`
	}
	require.PanicsWithValue(t, "kernel: plain: instances without type variables", func() {
		Declare(Spec[plain]{Name: "plain", Instances: [][]backend.DType{{backend.F32}}})
	})
}

func TestInstancesAndFind(t *testing.T) {
	var names []string
	for _, i := range toyKernel.Instances() {
		names = append(names, i.Name)
	}
	require.Equal(t, []string{"toy_gain_f32", "toy_gain_bf16", "toy_gain_bf16_f32", "toy_gain_f64"}, names)
	k, in := Find("toy_gain_bf16_f32")
	require.Equal(t, Info(toyKernel), k)
	require.Equal(t, [backend.MaxTypes]backend.DType{backend.BF16, backend.F32}, in.Types)
	k, _ = Find("toy_gain")
	require.Nil(t, k)
	require.Contains(t, All(), Info(toyKernel))
}

func TestInfo(t *testing.T) {
	k := Info(toyKernel)
	require.Equal(t, []any{"toy_gain", "toys", "definition", "y = gain·x", []string{"T", "W"}, "rows", []string{"first fault", "second fault"}},
		[]any{k.Name(), k.Family(), k.Source(), k.Doc(), k.Vars(), k.Independent(), k.Faults()})
	require.Equal(t, ULP(1), k.Tolerance("Y"))
	require.Nil(t, k.Tolerance("X"))
	require.Equal(t, "one", k.Cases()[0].Name)
	require.Equal(t, "large", k.Bench()[0].Name)
	c := Case{Dims: Dims{"rows": 1}}
	k.Derive(&c)
	require.Equal(t, Dims{"rows": 1, "parts": 1}, c.Dims)
	var call backend.Call
	call.Axes[0], call.Axes[1] = 4, 3
	require.Equal(t, Cost{FLOP: 12}, k.Cost(&call))
}

func TestFieldsThroughInfo(t *testing.T) {
	k := Info(toyKernel)
	d := &toyDevice{b: &toy{}}
	a := k.NewArgs().(*toyArgs)
	*k.View(a, 0) = view(d, backend.F32, 2, 3)
	require.Equal(t, a.X, *k.View(a, 0))
	require.Nil(t, k.OffsetsAt(a, 0))
	k.SetOffsets(a, 1, DeviceOffsets(view(d, backend.I64, 3), 9, 5))
	require.Equal(t, int64(2), a.Off.N)
	require.Same(t, &a.Off, k.OffsetsAt(a, 1))
	require.Same(t, &a.Off.View, k.View(a, 1))
	c := k.CloneArgs(a).(*toyArgs)
	require.Equal(t, a, c)
	c.Gain = 7
	require.Zero(t, a.Gain)
}

func TestSetAttr(t *testing.T) {
	a := &toyArgs{}
	for name, v := range map[string]any{"Gain": 1.5, "Shift": int8(-3), "Flag": true, "Mode": 2} {
		require.NoError(t, toyKernel.SetAttr(a, name, v))
	}
	require.Equal(t, toyArgs{Gain: 1.5, Shift: -3, Flag: true, Mode: 2}, *a)
	require.NoError(t, toyKernel.SetAttr(a, "Mode", toyMode(4)))
	require.NoError(t, toyKernel.SetAttr(a, "Shift", uint16(9)))
	require.NoError(t, toyKernel.SetAttr(a, "Gain", 3))
	require.Equal(t, toyArgs{Gain: 3, Shift: 9, Flag: true, Mode: 4}, *a)
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"Gain", "1", "attribute is 1 of type string, want float64"},
		{"Gain", true, "attribute is true of type bool, want float64"},
		{"Shift", 1.5, "attribute is 1.5 of type float64, want int64"},
		{"Shift", uint64(1 << 63), "attribute is 9223372036854775808 of type uint64, want int64"},
		{"Flag", 1, "attribute is 1 of type int, want bool"},
		{"Mode", -1, "attribute is -1 of type int, want kernel.toyMode"},
		{"Mode", 256, "attribute is 256 of type int, want kernel.toyMode"},
		{"Mode", nil, "attribute is <nil> of type <nil>, want kernel.toyMode"},
		{"X", 1, "no such attribute"},
		{"gain", 1, "no such attribute"},
	} {
		err := toyKernel.SetAttr(a, c.name, c.value)
		require.EqualError(t, err, "kernel: toy_gain: operand "+c.name+": "+c.want)
		require.ErrorIs(t, err, backend.ErrArgument)
	}
}

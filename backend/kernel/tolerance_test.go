package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTerms(t *testing.T) {
	axes := func(name string) (int64, bool) { n, ok := Dims{"d": 128, "tq": 32}[name]; return n, ok }
	for in, want := range map[string]float64{"d": 128, "8": 8, "d+tq+8": 168, " d + 1 ": 129, "0": 0} {
		got, err := Sum(in, axes)
		require.NoError(t, err)
		require.Equal(t, want, got, in)
	}
	for in, want := range map[string]string{
		"d+x": `kernel: terms "d+x": "x" is neither an axis nor an integer`,
		"":    `kernel: terms "": "" is neither an axis nor an integer`,
		"2*d": `kernel: terms "2*d": "2*d" is neither an axis nor an integer`,
	} {
		_, err := Sum(in, axes)
		require.EqualError(t, err, want)
	}
}

func TestReasons(t *testing.T) {
	require.Equal(t, "exact: no arithmetic", Exact{}.Reason())
	require.Equal(t, "3 ulp of the output's dtype", ULP(3).Reason())
	require.Equal(t, "index of a maximum: equal where the margin exceeds the limit of Score", Winner{Of: "Score"}.Reason())
	r := Rounding[toyArgs]{Terms: "n+8", Slack: 2, Unit: .5, Ulps: 3}
	require.Equal(t, "rounding: 2 u × (n+8) × the reference on absolute inputs", r.Reason())
	require.Equal(t, Bounds{Terms: "n+8", Slack: 2, Unit: .5, Ulps: 3}, r.Bounds())
	r.Scale = func(*Ref, *toyArgs) []float64 { return []float64{4} }
	require.Equal(t, "rounding: 2 u × (n+8) × a declared magnitude", r.Reason())
}

func TestScale(t *testing.T) {
	a := &toyArgs{}
	s, e := toyKernel.Scale(Exact{}, nil, a)
	require.Nil(t, s)
	require.Nil(t, e)
	s, e = toyKernel.Scale(Rounding[toyArgs]{}, nil, a)
	require.Nil(t, s)
	require.Nil(t, e)
	r := Rounding[toyArgs]{Scale: func(*Ref, *toyArgs) []float64 { return []float64{4} }, Extra: func(*Ref, *toyArgs) []float64 { return []float64{5} }}
	s, e = toyKernel.Scale(r, nil, a)
	require.Equal(t, []float64{4}, s)
	require.Equal(t, []float64{5}, e)
}

func TestCloneDims(t *testing.T) {
	d := Dims{"n": 1}
	c := d.Clone()
	c["n"] = 2
	require.Equal(t, Dims{"n": 1}, d)
}

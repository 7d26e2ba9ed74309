package conform

import (
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
)

// guard is the bytes kept around each operand.
const guard = 256

// variants runs the cases of one instance in every variant the device has.
type variants struct {
	*runner
	k       kernel.Info
	in      kernel.Instance
	usable  []backend.Binding
	classes map[string]classBits
	leftOut int
}

// layouts are the ways a case lies in memory: all of them for the declared cases.
func (v *variants) layouts(index int) []harness.Layout {
	out := []harness.Layout{{Guard: guard}}
	if index >= len(v.k.Cases()) || v.cfg.Smoke {
		return out
	}
	out = append(out, harness.Layout{Guard: guard, Shift: 1})
	strided, alias := false, false
	for _, o := range v.k.Operands() {
		strided = strided || o.Strided
		alias = alias || o.Alias >= 0
	}
	if strided {
		out = append(out, harness.Layout{Guard: guard, Strided: true})
	}
	if alias {
		out = append(out, harness.Layout{Guard: guard, InPlace: true})
	}
	return out
}

func (v *variants) testCase(t *testing.T, c kernel.Case, index int) {
	s, err := v.dev.NewStream()
	require.NoError(t, err)
	defer closeAll(t, s)
	for _, l := range v.layouts(index) {
		ops, err := harness.Build(v.k, v.in, c, s, harness.Seed(v.in.Name+"/"+c.Name)+v.cfg.Seed, l)
		if errors.Is(err, backend.ErrArgument) && index >= len(v.k.Cases()) {
			continue // a derived size that the kernel refuses
		}
		if errors.Is(err, harness.ErrOtherInstance) {
			t.Skip(err)
		}
		require.NoError(t, err)
		if v.tooMuch(ops) {
			require.NoError(t, ops.Free())
			continue
		}
		e, err := ops.Expect()
		require.NoError(t, err)
		if index < len(v.k.Cases()) {
			require.Equal(t, c.Faults, e.Status != 0, "the case says whether its data is wrong")
		}
		ran := v.layout(t, s, ops, l, e)
		require.NotZero(t, ran, "no variant of %s accepts case %s, layout %+v", v.in.Name, c.Name, l)
		require.NoError(t, ops.Free())
	}
}

// Work is the multiply-adds of a reference, or its traffic where that is more: what MaxWork bounds.
func Work(ops *harness.Operands) float64 {
	c := ops.Kernel.Cost(&ops.Call)
	return math.Max(c.FLOP/2, (c.Read+c.Write)/4)
}

func (v *variants) tooMuch(ops *harness.Operands) bool {
	if v.cfg.MaxWork <= 0 {
		return false
	}
	if Work(ops) <= v.cfg.MaxWork {
		return false
	}
	v.leftOut++
	return true
}

// layout runs one case in one layout through every variant that accepts it.
func (v *variants) layout(t *testing.T, s backend.Stream, ops *harness.Operands, l harness.Layout, e *harness.Expected) (ran int) {
	for i := range v.usable {
		b := &v.usable[i]
		p, err := v.k.PrepareAny(s, ops.Args, kernel.WithVariant(b.Variant))
		if errors.Is(err, backend.ErrUnsupported) {
			continue
		}
		require.NoError(t, err, "%s", b.Variant)
		ran++
		var first map[string][]byte
		for range 2 { // the second run must give the same bits
			require.NoError(t, ops.Repoison())
			require.NoError(t, p.LaunchAny(ops.Args), "%s", b.Variant)
			checkStatus(t, v.k, s.Sync(), e.Status)
			_, err = ops.Compare(e)
			require.NoError(t, err, "%s", b.Variant)
			out, err := ops.Outputs()
			require.NoError(t, err)
			if first != nil {
				require.Equal(t, first, out, "%s: a second run gave other bits", b.Variant)
			}
			first = out
		}
		cl := p.Class()
		if v.classes[cl] == nil {
			v.classes[cl] = classBits{}
		}
		v.classes[cl].same(t, key(&ops.Case, l), b.Variant, first)
		require.NoError(t, p.Close())
	}
	return ran
}

// checkStatus holds what Sync returned against the reference's status word.
func checkStatus(t *testing.T, k kernel.Info, got error, want uint64) {
	t.Helper()
	if want == 0 {
		require.NoError(t, got)
		return
	}
	require.ErrorIs(t, got, backend.ErrArgument)
	require.EqualError(t, got, kernel.StatusError(k, want).Error())
}

// small returns the base case's operands, for the tests that need just one.
func (v *variants) small(t *testing.T, s backend.Stream) *harness.Operands {
	c := v.k.Cases()[min(1, len(v.k.Cases())-1)]
	ops, err := harness.Build(v.k, v.in, c, s, harness.Seed(v.in.Name+"/base")+v.cfg.Seed, harness.Layout{Guard: guard})
	require.NoError(t, err)
	return ops
}

// neighbours: along the independent axis an output has the same bits whatever else is in
// the call.
func (v *variants) neighbours(t *testing.T) {
	if v.k.Independent() == "" {
		t.Skip("no independent axis is declared")
	}
	s, err := v.dev.NewStream()
	require.NoError(t, err)
	defer closeAll(t, s)
	ops := v.small(t, s)
	n := ops.Case.Dims[v.k.Independent()]
	var odd []int64
	for i := int64(1); i < n; i += 2 {
		odd = append(odd, i)
	}
	sub, err := ops.Subset(odd)
	require.NoError(t, err)
	alone, err := sub.Upload(s)
	require.NoError(t, err)
	for i := range v.usable {
		b := v.usable[i].Variant
		run := func(o *harness.Operands) map[string][]byte {
			p, err := v.k.PrepareAny(s, o.Args, kernel.WithVariant(b))
			if errors.Is(err, backend.ErrUnsupported) {
				return nil
			}
			require.NoError(t, err)
			require.NoError(t, p.LaunchAny(o.Args))
			require.NoError(t, s.Sync())
			out, err := o.Outputs()
			require.NoError(t, err)
			require.NoError(t, p.Close())
			return out
		}
		whole, part := run(ops), run(alone)
		if whole != nil && part != nil {
			require.Equal(t, sub.OutputsAt(whole), part, "%s: outputs depend on their neighbours", b)
		}
	}
	require.NoError(t, alone.Free())
	require.NoError(t, ops.Free())
}

// twoStreams runs the chosen variant on two streams of one device, alternately.
func (v *variants) twoStreams(t *testing.T) {
	var ops [2]*harness.Operands
	var st [2]backend.Stream
	var p [2]kernel.Launcher
	for i := range 2 {
		var err error
		st[i], err = v.dev.NewStream()
		require.NoError(t, err)
		ops[i] = v.small(t, st[i])
		p[i], err = v.k.PrepareAny(st[i], ops[i].Args)
		require.NoError(t, err)
	}
	for range 3 {
		for i := range 2 {
			require.NoError(t, p[i].LaunchAny(ops[i].Args))
		}
	}
	for i := range 2 {
		require.NoError(t, st[i].Sync())
		compareWith(t, ops[i])
		require.NoError(t, ops[i].Free())
		closeAll(t, p[i], st[i])
	}
}

// graph captures a launch, replays it, and checks what capture refuses.
func (v *variants) graph(t *testing.T) {
	s, err := v.dev.NewStream()
	require.NoError(t, err)
	defer closeAll(t, s)
	g, ok := s.(backend.GraphCapturer)
	if !ok {
		t.Skip(v.cfg.Backend.Name() + " does not capture graphs")
	}
	ops := v.small(t, s)
	p, err := v.k.PrepareAny(s, ops.Args)
	require.NoError(t, err)
	graph, err := g.Capture(func() error { return p.LaunchAny(ops.Args) })
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, ops.Repoison())
		require.NoError(t, graph.Replay(s))
		require.NoError(t, s.Sync())
		compareWith(t, ops)
	}
	require.NoError(t, graph.Close())
	_, err = g.Capture(func() error { return s.Sync() })
	require.ErrorIs(t, err, backend.ErrCapturing)
	require.NoError(t, s.Sync())
	require.NoError(t, p.Close())
	require.NoError(t, ops.Free())
}

// deviceOffsets gives kernels with ragged operands offsets that go down, below zero and
// past the end, as another kernel might write them: reported, and nothing is overwritten.
func (v *variants) deviceOffsets(t *testing.T) {
	field := ""
	for _, o := range v.k.Operands() {
		if o.IsOffsets {
			field = o.Name // the last: documents
		}
	}
	if field == "" {
		t.Skip("no ragged operand")
	}
	ran := map[string]int{}
	cases := v.k.Cases()
	for _, c := range cases[min(1, len(cases)-1):min(4, len(cases))] { // of several widths: variants refuse some
		v.wrongOffsets(t, c, field, ran)
	}
	for i := range v.usable {
		require.NotZero(t, ran[v.usable[i].Variant], "%s accepts none of the cases", v.usable[i].Variant)
	}
}

func (v *variants) wrongOffsets(t *testing.T, c kernel.Case, field string, ran map[string]int) {
	fill := maps.Clone(c.Fill)
	if fill == nil {
		fill = map[string]func(kernel.Rand, []float64){}
	}
	fill[field] = func(_ kernel.Rand, x []float64) {
		x[len(x)/2] = -7
		x[len(x)-1] = 1e6
	}
	c.Fill = fill
	s, err := v.dev.NewStream()
	require.NoError(t, err)
	defer closeAll(t, s)
	ops, err := harness.Build(v.k, v.in, c, s, harness.Seed(v.in.Name+"/device-offsets"), harness.Layout{Guard: guard, Device: true})
	require.NoError(t, err)
	// Each segment clamps its own two offsets, so what a wrong one does to its neighbours is
	// not specified: the status, the guards and repeatability are.
	e, err := ops.Expect()
	require.NoError(t, err)
	require.NotZero(t, e.Status)
	e.IgnoreValues()
	for i := range v.usable {
		one := *v
		one.classes, one.usable = map[string]classBits{}, v.usable[i:i+1]
		ran[v.usable[i].Variant] += one.layout(t, s, ops, harness.Layout{Device: true}, e)
	}
	require.NoError(t, ops.Free())
}

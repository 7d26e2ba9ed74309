package kernel

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

var errBroken = errors.New("broken")

// refuseLarge accepts calls of at most 4 rows.
func refuseLarge(c *backend.Call) error {
	if c.Axes[0] > 4 {
		return &backend.UnsupportedError{Backend: "toy", Kernel: "toy_gain_f32", Variant: "small", Reason: "more than 4 rows"}
	}
	return nil
}

func open(bindings ...backend.Binding) (*toyDevice, *toyStream) {
	d := &toyDevice{b: &toy{bindings: bindings, features: []string{"wings"}}}
	return d, &toyStream{d: d}
}

func bound(variant, class string, accept func(*backend.Call) error, requires ...string) backend.Binding {
	return backend.Binding{Kernel: "toy_gain_f32", Variant: variant, Class: class, Accept: accept, Requires: requires}
}

// The first binding whose requirements the device has and whose Accept passes is taken.
func TestPrepareChooses(t *testing.T) {
	d, s := open(bound("jet", "", nil, "engine"), bound("small", "fast", refuseLarge), bound("bird", "", nil, "wings"))
	p, err := toyKernel.Prepare(s, good(d))
	require.NoError(t, err)
	require.Equal(t, []string{"toy_gain_f32", "small", "fast"}, []string{p.Instance(), p.Variant(), p.Class()})
	large := good(d)
	large.X, large.Y, large.Sum = view(d, backend.F32, 5, 3), view(d, backend.F32, 5, 3), view(d, backend.F32, 5)
	require.ErrorIs(t, p.Launch(large), backend.ErrUnsupported, "Launch repeats Accept")
	require.Zero(t, s.launches)
	p, err = toyKernel.Prepare(s, large)
	require.NoError(t, err)
	require.Equal(t, []string{"bird", "bird"}, []string{p.Variant(), p.Class()})

	p, err = toyKernel.Prepare(s, good(d), WithVariant("bird"))
	require.NoError(t, err)
	require.Equal(t, "bird", p.Variant())
}

func TestPrepareUnsupported(t *testing.T) {
	refuse := func(*backend.Call) error {
		return &backend.UnsupportedError{Backend: "toy", Kernel: "toy_gain_f32", Variant: "never", Reason: "no"}
	}
	for _, c := range []struct {
		bindings []backend.Binding
		variant  string
		want     string
	}{
		{nil, "", "toy: toy_gain_f32: unsupported: not compiled in"},
		{[]backend.Binding{bound("jet", "", nil, "engine")}, "", "toy: toy_gain_f32/jet: unsupported: needs engine"},
		{[]backend.Binding{bound("jet", "", nil, "engine"), bound("never", "", refuse)}, "", "toy: toy_gain_f32: unsupported: jet: needs engine; never: no"},
		{[]backend.Binding{bound("jet", "", nil, "engine"), bound("bird", "", nil)}, "jet", "toy: toy_gain_f32/jet: unsupported: needs engine"},
		{[]backend.Binding{bound("bird", "", nil)}, "jet", "toy: toy_gain_f32/jet: unsupported: not compiled in"},
	} {
		d, s := open(c.bindings...)
		_, err := toyKernel.Prepare(s, good(d), WithVariant(c.variant))
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, backend.ErrUnsupported)
		require.EqualError(t, toyKernel.Launch(s, good(d), WithVariant(c.variant)), c.want)
	}
	d, s := open(bound("bird", "", func(*backend.Call) error { return errBroken }), bound("other", "", nil))
	_, err := toyKernel.Prepare(s, good(d))
	require.ErrorIs(t, err, errBroken, "only ErrUnsupported passes on to the next variant")
	d, s = open(bound("bird", "", nil))
	d.loadErr = backend.ErrDeviceLost
	_, err = toyKernel.Prepare(s, good(d))
	require.ErrorIs(t, err, backend.ErrDeviceLost)
}

func TestPrepareRefusesArguments(t *testing.T) {
	d, s := open(bound("bird", "", nil))
	a := good(d)
	a.X.Rank = 1
	_, err := toyKernel.Prepare(s, a)
	require.ErrorIs(t, err, backend.ErrArgument)
	other, _ := open()
	for want, a := range map[string]*toyArgs{
		"kernel: toy_gain: operand X: belongs to another device": good(other),
		"kernel: toy_gain: operand Weight: belongs to another device": func() *toyArgs {
			a := good(d)
			a.Weight = view(other, backend.F32, 3)
			return a
		}(),
	} {
		_, err = toyKernel.Prepare(s, a)
		require.EqualError(t, err, want)
		p, err := toyKernel.Prepare(s, good(d))
		require.NoError(t, err)
		require.EqualError(t, p.Launch(a), want)
	}
}

func TestLaunchChecksAgain(t *testing.T) {
	d, s := open(bound("bird", "", nil))
	p, err := toyKernel.Prepare(s, good(d))
	require.NoError(t, err)
	a := good(d)
	a.X, a.Y, a.Weight = view(d, backend.BF16, 4, 3), view(d, backend.BF16, 4, 3), view(d, backend.BF16, 3)
	require.EqualError(t, p.Launch(a), "kernel: toy_gain: prepared for toy_gain_f32, launched with operands of toy_gain_bf16")
	a = good(d)
	a.Y.Dims[0] = 9
	require.ErrorIs(t, p.Launch(a), backend.ErrArgument)
	require.Zero(t, s.launches)

	a = good(d)
	a.Gain = 3
	require.NoError(t, p.LaunchAny(a))
	require.Equal(t, 1, s.launches)
	require.Same(t, a, s.last.Args)
	require.Equal(t, a.Y, s.last.Operands[5])
}

// A launch after another with the same sizes takes a shorter way; it must not be seen: errors
// and calls are those of a launch that is the first.
func TestLaunchAgain(t *testing.T) {
	d, _ := open()
	other, _ := open()
	for name, change := range map[string]func(a *toyArgs){
		"nothing":         func(*toyArgs) {},
		"attributes":      func(a *toyArgs) { a.Gain, a.Shift, a.Flag, a.Mode = 5, 7, false, 1 },
		"bad attribute":   func(a *toyArgs) { a.Gain = -1 },
		"offset of bytes": func(a *toyArgs) { a.State = backend.NewView(&toyBuffer{d: d, mem: make([]byte, 64)}, 8, backend.I32) },
		"odd offset":      func(a *toyArgs) { a.State = backend.NewView(&toyBuffer{d: d, mem: make([]byte, 64)}, 6, backend.I32) },
		"short buffer":    func(a *toyArgs) { a.Weight.Buf = view(d, backend.F32, 2).Buf },
		"past the end":    func(a *toyArgs) { a.Sum.Off = 4 },
		"negative offset": func(a *toyArgs) { a.Sum.Off = -4 },
		"another device":  func(a *toyArgs) { a.Live.Buf = view(other, backend.I64, 2).Buf },
		"in place":        func(a *toyArgs) { a.Y.Buf = a.X.Buf },
		"overlap":         func(a *toyArgs) { a.Sum.Buf = a.X.Buf },
		"input of output": func(a *toyArgs) { a.Weight.Buf = a.Y.Buf },
		"not optional":    func(a *toyArgs) { a.X = backend.View{} },
		"absent":          func(a *toyArgs) { a.Weight, a.Live, a.Sum = backend.View{}, backend.View{}, backend.View{} },
		"fewer rows":      func(a *toyArgs) { a.X.Dims[0], a.Y.Dims[0], a.Sum.Dims[0], a.Off.Total = 3, 3, 3, 3 },
		"rows differ":     func(a *toyArgs) { a.X.Dims[0] = 3 },
		"stride": func(a *toyArgs) {
			a.X = backend.View{Buf: view(d, backend.F32, 4, 5).Buf, DType: backend.F32, Rank: 2, Dims: [backend.MaxRank]int64{4, 3}, Stride: 5}
		},
		"short stride": func(a *toyArgs) { a.X.Stride = 2 },
		"other dtype":  func(a *toyArgs) { a.Weight = view(d, backend.BF16, 3) },
		"other instance": func(a *toyArgs) {
			a.X, a.Y, a.Weight = view(d, backend.BF16, 4, 3), view(d, backend.BF16, 4, 3), view(d, backend.BF16, 3)
		},
		"rank":              func(a *toyArgs) { a.X.Rank = 1 },
		"spare rows":        func(a *toyArgs) { a.Off.Total, a.Off.Max = 2, 2 },
		"offsets too long":  func(a *toyArgs) { a.Off.Total = 5 },
		"offsets changed":   func(a *toyArgs) { a.Off.N = 1 },
		"longest segment":   func(a *toyArgs) { a.Off.Max = 9 },
		"unchecked offsets": func(a *toyArgs) { a.Off = Offsets{View: a.Off.View, N: a.Off.N} },
	} {
		_, s := open(bound("bird", "", nil))
		s.d = d
		d.b = &toy{bindings: []backend.Binding{bound("bird", "", nil)}}
		args := [2]*toyArgs{good(d), good(d)}
		for _, a := range args {
			change(a)
		}
		first, err := toyKernel.Prepare(s, good(d))
		require.NoError(t, err)
		then, err := toyKernel.Prepare(s, good(d))
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, then.Launch(good(d)), name)
		}
		for i, a := range args { // the second is after an error, or the same again
			s.last = backend.Call{}
			want := first.resolve(a)
			got := then.Launch(a)
			require.Equal(t, want, got, "%s, time %d", name, i)
			if want == nil {
				require.Equal(t, first.call, s.last, "%s, time %d", name, i)
			}
		}
		require.NoError(t, then.Launch(good(d)), name)
	}
}

func TestPreparedScratch(t *testing.T) {
	d, s := open(bound("bird", "", nil))
	p, err := toyKernel.Prepare(s, good(d))
	require.NoError(t, err)
	require.Zero(t, s.reserved, "no workspace, no reservation")
	require.NoError(t, p.Close())

	d.workspace = 64
	p, err = toyKernel.Prepare(s, good(d))
	require.NoError(t, err)
	require.Equal(t, 1, s.reserved)
	require.NoError(t, p.Close())
	require.Equal(t, 1, s.release)
	require.EqualError(t, p.Close(), "kernel: toy_gain_f32: prepared launch: used after close")
	require.ErrorIs(t, p.Close(), backend.ErrClosed)
	require.ErrorIs(t, p.Launch(good(d)), backend.ErrClosed)
	require.Equal(t, 1, s.release)

	require.NoError(t, toyKernel.Launch(s, good(d)))
	require.Equal(t, []int{2, 2, 1}, []int{s.reserved, s.release, s.launches})
	a := good(d)
	p, err = toyKernel.Prepare(s, a)
	require.NoError(t, err)
	a.Y.Dims[0] = 9
	require.Error(t, p.Launch(a))
	require.NoError(t, p.Close())
	require.Equal(t, 3, s.release)

	s.reserveErr = errBroken
	_, err = toyKernel.Prepare(s, good(d))
	require.ErrorIs(t, err, errBroken)
	_, err = toyKernel.PrepareAny(s, good(d))
	require.ErrorIs(t, err, errBroken)
}

func TestLaunchAllocatesNothing(t *testing.T) {
	d, s := open(bound("bird", "", refuseLarge))
	var l Launcher
	l, err := toyKernel.PrepareAny(s, good(d))
	require.NoError(t, err)
	p := l.(*Prepared[toyArgs])
	a := good(d)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := p.Launch(a); err != nil {
			panic(err)
		}
	}))
}

func TestFallback(t *testing.T) {
	d, s := open()
	var f Fallback
	require.Empty(t, f.Counts())
	p, err := toyKernel.Prepare(s, good(d), WithHostFallback(&f))
	require.NoError(t, err)
	require.Equal(t, []string{"toy_gain_f32", "", "reference"}, []string{p.Instance(), p.Variant(), p.Class()})
	a := good(d)
	r := NewRef(toyKernel, StreamMemory(s))
	r.Write(&a.X, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	require.NoError(t, p.Launch(a))
	require.Equal(t, []float64{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}, r.Read(&a.Y))
	require.NoError(t, p.Launch(a))
	require.NoError(t, toyKernel.Launch(s, a, WithHostFallback(&f), WithVariant("jet")))
	const plain, jet = "toy: toy_gain_f32: unsupported: not compiled in", "toy: toy_gain_f32/jet: unsupported: not compiled in"
	require.Equal(t, []FallbackCount{{FallbackReason{"toy_gain_f32", jet}, 1}, {FallbackReason{"toy_gain_f32", plain}, 2}}, f.Counts())
	require.Zero(t, s.launches)

	// A data error comes back at once, an earlier failure of the stream before anything runs.
	r.Write(&a.X, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 11, 12})
	require.EqualError(t, p.Launch(a), "kernel: toy_gain: operand X: second fault at element 9")
	s.syncErr = errBroken
	require.ErrorIs(t, p.Launch(a), errBroken)
	a.Y.Buf = &toyBuffer{d: d, n: 1000} // cannot be read
	s.syncErr = nil
	require.ErrorIs(t, p.Launch(a), errRange)
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Launch(a), backend.ErrClosed)

	// Other errors do not fall back.
	a = good(d)
	a.X.Rank = 1
	_, err = toyKernel.Prepare(s, a, WithHostFallback(&f))
	require.ErrorIs(t, err, backend.ErrArgument)
}

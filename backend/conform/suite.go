package conform

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
)

// memory: allocation, accounting, budget, transfers.
func (r *runner) memory(t *testing.T) {
	before := r.dev.Memory()
	b, err := r.dev.Alloc(1000)
	require.NoError(t, err)
	require.EqualValues(t, 1000, b.Len())
	require.Equal(t, r.dev, b.Device())
	now := r.dev.Memory()
	require.Equal(t, before.Live+1000, now.Live)
	require.Equal(t, before.Buffers+1, now.Buffers)
	require.NoError(t, b.Free())
	require.ErrorIs(t, b.Free(), backend.ErrClosed)
	require.Equal(t, before.Live, r.dev.Memory().Live)

	empty, err := r.dev.Alloc(0)
	require.NoError(t, err)
	require.NoError(t, empty.Free())
	_, err = r.dev.Alloc(-1)
	require.ErrorIs(t, err, backend.ErrArgument)
	_, err = r.dev.Alloc(1 << 60)
	var a *backend.AllocError
	require.ErrorAs(t, err, &a)
	require.Equal(t, int64(1<<60), a.Requested)

	t.Run("budget", r.budget)
	t.Run("scope", r.scope)
	t.Run("transfers", r.transfers)
}

// budget opens the device again with a ceiling: out of memory as a testable outcome.
func (r *runner) budget(t *testing.T) {
	d, err := r.cfg.Backend.Open(r.cfg.Ordinal, append(r.cfg.Options[:len(r.cfg.Options):len(r.cfg.Options)], backend.WithBudget(4096))...)
	require.NoError(t, err)
	b, err := d.Alloc(4000)
	require.NoError(t, err)
	_, err = d.Alloc(97)
	require.ErrorIs(t, err, backend.ErrBudget)
	var a *backend.AllocError
	require.ErrorAs(t, err, &a)
	require.Equal(t, backend.AllocError{Backend: r.cfg.Backend.Name(), Requested: 97, Live: 4000, Budget: 4096, Total: a.Total, Err: backend.ErrBudget}, *a)
	require.NoError(t, b.Free())
	_, err = d.Alloc(4096)
	require.NoError(t, err, "freed bytes count again")
	err = d.Close()
	require.Error(t, err, "a live buffer must be reported")
	require.Contains(t, err.Error(), "1 buffers still live: 4.0 KiB")

	d, err = r.cfg.Backend.Open(r.cfg.Ordinal, append(r.cfg.Options[:len(r.cfg.Options):len(r.cfg.Options)], backend.WithBudget(-1))...)
	require.NoError(t, err)
	_, err = d.Alloc(1)
	require.ErrorIs(t, err, backend.ErrBudget, "a budget that is used up allows nothing")
	require.NoError(t, d.Close())
}

func (r *runner) scope(t *testing.T) {
	p, ok := r.dev.(backend.PeakScoper)
	require.True(t, ok, "devices report peaks per scope")
	end := p.PeakScope()
	b, err := r.dev.Alloc(5000)
	require.NoError(t, err)
	require.NoError(t, b.Free())
	require.EqualValues(t, 5000, end())
}

func (r *runner) transfers(t *testing.T) {
	s, err := r.dev.NewStream()
	require.NoError(t, err)
	a, err := r.dev.Alloc(1 << 20)
	require.NoError(t, err)
	b, err := r.dev.Alloc(1 << 20)
	require.NoError(t, err)
	src := make([]byte, 1<<20)
	for i := range src {
		src[i] = byte(i * 7)
	}
	require.NoError(t, s.Upload(a, 0, src))
	require.NoError(t, s.Copy(b, 3, a, 1, 1<<20-5))
	got := make([]byte, 1<<20-5)
	require.NoError(t, s.Download(got, b, 3))
	require.True(t, bytes.Equal(src[1:1<<20-4], got))
	require.NoError(t, s.Upload(a, 1<<20, nil), "an empty range at the end is legal")
	for _, err := range []error{s.Upload(a, 1<<20-1, src[:2]), s.Upload(a, -1, src[:2]), s.Download(got[:2], a, 1<<20-1),
		s.Copy(b, 0, a, 1<<20-1, 2), s.Copy(b, 1<<20, a, 0, 1), s.Copy(b, 0, a, 0, -1), s.Copy(a, 4, a, 0, 8), s.Copy(a, 0, a, 0, 1)} {
		require.ErrorIs(t, err, backend.ErrArgument)
	}
	require.NoError(t, s.Copy(a, 8, a, 0, 8), "ranges that touch do not overlap")
	require.NoError(t, b.Free())
	require.EqualValues(t, 1<<20, b.Len(), "a freed buffer keeps its length, so that using it is not taken for a wrong size")
	require.ErrorIs(t, s.Upload(b, 0, src[:1]), backend.ErrClosed)
	require.NoError(t, a.Free())
	closeAll(t, s)
	require.ErrorIs(t, s.Sync(), backend.ErrClosed)
	require.ErrorIs(t, s.Close(), backend.ErrClosed)
}

// streams: order across streams through events, and time that does not run backwards.
func (r *runner) streams(t *testing.T) {
	s, err := r.dev.NewStream()
	require.NoError(t, err)
	o, err := r.dev.NewStream()
	require.NoError(t, err)
	require.Equal(t, r.dev, s.Device())
	b, err := r.dev.Alloc(1 << 16)
	require.NoError(t, err)
	first, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, s.Upload(b, 0, bytes.Repeat([]byte{9}, 1<<16)))
	e, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, o.Wait(e))
	got := make([]byte, 1<<16)
	require.NoError(t, o.Download(got, b, 0))
	require.Equal(t, bytes.Repeat([]byte{9}, 1<<16), got)
	require.NoError(t, s.Sync())
	d, err := e.Elapsed(first)
	require.NoError(t, err)
	require.GreaterOrEqual(t, d.Nanoseconds(), int64(0))
	require.NoError(t, b.Free())
	closeAll(t, e, first, s, o)
}

// arguments: wrong calls are refused before anything runs, by operand and axis.
func (r *runner) arguments(t *testing.T) {
	s, err := r.dev.NewStream()
	require.NoError(t, err)
	defer closeAll(t, s)
	for _, k := range kernel.All() {
		in := k.Instances()[0]
		c := k.Cases()[min(1, len(k.Cases())-1)]
		ops, err := harness.Build(k, in, c, s, 1, harness.Layout{})
		require.NoError(t, err)
		t.Run(k.Name(), func(t *testing.T) { r.wrongCalls(t, k, s, ops) })
		require.NoError(t, ops.Free())
	}
	_, err = r.dev.Load("nosuch_f32", "nosuch")
	require.ErrorIs(t, err, backend.ErrUnsupported)
}

// lifetimes: what was freed or closed, or belongs to another device, is refused by name of
// the condition.
func (r *runner) lifetimes(t *testing.T) {
	d, err := r.cfg.Backend.Open(r.cfg.Ordinal, r.cfg.Options...)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	mine, err := r.dev.NewStream()
	require.NoError(t, err)
	b, err := d.Alloc(64)
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	theirs, err := s.Record()
	require.NoError(t, err)
	own, err := mine.Record()
	require.NoError(t, err)

	_, elapsed := own.Elapsed(theirs)
	for _, err := range []error{mine.Upload(b, 0, []byte{1}), mine.Download([]byte{0}, b, 0), mine.Copy(b, 0, b, 8, 8), mine.Wait(theirs), elapsed} {
		require.ErrorIs(t, err, backend.ErrArgument, "of another device")
	}
	require.NoError(t, e.Close())
	_, elapsed = theirs.Elapsed(e)
	for _, err := range []error{e.Close(), s.Wait(e), elapsed} {
		require.ErrorIs(t, err, backend.ErrClosed, "an event after its end")
	}
	require.NoError(t, theirs.Close())
	t.Run("operands", func(t *testing.T) { r.deadOperands(t, mine, s) })
	closeAll(t, own, mine)

	require.ErrorContains(t, d.Close(), "1 buffers still live: 64 B")
	_, record := s.Record()
	_, stream := d.NewStream()
	for _, err := range []error{s.Upload(b, 0, []byte{1}), s.Download([]byte{0}, b, 0), s.Copy(b, 0, b, 8, 8), s.Sync(), record, stream} {
		require.ErrorIs(t, err, backend.ErrClosed, "after the device")
	}
}

// deadOperands launches on a with an operand that was freed, and on another device's stream.
func (r *runner) deadOperands(t *testing.T, a, other backend.Stream) {
	for _, k := range kernel.All() {
		ops, err := harness.Build(k, k.Instances()[0], k.Cases()[min(1, len(k.Cases())-1)], a, 1, harness.Layout{})
		require.NoError(t, err)
		p, err := k.PrepareAny(a, ops.Args)
		if errors.Is(err, backend.ErrUnsupported) {
			require.NoError(t, ops.Free())
			continue
		}
		require.NoError(t, err)
		_, err = k.PrepareAny(other, ops.Args)
		require.ErrorIs(t, err, backend.ErrArgument, "%s: operands of another device", k.Name())
		require.NoError(t, ops.Free())
		require.ErrorIs(t, p.LaunchAny(ops.Args), backend.ErrClosed, "%s: operands that were freed", k.Name())
		require.NoError(t, p.Close())
		require.ErrorIs(t, p.LaunchAny(ops.Args), backend.ErrClosed, "%s: after Close", k.Name())
	}
}

func (r *runner) wrongCalls(t *testing.T, k kernel.Info, s backend.Stream, ops *harness.Operands) {
	refuse := func(why, operand string, change func(args any)) {
		args := k.CloneArgs(ops.Args)
		change(args)
		_, err := k.PrepareAny(s, args)
		var a *backend.ArgumentError
		if !errors.As(err, &a) {
			t.Fatalf("%s of %s: got %v, want an ArgumentError", why, operand, err)
		}
		require.Equal(t, k.Name(), a.Kernel)
		require.NotEmpty(t, a.Operand, "%s: %v", why, err)
	}
	for i, o := range k.Operands() {
		if v := k.View(ops.Args, i); v.Absent() {
			continue
		}
		view := func(f func(*backend.View)) func(any) { return func(a any) { f(k.View(a, i)) } }
		if !o.Optional {
			refuse("absence", o.Name, view(func(v *backend.View) { *v = backend.View{} }))
		}
		refuse("rank", o.Name, view(func(v *backend.View) { v.Rank++ }))
		refuse("a range past the buffer", o.Name, view(func(v *backend.View) { v.Off = v.Buf.Len() + 8 }))
		refuse("a negative offset", o.Name, view(func(v *backend.View) { v.Off = -8 }))
		if o.TypeVar < 0 || o.Acc {
			refuse("dtype", o.Name, view(func(v *backend.View) { v.DType = backend.F8E5M2 }))
		}
		if !o.Strided && len(o.Axes) > 1 {
			refuse("a stride", o.Name, view(func(v *backend.View) { v.Stride = v.RowElements() + 1 }))
		}
		if len(o.Axes) > 0 && !o.IsOffsets {
			refuse("a negative size", o.Name, view(func(v *backend.View) { v.Dims[0] = -1 }))
		}
		if o.IsOffsets {
			refuse("unchecked offsets", o.Name, func(a any) {
				k.SetOffsets(a, i, kernel.Offsets{View: *k.View(a, i), N: 1})
			})
		}
	}
}

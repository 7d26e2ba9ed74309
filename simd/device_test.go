package simd

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/testneed"
)

func TestLevelsAreOrdered(t *testing.T) {
	ls := Levels()
	require.Equal(t, Generic, ls[0])
	require.Equal(t, Detected(), ls[len(ls)-1])
	for i, l := range ls[1:] {
		require.Less(t, ls[i], l)
	}
	require.Empty(t, features(Generic))
	for _, l := range ls[1:] {
		require.Contains(t, features(l), l.String())
	}
	for _, l := range []Level{Generic, AVX2, AVX512, NEON} {
		p, ok := ParseLevel(l.String())
		require.True(t, ok)
		require.Equal(t, l, p)
	}
	_, ok := ParseLevel("mmx")
	require.False(t, ok)
	require.Equal(t, "level(9)", Level(9).String())
}

// TestRequiredLevel fails where LIKBENCH_REQUIRE promises what was not detected.
func TestRequiredLevel(t *testing.T) {
	has := features(Detected())
	for _, word := range []string{"avx2", "avx512", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "neon", "bf16"} {
		t.Run(word, func(t *testing.T) {
			for _, h := range has {
				if h == word {
					return
				}
			}
			testneed.Skip(t, word, "not among the detected features")
		})
	}
}

func TestLevelOnlyDownwards(t *testing.T) {
	above := AVX512
	if Detected() == AVX512 {
		above = NEON
	}
	b := New(WithLevel(above))
	_, err := b.Probe()
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.EqualError(t, err, "simd: unavailable: level "+above.String()+" is not within the detected "+Detected().String())
	_, err = b.Open(0)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	_, err = New().Open(1)
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

func TestLoadNamesTheMissingFeature(t *testing.T) {
	d, err := New(WithLevel(Generic)).Open(0)
	require.NoError(t, err)
	_, err = d.Load("maxsim_f32", "avx512")
	require.EqualError(t, err, "simd: maxsim_f32/avx512: unsupported: needs avx512, the device has level generic")
	_, err = d.Load("maxsim_f32", "mmx")
	require.EqualError(t, err, "simd: maxsim_f32/mmx: unsupported: not compiled in")
	p, err := d.Load("maxsim_f32", "generic")
	require.NoError(t, err)
	again, err := d.Load("maxsim_f32", "generic")
	require.NoError(t, err)
	require.Same(t, p, again)
	require.NoError(t, d.Close())
}

func TestBindingsAreBestFirst(t *testing.T) {
	seen := map[string][]string{}
	for _, b := range New().Bindings() {
		seen[b.Kernel] = append(seen[b.Kernel], b.Variant)
	}
	pairs := []string{"avx512bf16", "avx512"}
	if cpuid.CPU.VendorID == cpuid.Intel {
		slices.Reverse(pairs) // VDPBF16PS is slower than widening there
	}
	require.Equal(t, slices.Concat([]string{"neonbf16", "neon", "amx"}, pairs, []string{"avx2", "generic"}), seen["maxsim_bf16"])
	for k, vs := range seen {
		require.Equal(t, "generic", vs[len(vs)-1], "%s has a portable body, tried last", k)
	}
}

func TestBindPanics(t *testing.T) {
	body := Body[kernels.MaxSimArgs]{
		Tiles: func(*kernels.MaxSimArgs, *backend.Call) int64 { return 0 },
		Run:   func(*Task, *kernels.MaxSimArgs) {},
	}
	require.PanicsWithValue(t, "simd: nosuch is no instance of maxsim", func() {
		Bind(kernels.MaxSim, backend.Binding{Kernel: "nosuch", Variant: "x"}, body)
	})
	require.PanicsWithValue(t, "simd: maxsim_f32/generic bound twice", func() {
		Bind(kernels.MaxSim, backend.Binding{Kernel: "maxsim_f32", Variant: "generic"}, body)
	})
	require.PanicsWithValue(t, "simd: maxsim_f32/x has no Tiles or no Run", func() {
		Bind(kernels.MaxSim, backend.Binding{Kernel: "maxsim_f32", Variant: "x"}, Body[kernels.MaxSimArgs]{})
	})
}

func TestBuffersAreAligned(t *testing.T) {
	d, err := New().Open(0)
	require.NoError(t, err)
	for _, n := range []int64{0, 1, 63, 64, 4097} {
		b, err := d.Alloc(n)
		require.NoError(t, err)
		h := b.(backend.HostMapped).Bytes()
		require.Len(t, h, int(n))
		require.Equal(t, int(n), cap(h), "an append must not reach the slack")
		if n > 0 {
			require.Zero(t, uintptr(unsafe.Pointer(&h[0]))%lineSize)
		}
		require.NoError(t, b.Free())
		require.Nil(t, b.(backend.HostMapped).Bytes())
	}
	require.NoError(t, d.Close())
}

func TestUseAfterClose(t *testing.T) {
	d, err := New(WithWorkers(2)).Open(0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, e.Close())
	_, err = e.Elapsed(e)
	require.ErrorIs(t, err, backend.ErrClosed)
	require.ErrorIs(t, s.Wait(e), backend.ErrClosed)

	x := newRagged(1, 4, []int64{2}, []int64{3})
	a := x.f32(t, s)
	p, err := kernels.MaxSim.Prepare(s, a)
	require.NoError(t, err)
	require.NoError(t, a.Doc.Buf.Free())
	require.Error(t, p.Launch(a), "an operand was freed")
	g, err := s.(backend.GraphCapturer).Capture(func() error { return nil })
	require.NoError(t, err)
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Replay(s), backend.ErrClosed)
	require.NoError(t, p.Close())

	err = d.Close()
	require.ErrorContains(t, err, "buffers still live")
	require.ErrorIs(t, d.Close(), backend.ErrClosed)
	_, err = d.NewStream()
	require.ErrorIs(t, err, backend.ErrClosed)
	_, err = d.Load("maxsim_f32", "generic")
	require.ErrorIs(t, err, backend.ErrClosed)
	require.ErrorIs(t, s.Sync(), backend.ErrClosed)
	require.ErrorIs(t, s.Upload(nil, 0, nil), backend.ErrClosed)
	_, err = s.Record()
	require.ErrorIs(t, err, backend.ErrClosed)
	require.NoError(t, s.Close())
	require.EqualError(t, s.Close(), "simd: stream: used after close")
}

func TestForeignOperands(t *testing.T) {
	var s [2]backend.Stream
	for i := range s {
		s[i] = openLevel(t, Generic, 1)
	}
	b, err := s[0].Device().Alloc(8)
	require.NoError(t, err)
	require.EqualError(t, s[1].Upload(b, 0, nil), "kernel: simd upload: operand dst: belongs to another device")
	e, err := s[0].Record()
	require.NoError(t, err)
	require.ErrorIs(t, s[1].Wait(e), backend.ErrArgument)
	require.ErrorIs(t, s[1].Copy(b, 0, b, 0, 1), backend.ErrArgument)
	require.ErrorIs(t, s[0].Copy(b, 0, b, 4, 5), backend.ErrArgument, "the ranges overlap")
	require.NoError(t, s[0].Copy(b, 0, b, 4, 4))
	require.NoError(t, b.Free())
}

// A launch that was resolved elsewhere, or before an operand was freed, names the operand: a
// body would find no memory behind a buffer that is not this device's.
func TestLaunchNamesTheOperand(t *testing.T) {
	s, other := openLevel(t, Generic, 1), openLevel(t, Generic, 1)
	p, err := s.Device().Load("softmax_f32", "generic")
	require.NoError(t, err)
	mine, err := s.Device().Alloc(64)
	require.NoError(t, err)
	launch := func(x backend.Buffer, off int64) error {
		a := kernels.SoftmaxArgs{X: backend.NewView(x, off, backend.F32, 2, 2), Y: backend.NewView(mine, 0, backend.F32, 2, 2)}
		var c backend.Call
		_, err := kernels.Softmax.Resolve(&a, &c)
		require.NoError(t, err)
		return s.Launch(p, &c)
	}
	theirs, err := other.Device().Alloc(64)
	require.NoError(t, err)
	for _, b := range []backend.Buffer{theirs, struct{ backend.Buffer }{mine}} { // of another device, of another backend
		require.EqualError(t, launch(b, 0), "kernel: simd launch softmax_f32: operand X: belongs to another device")
	}
	require.NoError(t, theirs.Free())
	require.NoError(t, launch(mine, 32))
	require.NoError(t, mine.Free())
	require.EqualError(t, launch(mine, 32), "simd: softmax_f32: buffer of operand X: used after close")
}

// TestWorkersDoNotChangeBits runs one launch of many tiles with every count of workers.
func TestWorkersDoNotChangeBits(t *testing.T) {
	lens := make([]int64, 150)
	for i := range lens {
		lens[i] = int64(i * 7 % 90)
	}
	x := newRagged(3, 24, []int64{300, 5, 32, 40}, lens)
	var want []byte
	for _, workers := range []int{1, 2, 3, 8} {
		s := openLevel(t, Detected(), workers)
		a := x.f32(t, s)
		require.NoError(t, kernels.MaxSim.Launch(s, a))
		require.NoError(t, s.Sync())
		got := bytes.Clone(bytesOf(Slice[float32](&a.Score)))
		got = append(got, bytesOf(Slice[int32](&a.Winner))...)
		if want == nil {
			want = got
		}
		require.True(t, bytes.Equal(want, got), "%d workers", workers)
	}
}

// TestStreamsShareWorkers launches from several goroutines at once.
func TestStreamsShareWorkers(t *testing.T) {
	d, err := New(WithWorkers(3)).Open(0)
	require.NoError(t, err)
	x := newRagged(5, 16, []int64{32}, []int64{100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1300})
	var wg sync.WaitGroup
	scores := make([][]byte, 4)
	for i := range scores {
		s, err := d.NewStream()
		require.NoError(t, err)
		a := x.f32(t, s)
		p, err := kernels.MaxSim.Prepare(s, a)
		require.NoError(t, err)
		wg.Go(func() {
			for range 50 {
				if p.Launch(a) != nil {
					return
				}
			}
			scores[i] = bytesOf(Slice[float32](&a.Score))
		})
	}
	wg.Wait()
	for _, s := range scores[1:] {
		require.Equal(t, scores[0], s)
	}
	require.Error(t, d.Close(), "the operands are still live")
}

func TestPreparedLaunchDoesNotAllocate(t *testing.T) {
	lens := make([]int64, 200)
	for i := range lens {
		lens[i] = 200
	}
	small, large := newRagged(1, 16, []int64{8}, []int64{9}), newRagged(1, 64, []int64{32}, lens)
	for _, workers := range []int{1, 3} {
		s := openLevel(t, Detected(), workers)
		for _, x := range []*ragged{small, large} {
			a := x.f32(t, s)
			p, err := kernels.MaxSim.Prepare(s, a)
			require.NoError(t, err)
			require.NoError(t, p.Launch(a))
			require.Zero(t, testing.AllocsPerRun(20, func() {
				if err := p.Launch(a); err != nil {
					t.Error(err)
				}
			}))
			require.NoError(t, p.Close())
		}
	}
}

// TestGraphKeepsCopies changes the operand struct after capture: the graph must not see it.
// No prepared launch allocates, whatever the kernel and the variant.
func TestNoLaunchAllocates(t *testing.T) {
	s := openLevel(t, Detected(), 2)
	for _, b := range s.Device().Backend().Bindings() {
		if _, err := s.Device().Load(b.Kernel, b.Variant); err != nil {
			continue
		}
		k, in := kernel.Find(b.Kernel)
		ops, err := harness.Build(k, in, k.Cases()[1], s, 1, harness.Layout{})
		require.NoError(t, err)
		p, err := k.PrepareAny(s, ops.Args, kernel.WithVariant(b.Variant))
		if !errors.Is(err, backend.ErrUnsupported) {
			require.NoError(t, err)
			require.NoError(t, p.LaunchAny(ops.Args))
			require.Zero(t, testing.AllocsPerRun(5, func() {
				if err := p.LaunchAny(ops.Args); err != nil {
					t.Error(err)
				}
			}), "%s/%s", b.Kernel, b.Variant)
			require.NoError(t, p.Close())
		}
		require.NoError(t, ops.Free())
	}
}

func TestGraphKeepsCopies(t *testing.T) {
	s := openLevel(t, Detected(), 2)
	x := newRagged(2, 8, []int64{4}, []int64{5, 6})
	a, other := x.f32(t, s), newRagged(9, 8, []int64{4}, []int64{5, 6}).f32(t, s)
	p, err := kernels.MaxSim.Prepare(s, a)
	require.NoError(t, err)
	require.NoError(t, p.Launch(a))
	want := bytes.Clone(bytesOf(Slice[float32](&a.Score)))
	score := a.Score
	args := *a
	g, err := s.(backend.GraphCapturer).Capture(func() error {
		if err := p.Launch(&args); err != nil {
			return err
		}
		_, err := s.Device().Alloc(1)
		require.ErrorIs(t, err, backend.ErrCapturing)
		return s.Copy(other.Score.Buf, 0, a.Score.Buf, 0, 8)
	})
	require.NoError(t, err)
	args = *other
	clear(Slice[float32](&score))
	require.NoError(t, g.Replay(s))
	require.Equal(t, want, bytesOf(Slice[float32](&score)))
	require.Equal(t, want, bytesOf(Slice[float32](&other.Score)), "the copy is a node too")
	require.NoError(t, p.Close())
	require.NoError(t, g.Replay(s), "the graph holds its own scratch")
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Close(), backend.ErrClosed)

	_, err = s.(backend.GraphCapturer).Capture(func() error { return kernels.MaxSim.Launch(s, newRagged(1, 512, []int64{64}, []int64{9}).detached(a)) })
	require.Error(t, err, "scratch must not grow inside a capture")
}

// A panic of the recording function gives back the scratch that its launches held in place.
func TestCapturePanics(t *testing.T) {
	s := openLevel(t, Detected(), 2)
	a := newRagged(2, 8, []int64{4}, []int64{5, 6}).f32(t, s)
	p, err := kernels.MaxSim.Prepare(s, a)
	require.NoError(t, err)
	require.PanicsWithValue(t, "recording", func() {
		_, _ = s.(backend.GraphCapturer).Capture(func() error {
			require.NoError(t, p.Launch(a))
			panic("recording")
		})
	})
	require.NoError(t, p.Launch(a))
	require.NoError(t, p.Close())
	const more = 1 << 20
	release, err := s.(backend.ScratchReserver).ReserveScratch(more)
	require.NoError(t, err)
	require.EqualValues(t, more, s.Device().Memory().Scratch, "the block before is gone")
	release()
}

// detached returns operands of x's sizes that lie in a's buffers, which are too small.
func (x *ragged) detached(a *kernels.MaxSimArgs) *kernels.MaxSimArgs {
	c := *a
	c.Query.Dims, c.Doc.Dims = [5]int64{64, 512}, [5]int64{9, 512}
	return &c
}

// TestStatusWordKeepsTheLowestIndex raises faults from several goroutines.
func TestStatusWordKeepsTheLowestIndex(t *testing.T) {
	var w statusWord
	require.NoError(t, w.take())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { w.raise(kernel.FaultOffsets, 1, 0, int64(90-i)) })
	}
	wg.Wait()
	word := w.word.Load()
	require.Equal(t, kernel.StatusWord(kernel.FaultOffsets, 1, 0, 83), word)
	require.ErrorIs(t, w.take(), backend.ErrArgument)
	require.NoError(t, w.take())
}

func TestAllocBeyondTheMachine(t *testing.T) {
	d, err := New().Open(0)
	require.NoError(t, err)
	total := d.Info().Memory
	if total == 0 {
		t.Skip("the system does not say how much memory there is")
	}
	_, err = d.Alloc(total + 1)
	require.ErrorIs(t, err, backend.ErrTooLarge)
	_, err = d.Alloc(total - 1)
	require.ErrorIs(t, err, backend.ErrOutOfMemory)
	require.Zero(t, d.Memory().Live)
	require.NoError(t, d.Close())
}

func TestWorkersLeaveAtClose(t *testing.T) {
	before := runtime.NumGoroutine()
	d, err := New(WithWorkers(4)).Open(0)
	require.NoError(t, err)
	j := &job{}
	j.init(4)
	d.(*device).help(j, 3)
	require.NoError(t, d.Close())
	for runtime.NumGoroutine() > before { // those that left may still be counted
		runtime.Gosched()
	}
}

// What no address space holds is refused even where the system does not say what it has.
func TestBeyondTheAddressSpace(t *testing.T) {
	for _, n := range []int64{1<<46 + 1, 1 << 60, math.MaxInt64} {
		_, err := heap{}.Allocate(n)
		require.ErrorIs(t, err, backend.ErrTooLarge)
	}
}

func TestCeilingNotes(t *testing.T) {
	for _, l := range Levels() {
		d, err := New(WithLevel(l)).Open(0)
		require.NoError(t, err)
		for name, r := range rateLoopsOf(d.(*device)) {
			require.LessOrEqual(t, strings.Count(r.note, widened), 1, "%v %s: %s", l, name, r.note)
		}
		require.NoError(t, d.Close())
	}
}

func TestCeilingsStop(t *testing.T) {
	d, err := New(WithWorkers(1)).Open(0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	found, err := d.(backend.CeilingMeter).Ceilings(ctx)
	require.ErrorIs(t, err, context.Canceled)
	for _, c := range found {
		require.False(t, math.IsNaN(c.Value))
	}
	require.NoError(t, d.Close())
}

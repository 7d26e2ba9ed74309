//go:build amd64 && !noasm

package simd

import (
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/internal/testneed"
)

// TestTilesOutlastSignals multiplies by tiles while signals arrive, each of which puts them in
// its frame and takes them back, on two threads whose tiles differ.
func TestTilesOutlastSignals(t *testing.T) {
	if !slices.Contains(features(Detected()), "amx_bf16") {
		testneed.Skip(t, "amx_bf16", "no tile registers")
	}
	done := make(chan struct{})
	type result struct {
		want, got []float32
		err       error
	}
	results := make(chan result)
	for seed := range uint64(2) {
		s := openLevel(t, AVX512, 1)
		x := newRagged(seed, 128, []int64{32, 20}, []int64{300, 17, 100, 5})
		a := x.f32(t, s)
		a.Winner = backend.View{}
		for _, v := range []*backend.View{&a.Query, &a.Doc} {
			h := make([]uint16, v.Elements())
			for i, f := range Slice[float32](v) {
				h[i] = num.BF16FromFloat32(f)
			}
			*v = backend.NewView(upload(t, s, bytesOf(h)), 0, backend.BF16, v.Dims[0], v.Dims[1])
		}
		p, err := kernels.MaxSim.Prepare(s, a, kernel.WithVariant("amx"))
		require.NoError(t, err)
		require.NoError(t, p.Launch(a))
		want := slices.Clone(Slice[float32](&a.Score))
		go func() {
			r := result{want: want}
			for r.err == nil {
				r.err = p.Launch(a)
				r.got = slices.Clone(Slice[float32](&a.Score))
				select {
				case <-done:
					results <- r
					return
				default:
				}
				if !slices.Equal(r.want, r.got) {
					break
				}
			}
			<-done
			results <- r
		}()
	}
	for range 20000 {
		require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGURG)) // what Go itself preempts with
	}
	close(done)
	for range 2 {
		r := <-results
		require.NoError(t, r.err)
		require.Equal(t, r.want, r.got)
	}
}

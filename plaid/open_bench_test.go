//go:build unix

package plaid_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/store"
	"github.com/likbench/likbench/simd"
)

// drawnStore writes an index of 80,000 documents of 125 tokens × 128 components, 2 bits, with
// 32,768 drawn centroids, and returns a query of a document's centroids. Residuals are zeros:
// the norm of a token follows from its centroid.
func drawnStore(b *testing.B, dir string) []float32 {
	const documents, length, dim, k, topics = 80_000, 125, 128, 32_768, 24
	c := store.Codec{Dim: dim, Bits: 2, Centroids: make([]float32, k*dim), Cutoffs: []float32{-.05, 0, .05}, Weights: []float32{-.08, -.02, .02, .08}}
	everyOf(k, func(i int) {
		copy(c.Centroids[i*dim:], unitVector(rand.New(rand.NewPCG(5, uint64(i))), dim, nil))
	})
	dec, err := codec.NewDecoder(c.Centroids, dim, c.Bits, c.Weights)
	require.NoError(b, err)
	norm, v, none := make([]float32, k), make([]float32, dim), make([]byte, dim*c.Bits/8)
	for i := range norm {
		norm[i], err = dec.InvNorm(v, int64(i), none)
		require.NoError(b, err)
	}
	w, err := store.Create(dir, c, store.Options{})
	require.NoError(b, err)
	var query []float32
	const block = 4_000
	part := store.Block{Lens: make([]int64, block), Codes: make([]int32, block*length), InvNorms: make([]float32, block*length), Residuals: make([]byte, block*length*len(none))}
	r := rand.New(rand.NewPCG(6, 0))
	for range documents / block {
		for j := range part.Lens {
			part.Lens[j] = length
			var own [topics]int32
			for i := range own {
				own[i] = int32(r.IntN(k))
			}
			for t := j * length; t < (j+1)*length; t++ {
				code := own[r.IntN(topics)]
				part.Codes[t], part.InvNorms[t] = code, norm[code]
			}
		}
		require.NoError(b, w.Append(part))
	}
	for _, code := range part.Codes[:32] {
		query = append(query, c.Centroids[int(code)*dim:int(code+1)*dim]...)
	}
	_, err = w.Commit()
	require.NoError(b, errors.Join(err, w.Close()))
	return query
}

// usage is what the process has taken so far.
type usage struct {
	at           time.Time
	minor, major int64
	user, system time.Duration
}

func used(b *testing.B) usage {
	var r syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	span := func(t syscall.Timeval) time.Duration { return time.Duration(t.Nano()) }
	return usage{at: time.Now(), minor: int64(r.Minflt), major: int64(r.Majflt), user: span(r.Utime), system: span(r.Stime)}
}

// BenchmarkOpenFirstResult opens an index of 10 million tokens in place and searches it once:
// milliseconds to open the files, to load, and to the first result, all from the start; with
// the page faults on the way and the system's time, most of which they are. "mapped-ms" is the
// same without store.Open on the snapshot that was searched: its pages are mapped.
//
//	plaid.test -test.run '^$' -test.bench OpenFirstResult -test.benchtime 1x -test.count 5
func BenchmarkOpenFirstResult(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "index")
	query := drawnStore(b, dir)
	var sum struct{ open, load, first, mapped, user, system, minor, major float64 }
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	for b.Loop() {
		start := used(b)
		dev, err := simd.New().Open(0)
		require.NoError(b, err)
		snap, err := store.Open(dir)
		require.NoError(b, err)
		opened := time.Now()
		loaded, hits, closeIt := firstResult(b, dev, snap, query)
		end := used(b)
		closeIt()
		require.Len(b, hits, 10)
		_, again, closeIt := firstResult(b, dev, snap, query)
		sum.mapped += ms(time.Since(end.at))
		closeIt()
		require.Equal(b, hits, again)
		sum.open += ms(opened.Sub(start.at))
		sum.load += ms(loaded.Sub(start.at))
		sum.first += ms(end.at.Sub(start.at))
		sum.user += ms(end.user - start.user)
		sum.system += ms(end.system - start.system)
		sum.minor += float64(end.minor - start.minor)
		sum.major += float64(end.major - start.major)
		require.NoError(b, errors.Join(snap.Close(), dev.Close()))
	}
	for name, x := range map[string]float64{"open-ms": sum.open, "load-ms": sum.load, "first-ms": sum.first, "mapped-ms": sum.mapped,
		"user-ms": sum.user, "system-ms": sum.system, "minor-faults": sum.minor, "major-faults": sum.major} {
		b.ReportMetric(x/float64(b.N), name)
	}
}

// firstResult loads a snapshot and searches it once.
func firstResult(b *testing.B, dev backend.Device, snap *store.Snapshot, query []float32) (loaded time.Time, hits []plaid.Hit, closeIt func()) {
	ix, err := plaid.Load(dev, snap, plaid.LoadOptions{Share: true})
	require.NoError(b, err)
	loaded = time.Now()
	s, err := ix.NewSearcher()
	require.NoError(b, err)
	hits, _, err = s.Search(context.Background(), query, 10, plaid.SearchOptions{})
	require.NoError(b, err)
	return loaded, hits, func() { require.NoError(b, errors.Join(s.Close(), ix.Close())) }
}

package plaid_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
	"github.com/likbench/likbench/simd"
)

// TestStoreGivesTheSameAnswers: a snapshot is searched as the index it was made of, less what
// was deleted, by the ids that it gave.
func TestStoreGivesTheSameAnswers(t *testing.T) {
	docs := collection(301, 16, lengths(30, 120, 7, 0, 50)...)
	queries := collection(302, 16, 4, 9)
	src := built(t, docs, 40, 2)
	dir := filepath.Join(t.TempDir(), "index")
	require.NoError(t, store.Import(dir, src, store.Options{}))
	fromMemory := searcher(t, load(t, host.Backend{}, src, plaid.LoadOptions{}))
	compare := func(allowed []int64) {
		snap, err := store.Open(dir)
		require.NoError(t, err)
		ix := load(t, host.Backend{}, snap, plaid.LoadOptions{})
		shared, err := plaid.Load(open(t, simd.New()), snap, plaid.LoadOptions{Share: true, Screen: plaid.ScreenInt8})
		require.NoError(t, err)
		require.Positive(t, shared.Bytes())
		sharing, err := shared.NewSearcher()
		require.NoError(t, err)
		s := searcher(t, ix)
		for name, o := range map[string]plaid.SearchOptions{"auto": {}, "scan": ways["scan"], "all": {Method: plaid.MethodProbe, Probe: 40}, "bounds": ways["bounds"]} {
			got, _, err := s.SearchBatch(context.Background(), queries, 500, o)
			require.NoError(t, err)
			o.Filter = allowed
			want, _, err := fromMemory.SearchBatch(context.Background(), queries, 500, o)
			require.NoError(t, err)
			require.Equal(t, want, got, name)
			o.Filter = nil
			got, _, err = sharing.SearchBatch(context.Background(), queries, 500, o)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s, without a copy", name)
		}
		require.NoError(t, errors.Join(sharing.Close(), shared.Close(), snap.Close()))
	}
	compare(nil)
	w, err := store.OpenWriter(dir)
	require.NoError(t, err)
	require.NoError(t, w.Delete([]int64{3, 4, 50, 119}))
	_, err = w.Commit()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	var left []int64
	for j := range int64(120) {
		if !slices.Contains([]int64{3, 4, 50, 119}, j) {
			left = append(left, j)
		}
	}
	compare(left)
	snap, err := store.Open(dir)
	require.NoError(t, err)
	view, err := snap.Compacted() // its documents are counted from 0
	require.NoError(t, err)
	got, _, err := searcher(t, load(t, simd.New(), view, plaid.LoadOptions{})).SearchBatch(context.Background(), queries, 500, ways["scan"])
	require.NoError(t, err)
	o := ways["scan"]
	o.Filter = left
	want, _, err := fromMemory.SearchBatch(context.Background(), queries, 500, o)
	require.NoError(t, err)
	for _, hits := range got {
		for i := range hits {
			hits[i].ID = left[hits[i].ID]
		}
	}
	require.Equal(t, want, got)
	require.NoError(t, snap.Close())
	_, err = store.Compact(dir)
	require.NoError(t, err)
	compare(left)
}

// newest opens the newest generation and returns its number and its answer.
func newest(dev backend.Device, dir string, query []float32) (generation uint64, hits []plaid.Hit, err error) {
	snap, err := store.Open(dir)
	if err != nil {
		return 0, nil, err
	}
	ix, err := plaid.Load(dev, snap, plaid.LoadOptions{})
	if err = errors.Join(err, snap.Close()); err != nil {
		return 0, nil, err
	}
	s, err := ix.NewSearcher()
	if err == nil {
		hits, _, err = s.Search(context.Background(), query, 60, plaid.SearchOptions{})
		err = errors.Join(err, s.Close())
	}
	return snap.Generation(), hits, errors.Join(err, ix.Close())
}

// TestSearchWhileWriting: every answer is that of one generation.
func TestSearchWhileWriting(t *testing.T) {
	docs := collection(311, 16, lengths(31, 60, 6)...)
	query := part(collection(312, 16, 5), 0)
	src := built(t, docs, 20, 2)
	dir := filepath.Join(t.TempDir(), "index")
	require.NoError(t, store.Import(dir, src, store.Options{}))
	dev := open(t, simd.New())
	var mu sync.Mutex
	seen := map[uint64][]plaid.Hit{}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				g, hits, err := newest(dev, dir, query)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if old, ok := seen[g]; ok && !slices.Equal(old, hits) {
					t.Errorf("generation %d: %v, and %v", g, old, hits)
				}
				seen[g] = hits
				mu.Unlock()
				select {
				case <-done:
					return
				default:
				}
			}
		}()
	}
	w, err := store.OpenWriter(dir)
	require.NoError(t, err)
	for id := range int64(12) {
		require.NoError(t, w.Delete([]int64{id}))
		_, err := w.Commit()
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	close(done)
	wg.Wait()
	_, hits, err := newest(dev, dir, query)
	require.NoError(t, err)
	for _, h := range hits {
		require.GreaterOrEqual(t, h.ID, int64(12), "deleted documents do not come back")
	}
}

// TestNothingLeaks: a thousand searches of changing sizes hold what they held after the
// first ones.
func TestNothingLeaks(t *testing.T) {
	src := built(t, collection(321, 16, lengths(32, 90, 6)...), 20, 2)
	queries := collection(322, 16, 3, 7, 1, 12)
	dev := open(t, simd.New(simd.WithWorkers(2)))
	ix, err := plaid.Load(dev, format.Source(src), plaid.LoadOptions{})
	require.NoError(t, err)
	s, err := ix.NewSearcher()
	require.NoError(t, err)
	var held int64
	var goroutines int
	for i := range 1000 {
		for name := range ways {
			if (i+len(name))%3 == 0 {
				_, _, err := s.SearchBatch(context.Background(), batch(queries, 1+i%4), 5, ways[name])
				require.NoError(t, err)
			}
		}
		if i == 50 {
			held, goroutines = dev.Memory().Live, runtime.NumGoroutine()
		}
	}
	require.Equal(t, held, dev.Memory().Live)
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	require.NoError(t, s.Close())
	require.NoError(t, ix.Close())
	require.Zero(t, dev.Memory().Buffers)
}

package build

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/plaid/store"
)

// AddOptions say how documents are added.
type AddOptions struct {
	Normalize   bool // as when the index was built
	ChunkTokens int  // tokens encoded and appended together; 0 = 32 MiB of vectors
	Progress    func(Progress)
}

// Drift says how well the centroids of an index serve documents that were added to it.
type Drift struct {
	Tokens    int64   // added
	Threshold float32 // of the norm of a residual: a quarter of the tokens built from exceed it
	Far       int64   // of Tokens, those whose residual exceeds the threshold
	Centroids int64   // of the index
	Wanted    int64   // centroids of a new index of as many tokens
}

// Shares of far tokens, and lack of centroids, at which a rebuild is worth while: twice what
// a fresh index has, and what sixteen times the tokens bring.
const (
	farShare  = 0.5
	fewShares = 4
)

// Share is the part of the added tokens that are far from every centroid.
func (d *Drift) Share() float64 { return float64(d.Far) / float64(max(d.Tokens, 1)) }

// Advice is why the index should be built anew, or "".
func (d *Drift) Advice() string {
	switch {
	case d.Threshold > 0 && d.Share() > farShare:
		return fmt.Sprintf("rebuild: %.0f %% of the added tokens lie far from every centroid, 25 %% do in a fresh index", 100*d.Share())
	case d.Wanted >= fewShares*d.Centroids:
		return fmt.Sprintf("rebuild: %d centroids, an index of this size would have %d", d.Centroids, d.Wanted)
	}
	return ""
}

// Add appends the documents of a collection to the index in dir, with the centroids and the
// table that it has, as one generation: all of them or none. Documents take the ids that
// follow, or their own (Named).
//
// Its errors are those of Build and of store.OpenWriter; a collection without tokens is
// legal, and one without documents adds nothing.
func Add(ctx context.Context, dev backend.Device, dir string, c Collection, o AddOptions) (_ *Statistics, _ *Drift, err error) {
	w, err := store.OpenWriter(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	x, err := store.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	cells := &Codec{Dim: x.Dim(), Bits: x.Bits(), Centroids: x.Centroids(), Cutoffs: x.Cutoffs(), Weights: x.Weights(),
		AverageResidual: x.AverageResidual(), Threshold: x.ClusterThreshold()}
	b, err := newBuilder(dev, c, Options{Bits: x.Bits(), Codec: cells, Normalize: o.Normalize, ChunkTokens: o.ChunkTokens,
		Progress: o.Progress, AllowEmpty: true})
	if err != nil {
		return nil, nil, err
	}
	if err := b.measureInput(ctx); err != nil {
		return nil, nil, err
	}
	b.drift = &Drift{Threshold: cells.Threshold, Centroids: int64(x.K()), Wanted: centroidsFor(x.Tokens() + b.census.tokens)}
	if err := b.run(ctx, &addSink{b: b, w: w}); err != nil {
		return nil, nil, err
	}
	b.leave()
	return &b.stats, b.drift, nil
}

// addSink appends chunks as they come.
type addSink struct {
	b *builder
	w *store.Writer
}

func (s *addSink) begin(*Codec) error     { return nil }
func (s *addSink) resume() (int64, error) { return 0, nil }
func (s *addSink) close() error           { return nil } // the writer is the caller's

func (s *addSink) put(c *chunk) error { return s.w.Append(blockOf(s.b.c, c)) }

func (s *addSink) commit() error {
	s.b.enter(Write)
	_, err := s.w.Commit()
	return err
}

// add counts the tokens of a chunk that lie far from their centroids.
func (d *Drift) add(dim int, vectors []float32, codes []int32, centroids []float32) {
	var far atomic.Int64
	parallel(len(codes), 1024, func(lo, hi int) {
		residual, n := make([]float32, dim), int64(0)
		for i := lo; i < hi; i++ {
			x, c := vectors[i*dim:(i+1)*dim], centroids[int(codes[i])*dim:(int(codes[i])+1)*dim]
			for j := range residual {
				residual[j] = x[j] - c[j]
			}
			if float32(canon.Norm(residual)) > d.Threshold {
				n++
			}
		}
		far.Add(n)
	})
	d.Tokens += int64(len(codes))
	d.Far += far.Load()
}

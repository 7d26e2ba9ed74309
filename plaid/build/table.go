package build

import (
	"context"
	"fmt"
	"math"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/plaid/codec"
)

// thresholdLevel is the quantile of residual norms beyond which an update finds a token far
// from every centroid, as in fast-plaid.
const thresholdLevel = 0.75

// heldOutPiece is the held-out tokens that are assigned at a time.
const heldOutPiece = 1 << 15

// measure makes the table of buckets, the mean residuals and the threshold from what the
// centroids leave of the held-out tokens.
func (b *builder) measure(ctx context.Context) (*Codec, error) {
	d := int64(b.d)
	n := int64(len(b.heldOut)) / d
	if err := b.engine.setCentroids(b.centroids); err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	code := make([]int32, n)
	var done, where int64
	if b.resident {
		where = b.plan.training
	}
	for at := int64(0); at < n; {
		part := min(b.engine.window-where, n-at)
		if err := b.engine.setTokens(where, b.heldOut[at*d:(at+part)*d]); err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
		err := b.engine.assign(ctx, where, part, func(n int64) {
			done += n
			b.report(Progress{Stage: Table, Tokens: done, OfTokens: b.plan.held})
		})
		if err == nil {
			err = b.engine.codes(where, code[at:at+part], nil)
		}
		if err != nil {
			return nil, err
		}
		at += part
	}
	b.stats.HeldOut = n
	defer func() { b.heldOut, b.thinned = nil, nil }() // nothing reads the sample any more
	return measured(b.o.Bits, b.d, b.centroids, b.heldOut, code)
}

// measured is the codec of tokens with the given codes; their vectors are overwritten with
// residuals.
func measured(bits, d int, centroids, tokens []float32, code []int32) (*Codec, error) {
	parallel(len(code), 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x, c := tokens[i*d:(i+1)*d], centroids[int(code[i])*d:(int(code[i])+1)*d]
			for j := range x {
				x[j] -= c[j]
			}
		}
	})
	table, err := codec.FitTable(bits, func(yield func([]float32) bool) { yield(tokens) })
	if err != nil {
		return nil, fmt.Errorf("build: table of %d held-out tokens: %w", len(code), err)
	}
	norms, sums := make([]float32, len(code)), make([]float64, d)
	for i := range norms {
		x := tokens[i*d : (i+1)*d]
		norms[i] = float32(canon.Norm(x))
		for j, v := range x {
			sums[j] += math.Abs(float64(v))
		}
	}
	average := make([]float32, d)
	for j, s := range sums {
		average[j] = float32(s / float64(len(code)))
	}
	var threshold [1]float64
	if err := canon.Quantiles(threshold[:], norms, []float64{thresholdLevel}); err != nil {
		return nil, fmt.Errorf("build: threshold of %d held-out tokens: %w", len(code), err)
	}
	return &Codec{Dim: d, Bits: bits, Centroids: centroids, Cutoffs: table.Cutoffs, Weights: table.Weights,
		AverageResidual: average, Threshold: float32(threshold[0])}, nil
}

// blankCodec is what an index without tokens is made with: one centroid, no residuals. It
// stands for nothing, so a first addition should rebuild.
func blankCodec(bits, d int) *Codec {
	c := &Codec{Dim: d, Bits: bits, Centroids: make([]float32, d), Cutoffs: make([]float32, 1<<bits-1),
		Weights: make([]float32, 1<<bits), AverageResidual: make([]float32, d)}
	c.Centroids[0] = 1
	return c
}

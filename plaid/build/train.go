package build

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/num"
)

// segment is training tokens that lie at the start of the engine's window.
type segment struct {
	at, n   int64     // number of the first, and how many
	vectors []float32 // the same on the host, where they will not stay on the device
}

// training calls visit with the training tokens, in order: those of the sampled documents,
// thinned. document sees every sampled document first, unless nil. Slices are valid during
// the call.
func (b *builder) training(ctx context.Context, document func(j int64, vectors []float32), visit func(at int64, vectors []float32) error) error {
	r := b.reader(int64(b.o.ChunkTokens))
	thin := newSelector(b.o.Seed, drawTraining, b.plan.training, b.plan.tokens)
	d := int64(b.d)
	var at int64
	for part, err := range r.read(ctx, 0, b.plan.sampler()) {
		if err != nil {
			return err
		}
		if document != nil {
			rest := part.vectors
			for i, n := range part.lens {
				document(part.numbers[i], rest[:int64(n)*d])
				rest = rest[int64(n)*d:]
			}
		}
		if b.plan.training == 0 {
			continue
		}
		kept := part.vectors
		if b.plan.training < b.plan.tokens {
			kept = thinned(b.thinned[:0], part.vectors, d, thin)
			b.thinned = kept
		}
		if len(kept) == 0 {
			continue
		}
		if err := visit(at, kept); err != nil {
			return err
		}
		at += int64(len(kept)) / d
	}
	return nil
}

func thinned(dst, vectors []float32, d int64, s *selector) []float32 {
	for ; len(vectors) > 0; vectors = vectors[d:] {
		if s.take() {
			dst = append(dst, vectors[:d]...)
		}
	}
	return dst
}

// sampler accepts the documents of the sample; nil accepts all. It is asked about each
// document once, in order.
func (p *plan) sampler() func(int64) bool {
	if p.documents == nil {
		return nil
	}
	next := 0
	return func(j int64) bool {
		if next < len(p.documents) && p.documents[next] == j {
			next++
			return true
		}
		return false
	}
}

// gather reads the sample for the first time: it keeps the held-out tokens and, for
// k-means, the initial centroids, and moves the training tokens to the device if they stay
// there.
func (b *builder) gather(ctx context.Context) error {
	d := int64(b.d)
	b.heldOut = make([]float32, 0, b.plan.held*d)
	spans := b.plan.heldOut
	hold := func(j int64, vectors []float32) {
		if len(spans) > 0 && spans[0].document == j {
			b.heldOut = append(b.heldOut, vectors[spans[0].from*d:]...)
			spans = spans[1:]
		}
	}
	seeds := newSelector(b.o.Seed, drawSeeds, b.plan.k, b.plan.training)
	first := make([]float32, 0, b.plan.k*d)
	err := b.training(ctx, hold, func(at int64, vectors []float32) error {
		first = thinned(first, vectors, d, seeds)
		b.report(Progress{Stage: Sample, Tokens: at + int64(len(vectors))/d, OfTokens: b.plan.training})
		if b.resident {
			return b.engine.setTokens(at, vectors)
		}
		return nil
	})
	if err != nil || b.centroids != nil {
		return err
	}
	b.centroids = first
	parallel(int(b.plan.k), 64, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			row := first[int64(c)*d : int64(c+1)*d]
			canon.Normalize(row, row)
			toHalf(row)
		}
	})
	return nil
}

// toHalf rounds values to half precision, so that layouts which keep centroids in half
// keep these as they are.
func toHalf(x []float32) {
	for i, v := range x {
		x[i] = num.F16ToFloat32(num.F16FromFloat32(v))
	}
}

// segments calls visit with the training tokens in the engine's window, all at once where
// they stay there.
func (b *builder) segments(ctx context.Context, visit func(segment) error) error {
	if b.resident {
		return visit(segment{n: b.plan.training})
	}
	return b.training(ctx, nil, func(at int64, vectors []float32) error {
		for d := int64(b.d); len(vectors) > 0; {
			n := min(b.engine.window, int64(len(vectors))/d)
			if err := b.engine.setTokens(0, vectors[:n*d]); err != nil {
				return err
			}
			if err := visit(segment{at, n, vectors[:n*d]}); err != nil {
				return err
			}
			at, vectors = at+n, vectors[n*d:]
		}
		return nil
	})
}

// kmeans improves the centroids: spherical k-means, by canonical arithmetic. Sums are
// integers, so that no order shows; centroids are normalised sums, rounded to half.
func (b *builder) kmeans(ctx context.Context) error {
	scale, err := canon.NewScale(b.plan.training, max(b.census.norm, minNorm))
	if err != nil {
		return fmt.Errorf("build: sums of %d tokens of norm %g: %w", b.plan.training, b.census.norm, err)
	}
	shift := int64(scale.Shift())
	if err := b.engine.prepareUpdate(shift); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	for b.iteration < b.o.Iterations && !b.converged {
		if err := b.engine.setCentroids(b.centroids); err != nil {
			return fmt.Errorf("build: %w", err)
		}
		m := newMeans(int(b.plan.k), b.d, !b.resident)
		if err := b.iterate(ctx, m, shift); err != nil {
			return err
		}
		next := m.centroids()
		empty := m.empty()
		if len(empty) > 0 {
			seated, err := b.reseed(m, next, empty)
			if err != nil {
				return err
			}
			b.stats.Reseeded += int64(seated)
		}
		b.converged = slices.Equal(next, b.centroids)
		b.centroids = next
		b.iteration++
		b.stats.Iterations++
		if err := b.area.saveCentroids(b); err != nil {
			return err
		}
	}
	return nil
}

// minNorm keeps the step of sums above what vectors of no length would ask for.
const minNorm = 0x1p-20

// iterate assigns every training token and adds them up.
func (b *builder) iterate(ctx context.Context, m *means, shift int64) error {
	var done int64
	return b.segments(ctx, func(s segment) error {
		err := b.engine.assign(ctx, 0, s.n, func(n int64) {
			done += n
			b.report(Progress{Stage: Centroids, Iteration: b.iteration + 1, Iterations: b.o.Iterations, Tokens: done, OfTokens: b.plan.training})
		})
		if err != nil {
			return err
		}
		if s.vectors == nil {
			return b.engine.sums(s.n, shift, m.sum, m.count)
		}
		return m.add(b.engine, s, shift)
	})
}

// reseed gives the cells without tokens a new place, in ascending order: the worst served
// token of each other cell, the worst of all first. A collection of few different tokens
// has too few of them; the rest of the cells stay where they were. It returns how many moved.
func (b *builder) reseed(m *means, next []float32, empty []int) (int, error) {
	d := b.d
	if b.resident {
		code, score := make([]int32, b.plan.training), make([]float32, b.plan.training)
		if err := b.engine.codes(0, code, score); err != nil {
			return 0, err
		}
		m.notice(0, code, score, nil)
	}
	places := m.places()
	for i, c := range empty {
		row := next[c*d : (c+1)*d]
		if i >= len(places) {
			copy(row, b.centroids[c*d:(c+1)*d])
			continue
		}
		if p := places[i]; b.resident {
			if err := b.engine.tokenAt(m.worst[p].token, row); err != nil {
				return 0, fmt.Errorf("build: %w", err)
			}
		} else {
			copy(row, m.vectors[p*d:(p+1)*d])
		}
		canon.Normalize(row, row)
		toHalf(row)
	}
	return min(len(empty), len(places)), nil
}

// means collects the sums of an iteration, and of each cell the token it serves worst.
type means struct {
	d          int
	sum, count []int64
	worst      []seat
	vectors    []float32 // of the worst, where tokens do not stay on the device
	partSum    []int64
	partCount  []int64
	code       []int32
	score      []float32
}

type seat struct {
	score float32
	token int64 // −1 = none
}

func newMeans(k, d int, streamed bool) *means {
	m := &means{d: d, sum: make([]int64, k*d), count: make([]int64, k), worst: make([]seat, k)}
	for c := range m.worst {
		m.worst[c] = seat{float32(math.Inf(1)), -1}
	}
	if streamed {
		m.vectors, m.partSum, m.partCount = make([]float32, k*d), make([]int64, k*d), make([]int64, k)
	}
	return m
}

// add takes a segment that was assigned.
func (m *means) add(e *engine, s segment, shift int64) error {
	if err := e.sums(s.n, shift, m.partSum, m.partCount); err != nil {
		return err
	}
	for i, v := range m.partSum {
		m.sum[i] += v
	}
	for c, v := range m.partCount {
		m.count[c] += v
	}
	m.code, m.score = slices.Grow(m.code[:0], int(s.n))[:s.n], slices.Grow(m.score[:0], int(s.n))[:s.n]
	if err := e.codes(0, m.code, m.score); err != nil {
		return err
	}
	m.notice(s.at, m.code, m.score, s.vectors)
	return nil
}

// notice looks for the worst served tokens among those from number at on, the first of equal ones.
func (m *means) notice(at int64, code []int32, score []float32, vectors []float32) {
	for i, c := range code {
		if score[i] < m.worst[c].score {
			m.worst[c] = seat{score[i], at + int64(i)}
		}
	}
	if vectors == nil {
		return
	}
	for c, w := range m.worst {
		if w.token >= at {
			i := int(w.token - at)
			copy(m.vectors[c*m.d:(c+1)*m.d], vectors[i*m.d:(i+1)*m.d])
		}
	}
}

// centroids are the sums, normalised in float64, rounded to float32 and then to half. The
// step of the sums cancels.
func (m *means) centroids() []float32 {
	d := m.d
	next := make([]float32, len(m.sum))
	parallel(len(m.count), 64, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			var squares float64
			for _, v := range m.sum[c*d : (c+1)*d] {
				squares += float64(float64(v) * float64(v)) // the conversion keeps the compiler from fusing
			}
			if squares == 0 {
				continue
			}
			norm := math.Sqrt(squares)
			row := next[c*d : (c+1)*d]
			for i, v := range m.sum[c*d : (c+1)*d] {
				row[i] = float32(float64(v) / norm)
			}
			toHalf(row)
		}
	})
	return next
}

// empty are the cells without tokens.
func (m *means) empty() []int {
	var out []int
	for c, n := range m.count {
		if n == 0 {
			out = append(out, c)
		}
	}
	return out
}

// places are the cells that can give a token away, the worst served token first.
func (m *means) places() []int {
	var out []int
	for c, w := range m.worst {
		if w.token >= 0 && m.count[c] > 1 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(m.worst[a].score, m.worst[b].score), cmp.Compare(m.worst[a].token, m.worst[b].token))
	})
	return out
}

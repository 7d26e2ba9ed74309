package build

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/likbench/likbench/backend/canon"
)

// block is a run of documents: consecutive ones, or those that a reader wanted. vectors are
// read only, and valid until the next block.
type block struct {
	first   int64   // number of the first document
	numbers []int64 // of each document
	lens    []int32
	vectors []float32
}

func (b *block) tokens(d int) int64 { return int64(len(b.vectors) / d) }

// reader turns a collection into blocks.
type reader struct {
	c         Collection
	d         int
	total     int64 // tokens to come, at most, where that is known
	limit     int64 // tokens of a block; a longer document makes a longer one
	normalize bool
	lens      []int32 // what each document has to have; nil: the first reading
	room      *block  // memory that one reading after another uses
}

// read yields blocks of the documents from one on that want accepts, nil accepting all. The
// split depends on lengths alone. A document of the wrong width, or of another length than
// before, ends it with an error.
func (r *reader) read(ctx context.Context, from int64, want func(document int64) bool) iter.Seq2[*block, error] {
	a, ok := r.c.(*Arrays)
	if ok && want == nil && !r.normalize && a.check() == nil {
		return r.slices(ctx, a, from)
	}
	return func(yield func(*block, error) bool) {
		b := r.room
		b.numbers, b.lens, b.vectors = b.numbers[:0], b.lens[:0], b.vectors[:0]
		b.vectors = slices.Grow(b.vectors, r.d*int(min(r.limit, r.total)))
		j := int64(-1)
		for vectors, err := range r.c.Documents() {
			j++
			if err == nil {
				err = r.check(ctx, j, vectors)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if j < from || want != nil && !want(j) {
				continue
			}
			if len(b.lens) > 0 && b.tokens(r.d)+int64(len(vectors)/r.d) > r.limit {
				if !r.emit(b, yield) {
					return
				}
			}
			b.numbers, b.lens, b.vectors = append(b.numbers, j), append(b.lens, int32(len(vectors)/r.d)), append(b.vectors, vectors...)
		}
		if err := r.complete(j + 1); err != nil {
			yield(nil, err)
			return
		}
		if len(b.lens) > 0 {
			r.emit(b, yield)
		}
	}
}

// emit yields the block and empties it.
func (r *reader) emit(b *block, yield func(*block, error) bool) bool {
	b.first = b.numbers[0]
	if r.normalize {
		rows := len(b.vectors) / r.d
		parallel(rows, 1024, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				row := b.vectors[i*r.d : (i+1)*r.d]
				canon.Normalize(row, row)
			}
		})
	}
	more := yield(b, nil)
	b.numbers, b.lens, b.vectors = b.numbers[:0], b.lens[:0], b.vectors[:0]
	return more
}

// check refuses a document that is not what it has to be.
func (r *reader) check(ctx context.Context, j int64, vectors []float32) error {
	if j%64 == 0 && ctx.Err() != nil {
		return canceled(ctx)
	}
	n := len(vectors) / r.d
	switch {
	case len(vectors)%r.d != 0:
		return documentError(j, fmt.Errorf("%d values, no whole tokens of %d components: %w", len(vectors), r.d, ErrWidth))
	case n > math.MaxInt32:
		return documentError(j, fmt.Errorf("%d tokens, at most %d: %w", n, math.MaxInt32, ErrLength))
	case r.lens != nil && j >= int64(len(r.lens)):
		return fmt.Errorf("build: more than the %d documents of the first reading: %w", len(r.lens), ErrChanged)
	case r.lens != nil && n != int(r.lens[j]):
		return documentError(j, fmt.Errorf("%d tokens, %d before: %w", n, r.lens[j], ErrChanged))
	}
	return nil
}

// complete refuses a collection that ended early.
func (r *reader) complete(documents int64) error {
	if r.lens != nil && documents < int64(len(r.lens)) {
		return fmt.Errorf("build: %d documents, %d before: %w", documents, len(r.lens), ErrChanged)
	}
	return nil
}

// slices is read without copying: the blocks are windows of the caller's memory.
func (r *reader) slices(ctx context.Context, a *Arrays, from int64) iter.Seq2[*block, error] {
	return func(yield func(*block, error) bool) {
		n := int64(len(a.Offsets) - 1)
		if err := r.complete(n); err != nil {
			yield(nil, err)
			return
		}
		for j := from; j < n; {
			b := &block{first: j}
			lo := a.Offsets[j]
			for ; j < n && (len(b.lens) == 0 || a.Offsets[j+1]-lo <= r.limit); j++ {
				doc := a.Vectors[a.Offsets[j]*int64(r.d) : a.Offsets[j+1]*int64(r.d)]
				if err := r.check(ctx, j, doc); err != nil {
					yield(nil, err)
					return
				}
				b.numbers, b.lens = append(b.numbers, j), append(b.lens, int32(len(doc)/r.d))
			}
			b.vectors = a.Vectors[lo*int64(r.d) : a.Offsets[j]*int64(r.d)]
			if !yield(b, nil) {
				return
			}
		}
	}
}

// parallel calls f for ranges that cover 0 to n, each of at least grain, on as many
// goroutines as there are processors. What f does must not depend on the split.
func parallel(n, grain int, f func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+grain-1)/grain)
	if workers < 2 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(n*w/workers, n*(w+1)/workers) })
	}
	wg.Wait()
}

func canceled(ctx context.Context) error { return fmt.Errorf("build: %w", context.Cause(ctx)) }

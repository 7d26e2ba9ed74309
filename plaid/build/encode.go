package build

import (
	"context"
	"fmt"
	"iter"
)

// chunk is encoded documents.
type chunk struct {
	first     int64 // number of the first document
	lens      []int32
	codes     []int32
	residuals []byte
	inv       []float32
}

// resize makes room for n tokens; content is undefined.
func (c *chunk) resize(n, row int) {
	c.codes, c.inv, c.residuals = sized(c.codes, n), sized(c.inv, n), sized(c.residuals, n*row)
}

func sized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// chunks splits the documents from one on as reader.read does: by lengths alone.
func (b *builder) chunks(from int64) iter.Seq[*block] {
	return func(yield func(*block) bool) {
		n := int64(len(b.census.lens))
		for j := from; j < n; {
			part := &block{first: j}
			var tokens int64
			for ; j < n && (len(part.lens) == 0 || tokens+int64(b.census.lens[j]) <= int64(b.o.ChunkTokens)); j++ {
				part.lens = append(part.lens, b.census.lens[j])
				tokens += int64(b.census.lens[j])
			}
			if !yield(part) {
				return
			}
		}
	}
}

// encodeAll encodes the documents from one on, chunk by chunk; a chunk is valid during the
// call of store. With vectors that are on the device already it reads the collection no more.
func (b *builder) encodeAll(ctx context.Context, c *Codec, from int64, store func(*chunk) error) error {
	if err := b.engine.setCentroids(c.Centroids); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if err := b.engine.prepareEncode(c, min(b.engine.window, int64(b.o.ChunkTokens))); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	x := &encoder{b: b, c: c, row: b.d * c.Bits / 8}
	for _, n := range b.census.lens[:from] {
		x.done += int64(n)
	}
	if b.whole {
		for part := range b.chunks(from) {
			if err := x.encode(ctx, part, x.done); err != nil {
				return err
			}
			if err := store(&x.out); err != nil {
				return err
			}
		}
		return nil
	}
	for part, err := range b.reader(int64(b.o.ChunkTokens)).read(ctx, from, nil) {
		if err == nil {
			err = x.encode(ctx, part, -1)
		}
		if err == nil {
			err = store(&x.out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encoder turns blocks into chunks.
type encoder struct {
	b    *builder
	c    *Codec
	row  int
	done int64 // tokens
	out  chunk
}

// encode fills out. Tokens lie in the window from at on, or, where at is negative, are
// uploaded.
func (x *encoder) encode(ctx context.Context, part *block, at int64) error {
	e := x.b.engine
	n := part.tokens(x.b.d)
	if at >= 0 {
		n = 0
		for _, l := range part.lens {
			n += int64(l)
		}
	}
	x.out.first, x.out.lens = part.first, part.lens
	x.out.resize(int(n), x.row)
	size := e.packed.Dims[0]
	for from := int64(0); from < n; from += size {
		to := min(from+size, n)
		where := at + from
		if at < 0 {
			where = 0
			if err := e.setTokens(0, part.vectors[from*e.d:to*e.d]); err != nil {
				return fmt.Errorf("build: %w", err)
			}
		}
		err := e.assign(ctx, where, to-from, func(n int64) {
			x.done += n
			x.b.report(Progress{Stage: Encode, Documents: part.first, OfDocuments: int64(len(x.b.census.lens)), Tokens: x.done, OfTokens: x.b.census.tokens})
		})
		if err == nil {
			err = e.residuals(where, x.c.Bits, x.out.codes[from:to], x.out.residuals[from*int64(x.row):to*int64(x.row)], x.out.inv[from:to])
		}
		if err != nil {
			return fmt.Errorf("build: documents %d to %d: %w", part.first, part.first+int64(len(part.lens)), err)
		}
	}
	if x.b.drift != nil {
		x.b.drift.add(x.b.d, part.vectors, x.out.codes, x.c.Centroids)
	}
	return nil
}

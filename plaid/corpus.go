package plaid

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/num"
)

// Tokens are the vectors of token sequences, one after another: sequence i is rows
// Offsets[i] to Offsets[i+1] of Vectors, each of Dim components. Offsets has one entry more
// than there are sequences and starts at 0.
type Tokens struct {
	Vectors []float32
	Offsets []int64
	Dim     int
}

// Len is the number of sequences.
func (t Tokens) Len() int { return max(len(t.Offsets)-1, 0) }

// part is the tokens of sequence i.
func (t *Tokens) part(i int) []float32 {
	return t.Vectors[t.Offsets[i]*int64(t.Dim) : t.Offsets[i+1]*int64(t.Dim)]
}

// check returns the number of rows and the longest sequence, or which entry is wrong.
func (t Tokens) check(what string) (rows, longest int64, err error) {
	if t.Dim < 1 {
		return 0, 0, fmt.Errorf("plaid: %s: dimension %d, at least 1: %w", what, t.Dim, backend.ErrArgument)
	}
	if len(t.Vectors)%t.Dim != 0 {
		return 0, 0, fmt.Errorf("plaid: %s: %d components are no whole tokens of %d: %w", what, len(t.Vectors), t.Dim, backend.ErrArgument)
	}
	_, rows, longest, err = kernel.CheckOffsets(t.Offsets)
	if err != nil {
		return 0, 0, fmt.Errorf("plaid: %s: %w", what, err)
	}
	if have := int64(len(t.Vectors) / t.Dim); rows != have {
		return 0, 0, fmt.Errorf("plaid: %s: offsets end at %d, but there are %d tokens: %w", what, rows, have, backend.ErrArgument)
	}
	return rows, longest, nil
}

// Options say how a corpus is held.
type Options struct {
	// DType of the vectors on the device: F32 (the default) or BF16, half the memory and
	// rounded once. Scores are f32 either way.
	DType backend.DType
	// Normalize divides tokens of documents and queries by √max(‖x‖², 1e-12) while scoring.
	Normalize bool
	// Variant asks for one kernel variant of maxsim; "" takes the best.
	Variant string
}

// Corpus is a collection of documents in device memory. It is immutable and safe for
// concurrent use. Close it after its scorers.
type Corpus struct {
	dev     backend.Device
	opts    Options
	dim     int
	vectors backend.Buffer
	offsets backend.Buffer
	doc     backend.View
	docOff  kernel.Offsets
	closed  atomic.Bool
}

// NewCorpus checks the tokens and uploads them. Vectors and offsets are not kept.
func NewCorpus(dev backend.Device, docs Tokens, opts Options) (*Corpus, error) {
	if opts.DType == backend.Invalid {
		opts.DType = backend.F32
	}
	if opts.DType != backend.F32 && opts.DType != backend.BF16 {
		return nil, fmt.Errorf("plaid: documents: dtype %s, want f32 or bf16: %w", opts.DType, backend.ErrUnsupported)
	}
	rows, _, err := docs.check("documents")
	if err != nil {
		return nil, err
	}
	c := &Corpus{dev: dev, opts: opts, dim: docs.Dim}
	if err := c.upload(docs, rows); err != nil {
		return nil, errors.Join(err, c.free())
	}
	return c, nil
}

func (c *Corpus) upload(docs Tokens, rows int64) (err error) {
	s, err := c.dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if c.vectors, err = c.dev.Alloc(int64(len(docs.Vectors)) * c.opts.DType.Size()); err != nil {
		return err
	}
	if c.offsets, err = c.dev.Alloc(int64(len(docs.Offsets)) * 8); err != nil {
		return err
	}
	if err := upload(s, c.vectors, c.opts.DType, docs.Vectors, newStaging(c.opts.DType, int64(len(docs.Vectors)))); err != nil {
		return err
	}
	c.doc = backend.NewView(c.vectors, 0, c.opts.DType, rows, int64(c.dim))
	if c.docOff, err = kernel.NewOffsets(s, c.offsets, docs.Offsets); err != nil {
		return err
	}
	return s.Sync()
}

// piece is the components converted at a time.
const piece = 1 << 20

// newStaging is the room that upload converts n components of dtype t in, nil where it
// does not convert.
func newStaging(t backend.DType, n int64) []byte {
	if t == backend.F32 {
		return nil
	}
	return make([]byte, min(n, piece)*t.Size())
}

// upload writes components to dst in dtype t: f32 from the caller's own memory, which has
// this contract's byte order, bf16 in pieces through staging.
func upload(s backend.Stream, dst backend.Buffer, t backend.DType, x []float32, staging []byte) error {
	if t == backend.F32 {
		return s.Upload(dst, 0, bytesOf(x))
	}
	for at := 0; at < len(x); at += piece {
		part := x[at:min(at+piece, len(x))]
		raw := staging[:len(part)*2]
		num.BF16.Encode32(raw, part)
		if err := s.Upload(dst, int64(at)*2, raw); err != nil {
			return err
		}
	}
	return nil
}

// Len is the number of documents.
func (c *Corpus) Len() int { return int(c.docOff.N) }

// Tokens is the number of document tokens.
func (c *Corpus) Tokens() int64 { return c.docOff.Total }

// Dim is the components of a token.
func (c *Corpus) Dim() int { return c.dim }

// Bytes is the device memory that the corpus holds, 0 after Close.
func (c *Corpus) Bytes() int64 {
	if c.closed.Load() {
		return 0
	}
	return c.vectors.Len() + c.offsets.Len()
}

// Close frees the device memory. A scorer used after it answers ErrClosed.
func (c *Corpus) Close() error {
	if c.closed.Swap(true) {
		return errClosed("corpus")
	}
	return c.free()
}

func errClosed(what string) error { return fmt.Errorf("plaid: %s: %w", what, backend.ErrClosed) }

func (c *Corpus) free() error {
	var errs []error
	for _, b := range []backend.Buffer{c.vectors, c.offsets} {
		if b != nil {
			errs = append(errs, b.Free())
		}
	}
	return errors.Join(errs...)
}

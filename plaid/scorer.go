package plaid

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// Limits are the largest call a scorer takes; its buffers are sized once for them.
type Limits struct {
	Queries int // queries in a call; at least 1
	Tokens  int // query tokens in a call, over all queries; at least 1
	K       int // results per query of TopK; 0 = TopK is not used
}

// Scorer scores queries against a corpus. It belongs to one goroutine and allocates
// nothing after it was made.
type Scorer struct {
	c       *Corpus
	limits  Limits
	stream  backend.Stream
	buffers []backend.Buffer
	staging []byte

	maxsim     *kernel.Prepared[kernels.MaxSimArgs]
	topk       *kernel.Prepared[kernels.TopKArgs]
	maxsimArgs kernels.MaxSimArgs
	topkArgs   kernels.TopKArgs
	closed     bool
}

// NewScorer makes the stream, buffers and prepared launches of one goroutine.
func (c *Corpus) NewScorer(l Limits) (*Scorer, error) {
	if l.Queries < 1 || l.Tokens < 1 || l.K < 0 {
		return nil, fmt.Errorf("plaid: limits %+v: queries and tokens are at least 1, k at least 0: %w", l, backend.ErrArgument)
	}
	if c.closed.Load() {
		return nil, errClosed("corpus")
	}
	l.K = min(l.K, c.Len())
	if !fits(l.Queries, c.Len()) || !fits(l.Tokens, c.dim) {
		return nil, fmt.Errorf("plaid: limits %+v: more than can be addressed, for %d documents of %d components: %w", l, c.Len(), c.dim, backend.ErrArgument)
	}
	s := &Scorer{c: c, limits: l}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// fits reports whether a buffer of n rows of m elements, or of n+1 offsets, has a size.
func fits(n, m int) bool { return int64(n) < math.MaxInt64/8/int64(max(m, 1)) }

func (s *Scorer) open() (err error) {
	if s.stream, err = s.c.dev.NewStream(); err != nil {
		return err
	}
	nq, tq, nd, k := int64(s.limits.Queries), int64(s.limits.Tokens), int64(s.c.Len()), int64(s.limits.K)
	t := s.c.opts.DType
	view := func(dt backend.DType, dims ...int64) (v backend.View) {
		v = backend.NewView(nil, 0, dt, dims...)
		var b backend.Buffer
		if err == nil {
			b, err = s.c.dev.Alloc(v.Bytes())
		}
		if err == nil {
			s.buffers = append(s.buffers, b)
			v.Buf = b
		}
		return v
	}
	a := &s.maxsimArgs
	a.Doc, a.DocOff, a.Normalize = s.c.doc, s.c.docOff, s.c.opts.Normalize
	a.Query = view(t, tq, int64(s.c.dim))
	off := view(backend.I64, nq+1)
	a.Score = view(backend.F32, nq, nd)
	b := &s.topkArgs
	b.Score = a.Score
	b.Value = view(backend.F32, nq, k)
	b.Index = view(backend.I32, nq, k)
	if err != nil {
		return err
	}
	s.staging = newStaging(t, tq*int64(s.c.dim))
	return s.prepare(off, tq)
}

func (s *Scorer) prepare(off backend.View, tq int64) (err error) {
	// The largest call: one query with every token, as geometry sees it.
	s.maxsimArgs.QueryOff = kernel.DeviceOffsets(off, tq, tq)
	var opts []kernel.Option
	if s.c.opts.Variant != "" {
		opts = append(opts, kernel.WithVariant(s.c.opts.Variant))
	}
	if s.maxsim, err = kernels.MaxSim.Prepare(s.stream, &s.maxsimArgs, opts...); err != nil {
		return err
	}
	if s.limits.K > 0 {
		s.topk, err = kernels.TopK.Prepare(s.stream, &s.topkArgs)
	}
	return err
}

// Variant names the maxsim variant that was chosen.
func (s *Scorer) Variant() string { return s.maxsim.Variant() }

// Score writes the score of every query against every document to dst, query by query:
// len(dst) is queries times documents.
func (s *Scorer) Score(queries Tokens, dst []float32) error {
	nq, err := s.launch(queries)
	if err != nil {
		return err
	}
	if want := nq * s.c.Len(); len(dst) != want {
		return fmt.Errorf("plaid: scores of %d queries and %d documents need %d elements, got %d: %w", nq, s.c.Len(), want, len(dst), backend.ErrArgument)
	}
	if err := s.stream.Download(bytesOf(dst), s.maxsimArgs.Score.Buf, 0); err != nil {
		return err
	}
	return s.stream.Sync()
}

// TopK writes the k best documents of each query, best first, to ids and their scores to
// scores: queries times k elements each. Documents without tokens come after all others
// with score −∞. k is at most the number of documents and the scorer's limit.
func (s *Scorer) TopK(queries Tokens, k int, ids []int32, scores []float32) error {
	if k < 1 || k > s.limits.K {
		return fmt.Errorf("plaid: k is %d, want 1 to %d: %w", k, s.limits.K, backend.ErrArgument)
	}
	nq, err := s.launch(queries)
	if err != nil {
		return err
	}
	if len(ids) != nq*k || len(scores) != nq*k {
		return fmt.Errorf("plaid: results of %d queries at k %d need %d elements, got %d ids and %d scores: %w",
			nq, k, nq*k, len(ids), len(scores), backend.ErrArgument)
	}
	b := &s.topkArgs
	b.Score = s.maxsimArgs.Score
	b.Value.Dims[0], b.Value.Dims[1] = int64(nq), int64(k)
	b.Index.Dims[0], b.Index.Dims[1] = int64(nq), int64(k)
	if err := s.topk.Launch(b); err != nil {
		return err
	}
	if err := s.stream.Download(bytesOf(scores), b.Value.Buf, 0); err != nil {
		return err
	}
	if err := s.stream.Download(bytesOf(ids), b.Index.Buf, 0); err != nil {
		return err
	}
	return s.stream.Sync()
}

// launch checks and uploads the queries and enqueues maxsim.
func (s *Scorer) launch(q Tokens) (int, error) {
	switch {
	case s.closed:
		return 0, errClosed("scorer")
	case s.c.closed.Load():
		return 0, errClosed("corpus")
	}
	rows, _, err := q.check("queries")
	if err != nil {
		return 0, err
	}
	nq := q.Len()
	if q.Dim != s.c.dim {
		return 0, fmt.Errorf("plaid: queries have %d components, documents %d: %w", q.Dim, s.c.dim, backend.ErrArgument)
	}
	if nq > s.limits.Queries || rows > int64(s.limits.Tokens) {
		return 0, fmt.Errorf("plaid: %d queries of %d tokens, the scorer takes %d of %d: %w", nq, rows, s.limits.Queries, s.limits.Tokens, backend.ErrArgument)
	}
	a := &s.maxsimArgs
	if err := upload(s.stream, a.Query.Buf, s.c.opts.DType, q.Vectors, s.staging); err != nil {
		return 0, err
	}
	if a.QueryOff, err = kernel.NewOffsets(s.stream, a.QueryOff.View.Buf, q.Offsets); err != nil {
		return 0, err
	}
	a.Query.Dims[0], a.Score.Dims[0] = rows, int64(nq)
	return nq, s.maxsim.Launch(a)
}

// bytesOf views little-endian results as bytes.
func bytesOf[T float32 | int32](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*4)
}

// Close frees the scorer's device memory.
func (s *Scorer) Close() error {
	if s.closed {
		return errClosed("scorer")
	}
	s.closed = true
	return s.release()
}

func (s *Scorer) release() error {
	var errs []error
	if s.maxsim != nil {
		errs = append(errs, s.maxsim.Close())
	}
	if s.topk != nil {
		errs = append(errs, s.topk.Close())
	}
	for _, b := range s.buffers {
		errs = append(errs, b.Free())
	}
	if s.stream != nil {
		errs = append(errs, s.stream.Close())
	}
	return errors.Join(errs...)
}

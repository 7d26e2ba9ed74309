package plaid

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

var (
	// ErrID reports ids that name no document of the index; it is wrapped by *IDError.
	ErrID = errors.New("no such document")
	// ErrQuery reports a query that has no score: a component that is not finite, or one so
	// large that scores have no scale. It is wrapped by *QueryError.
	ErrQuery = errors.New("query without a score")
)

// IDError lists ids that name no document, at most the first ten.
type IDError struct {
	IDs   []int64
	Count int // of all such ids
}

func (e *IDError) Error() string {
	more := ""
	if e.Count > len(e.IDs) {
		more = fmt.Sprintf(" and %d more", e.Count-len(e.IDs))
	}
	return fmt.Sprintf("plaid: filter: ids %v%s: %v", e.IDs, more, ErrID)
}

// Unwrap makes it an ErrID and a wrong argument.
func (e *IDError) Unwrap() []error { return []error{ErrID, backend.ErrArgument} }

// QueryError names the first component of a query that makes it unusable.
type QueryError struct {
	Query, Token, Component int
	Value                   float32
}

func (e *QueryError) Error() string {
	return fmt.Sprintf("plaid: query %d: token %d, component %d is %v: %v", e.Query, e.Token, e.Component, e.Value, ErrQuery)
}

// Unwrap makes it an ErrQuery and a wrong argument.
func (e *QueryError) Unwrap() []error { return []error{ErrQuery, backend.ErrArgument} }

// LoadOptions say how an index is held.
type LoadOptions struct {
	// Scratch is the device memory that one searcher may use, in bytes. 0 is 512 MiB, or, if
	// that is more, a thirty-second of what a device with memory of its own has left beside
	// the index: a batch of 64 queries among a million documents needs 2 GiB. A batch that
	// needs more than Scratch runs in parts; one query takes what it needs. Results do not
	// depend on it.
	Scratch int64
	// Screen chooses the arithmetic that sorts out documents before exact scores, "" for
	// the one that is fastest here. Results do not depend on it.
	Screen Screen
	// Share leaves the payload of a snapshot of package store in its mappings, where the
	// device works on memory of the process (backend.MemoryWrapper): opening copies nothing,
	// and pages are read when they are searched. The snapshot must stay open until the index
	// is closed, and its files whole meanwhile: while a file that is cut short is an error
	// that names it otherwise, here it ends the process.
	Share bool
	// Fallback, unless nil, lets kernels that the device lacks run on the host, and counts
	// them.
	Fallback *kernel.Fallback
}

// Index is an index in device memory: codes, residuals, inverse norms, inverted lists and
// centroids. It is immutable and safe for concurrent use; each goroutine searches with a
// [Searcher] of its own. Close it after its searchers.
type Index struct {
	dev  backend.Device
	opts LoadOptions

	dim, bits, k int
	tokens       int64
	offsets      []int64 // N+1
	ids          []int64 // ascending; nil = positions
	docs         []int32 // positions that may be returned: with tokens, not deleted; ascending
	words        []uint32
	liveTokens   int64 // of docs
	centroids    []float32
	weights      []float32
	normalized   bool

	centroidNorm float64 // the largest
	tokenNorm    float64 // no reconstructed token is longer
	invMax       float32
	cells        cellStats

	mem     deviceIndex
	screens screens
	radius  radii
	closed  atomic.Bool

	mu      sync.Mutex // of what follows
	buffers []backend.Buffer
	shared  int64 // bytes in the snapshot's mappings
}

// deviceIndex are the index's operands.
type deviceIndex struct {
	centroid, weight, code, packed, invNorm backend.View
	listDoc, allowed                        backend.View // allowed is absent where every document is
	docOff, listOff                         kernel.Offsets
}

// cellStats describe inverted lists for the cost model.
type cellStats struct {
	entries int64   // of all lists
	sizable float64 // mean length of the list of a random entry: cells that are hit are the long ones
}

// Load checks an index and copies it to a device. src is read once and not kept: it may be
// any layout that package format opens, an index in memory, or a snapshot of package store,
// whose ids, deleted documents, norms and lists are taken over. Documents of other sources
// are named by their position, and their norms and lists are computed, so that what a search
// returns follows from codes and residuals alone.
//
// It fails with the errors of reading src, with backend.ErrArgument for one that
// contradicts itself, and with *backend.AllocError.
func Load(dev backend.Device, src format.Source, o LoadOptions) (*Index, error) {
	ix := &Index{dev: dev, opts: o, dim: src.Dim(), bits: src.Bits(), k: src.K(), normalized: true}
	if o.Scratch < 0 {
		return nil, fmt.Errorf("plaid: %d bytes of scratch: %w", o.Scratch, backend.ErrArgument)
	}
	switch o.Screen {
	case ScreenAuto, ScreenNone, ScreenInt8, ScreenF16:
	default:
		return nil, fmt.Errorf("plaid: screen %q, want none, int8 or f16: %w", o.Screen, backend.ErrArgument)
	}
	if n, ok := src.(interface{ Normalized() bool }); ok {
		ix.normalized = n.Normalized()
	}
	load := func() error {
		if err := ix.describe(src); err != nil {
			return err
		}
		return ix.upload(src)
	}
	if err := format.Guard(src, load); err != nil {
		return nil, errors.Join(err, ix.free())
	}
	if ix.opts.Scratch == 0 {
		ix.opts.Scratch = ix.defaultScratch()
	}
	return ix, nil
}

// defaultScratch is LoadOptions.Scratch where it is 0.
func (ix *Index) defaultScratch() int64 {
	const least, share = 512 << 20, 32
	if _, host := ix.mem.weight.Buf.(backend.HostMapped); host {
		return least
	}
	m := ix.dev.Memory()
	all := m.Total
	if m.Budget > 0 {
		all = min(all, m.Budget)
	}
	return max(least, (all-m.Live)/share)
}

// describe takes over and checks what is held in main memory.
func (ix *Index) describe(src format.Source) error {
	if _, err := codec.RowBytes(ix.dim, ix.bits); err != nil {
		return fmt.Errorf("plaid: index: %w: %w", err, backend.ErrArgument)
	}
	n, total, _, err := kernel.CheckOffsets(src.Offsets())
	if err != nil {
		return fmt.Errorf("plaid: index: %w", err)
	}
	if n > math.MaxInt32 || ix.k < 1 || int64(ix.k) > math.MaxInt32 {
		return fmt.Errorf("plaid: index: %d documents and %d centroids, each at most %d, and at least one centroid: %w", n, ix.k, math.MaxInt32, backend.ErrArgument)
	}
	ix.offsets, ix.tokens = slices.Clone(src.Offsets()), total
	ix.centroids, ix.weights = src.Centroids(), slices.Clone(src.Weights())
	if !ix.opts.Share {
		ix.centroids = slices.Clone(ix.centroids)
	}
	if len(ix.centroids) != ix.k*ix.dim || len(ix.weights) != 1<<ix.bits {
		return fmt.Errorf("plaid: index: %d values of centroids and %d weights, want %d and %d: %w",
			len(ix.centroids), len(ix.weights), ix.k*ix.dim, 1<<ix.bits, backend.ErrArgument)
	}
	weightNorm := 0.0
	for _, w := range ix.weights {
		weightNorm = max(weightNorm, math.Abs(float64(w)))
	}
	norms := make([]float64, ix.k) // of so many parts at most
	if err := eachPart(ix.k, func(part, lo, hi int) error {
		norms[part] = maxNorm(ix.centroids[lo*ix.dim:hi*ix.dim], ix.dim)
		return nil
	}); err != nil {
		return err
	}
	ix.centroidNorm = slices.Max(norms) // NaN if one is
	weightNorm *= math.Sqrt(float64(ix.dim))
	if s := ix.centroidNorm + weightNorm; !(s <= math.MaxFloat32) {
		return fmt.Errorf("plaid: index: norms of centroids and weights add up to %v: %w", s, backend.ErrArgument)
	}
	// One ulp for every rounding on the way, and one to spare.
	slack := 1 + float64(ix.dim+16)*0x1p-23
	if ix.tokenNorm = slack; !ix.normalized {
		ix.tokenNorm = (ix.centroidNorm + weightNorm) * slack
	}
	return ix.takeIDs(src)
}

// Len is the number of documents, deleted and empty ones included.
func (ix *Index) Len() int { return len(ix.offsets) - 1 }

// Searchable is the number of documents that can be returned: with tokens and not deleted.
func (ix *Index) Searchable() int { return len(ix.docs) }

// Tokens is the number of document tokens.
func (ix *Index) Tokens() int64 { return ix.tokens }

// Dim is the components of a token, Bits the residual bits of one, K the centroids.
func (ix *Index) Dim() int { return ix.dim }

// Bits is the residual bits of a component.
func (ix *Index) Bits() int { return ix.bits }

// K is the number of centroids.
func (ix *Index) K() int { return ix.k }

// TokenNorm is a bound of the L2 norms of reconstructed tokens: with it, canon.NewQuery
// gives the scale of this index's scores.
func (ix *Index) TokenNorm() float64 { return ix.tokenNorm }

// Bytes is the memory of the index's operands, without its searchers, what it shares with a
// snapshot included; 0 after Close.
func (ix *Index) Bytes() int64 {
	if ix.closed.Load() {
		return 0
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	n := ix.shared
	for _, b := range ix.buffers {
		n += b.Len()
	}
	return n
}

// Close frees the device memory. A searcher used after it answers ErrClosed.
func (ix *Index) Close() error {
	if ix.closed.Swap(true) {
		return errClosed("index")
	}
	return ix.free()
}

func (ix *Index) free() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var errs []error
	for _, b := range ix.buffers {
		errs = append(errs, b.Free())
	}
	ix.buffers = nil
	return errors.Join(errs...)
}

// scale is the fixed point of a sum over n query tokens, the longest of norm long, of dot
// products with vectors up to bound, as canon.NewQuery has it.
func scale(n int64, norm float64, dim int, bound float64) (canon.Scale, error) {
	m := norm * bound
	m = float64(m*(1+float64(dim)*0x1p-23)) + float64(dim)*0x1p-149
	return canon.NewScale(n, m)
}

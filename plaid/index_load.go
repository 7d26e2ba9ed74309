package plaid

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

// loadBlock is how many tokens are in main memory at a time while an index is loaded.
const loadBlock = 1 << 16

// raw views values as bytes; this contract's byte order is little-endian everywhere.
func raw[T float32 | int32 | uint32 | ~int64 | int8 | uint8 | uint16](x []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(t)))
}

// alloc waits for a searcher elsewhere that records a graph: devices refuse memory
// meanwhile, for the microseconds that it takes.
func alloc(dev backend.Device, n int64) (backend.Buffer, error) {
	for {
		b, err := dev.Alloc(n)
		if !errors.Is(err, backend.ErrCapturing) {
			return b, err
		}
		runtime.Gosched()
	}
}

// hold allocates a view that lives as long as the index.
func (ix *Index) hold(t backend.DType, dims ...int64) (backend.View, error) {
	v := backend.NewView(nil, 0, t, dims...)
	b, err := alloc(ix.dev, v.Bytes())
	if err != nil {
		return v, err
	}
	ix.own(b)
	v.Buf = b
	return v, nil
}

func (ix *Index) own(b backend.Buffer) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.buffers = append(ix.buffers, b)
}

// sharer is the device's way to work on a store's mappings, nil where it has none or the
// caller does not want it.
func (ix *Index) sharer(src format.Source) backend.MemoryWrapper {
	if _, ok := src.(stored); !ok || !ix.opts.Share {
		return nil
	}
	w, _ := ix.dev.(backend.MemoryWrapper)
	return w
}

// share makes values operands where they are.
func share[T float32 | int32 | int64 | uint8](ix *Index, w backend.MemoryWrapper, t backend.DType, x []T, dims ...int64) (backend.View, error) {
	v := backend.NewView(nil, 0, t, dims...)
	b, err := w.Wrap(raw(x))
	if err != nil {
		return v, err
	}
	ix.own(b)
	ix.shared += b.Len()
	v.Buf = b
	return v, nil
}

// put holds values.
func put[T float32 | int32 | uint32 | int64 | int8 | uint16](ix *Index, s backend.Stream, t backend.DType, x []T, dims ...int64) (backend.View, error) {
	v, err := ix.hold(t, dims...)
	if err != nil {
		return v, err
	}
	return v, s.Upload(v.Buf, 0, raw(x))
}

func (ix *Index) holdOffsets(s backend.Stream, off []int64) (kernel.Offsets, error) {
	v, err := ix.hold(backend.I64, int64(len(off)))
	if err != nil {
		return kernel.Offsets{}, err
	}
	return kernel.NewOffsets(s, v.Buf, off)
}

func (ix *Index) upload(src format.Source) (err error) {
	s, err := ix.dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m := &ix.mem
	if w := ix.sharer(src); w != nil {
		m.centroid, err = share(ix, w, backend.F32, ix.centroids, int64(ix.k), int64(ix.dim))
	} else {
		m.centroid, err = put(ix, s, backend.F32, ix.centroids, int64(ix.k), int64(ix.dim))
	}
	if err != nil {
		return err
	}
	if m.weight, err = put(ix, s, backend.F32, ix.weights, int64(len(ix.weights))); err != nil {
		return err
	}
	if m.docOff, err = ix.holdOffsets(s, ix.offsets); err != nil {
		return err
	}
	if len(ix.docs) < ix.Len() {
		if m.allowed, err = put(ix, s, backend.I32, ix.words, int64(len(ix.words))); err != nil {
			return err
		}
	}
	if err = ix.uploadLists(s, src); err != nil {
		return err
	}
	if err = ix.uploadTokens(s, src); err != nil {
		return err
	}
	return s.Sync()
}

func (ix *Index) uploadLists(s backend.Stream, src format.Source) error {
	lists, err := listsOf(src)
	if err != nil {
		return err
	}
	square := 0.0
	for c := range ix.k {
		n := float64(lists.Offsets[c+1] - lists.Offsets[c])
		square += n * n
	}
	ix.cells.entries = int64(len(lists.Documents))
	ix.cells.sizable = square / max(float64(ix.cells.entries), 1)
	if ix.mem.listOff, err = ix.holdOffsets(s, lists.Offsets); err != nil {
		return err
	}
	if w := ix.sharer(src); w != nil {
		ix.mem.listDoc, err = share(ix, w, backend.I32, lists.Documents, int64(len(lists.Documents)))
	} else {
		ix.mem.listDoc, err = put(ix, s, backend.I32, lists.Documents, int64(len(lists.Documents)))
	}
	return err
}

// uploadTokens copies codes, residuals and inverse norms, a block at a time.
func (ix *Index) uploadTokens(s backend.Stream, src format.Source) (err error) {
	row := int64(ix.dim * ix.bits / 8)
	if w := ix.sharer(src); w != nil {
		return ix.shareTokens(w, src.(stored))
	}
	m := &ix.mem
	if m.code, err = ix.hold(backend.I32, ix.tokens); err != nil {
		return err
	}
	if m.packed, err = ix.hold(backend.U8, ix.tokens, row); err != nil {
		return err
	}
	if ix.normalized {
		if m.invNorm, err = ix.hold(backend.F32, ix.tokens); err != nil {
			return err
		}
	}
	read, err := ix.reader(src)
	if err != nil {
		return err
	}
	for from := int64(0); from < ix.tokens; from += loadBlock {
		b, err := read(from, min(loadBlock, ix.tokens-from))
		if err != nil {
			return err
		}
		if err := errors.Join(s.Upload(m.code.Buf, from*4, raw(b.codes)), s.Upload(m.packed.Buf, from*row, b.rows)); err != nil {
			return err
		}
		if !ix.normalized {
			continue
		}
		if err := s.Upload(m.invNorm.Buf, from*4, raw(b.inv)); err != nil {
			return err
		}
	}
	return nil
}

// shareTokens is uploadTokens without a copy.
func (ix *Index) shareTokens(w backend.MemoryWrapper, st stored) (err error) {
	m, row := &ix.mem, int64(ix.dim*ix.bits/8)
	if err := ix.checkPayload(st); err != nil {
		return err
	}
	if m.code, err = share(ix, w, backend.I32, st.Codes(), ix.tokens); err != nil {
		return err
	}
	if m.packed, err = share(ix, w, backend.U8, st.Residuals(), ix.tokens, row); err != nil {
		return err
	}
	m.invNorm, err = share(ix, w, backend.F32, st.InvNorms(), ix.tokens)
	return err
}

// checkPayload refuses a store whose arrays do not fit its offsets.
func (ix *Index) checkPayload(st stored) error {
	codes, rows, inv := int64(len(st.Codes())), int64(len(st.Residuals())), int64(len(st.InvNorms()))
	if codes != ix.tokens || rows != ix.tokens*int64(ix.dim*ix.bits/8) || inv != ix.tokens {
		return fmt.Errorf("plaid: index: %d codes, %d bytes of residuals and %d norms for %d tokens: %w", codes, rows, inv, ix.tokens, backend.ErrArgument)
	}
	return nil
}

// block is the payload of a run of tokens.
type block struct {
	codes []int32
	rows  []byte
	inv   []float32
}

// reader gives n tokens from one on: a store's mappings as they are, with their norms; of
// another source copies, with norms computed.
func (ix *Index) reader(src format.Source) (func(from, n int64) (block, error), error) {
	row := int64(ix.dim * ix.bits / 8)
	if st, ok := src.(stored); ok {
		if err := ix.checkPayload(st); err != nil {
			return nil, err
		}
		codes, rows, inv := st.Codes(), st.Residuals(), st.InvNorms()
		return func(from, n int64) (block, error) {
			return block{codes[from : from+n], rows[from*row : (from+n)*row], inv[from : from+n]}, nil
		}, nil
	}
	dec, err := codec.NewDecoder(ix.centroids, ix.dim, ix.bits, ix.weights)
	if err != nil {
		return nil, err
	}
	most := min(ix.tokens, loadBlock)
	own := block{make([]int32, most), make([]byte, most*row), make([]float32, most)}
	return func(from, n int64) (block, error) {
		b := block{own.codes[:n], own.rows[:n*row], own.inv[:n]}
		if err := src.ReadCodes(b.codes, from); err != nil {
			return b, err
		}
		if err := src.ReadResiduals(b.rows, from); err != nil || !ix.normalized {
			return b, err
		}
		return b, ix.invNorms(dec, &b)
	}, nil
}

// invNorms fills the norms of a block from its codes and residuals.
func (ix *Index) invNorms(dec *codec.Decoder, b *block) error {
	row := ix.dim * ix.bits / 8
	return eachPart(len(b.codes), func(_, lo, hi int) error {
		v := make([]float32, ix.dim)
		for i := lo; i < hi; i++ {
			var err error
			if b.inv[i], err = dec.InvNorm(v, int64(b.codes[i]), b.rows[i*row:(i+1)*row]); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPart cuts n items in one part for each processor and waits.
func eachPart(n int, body func(part, lo, hi int) error) error {
	parts := max(min(runtime.GOMAXPROCS(0), n), 1)
	errs := make([]error, parts)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[p] = body(p, n*p/parts, n*(p+1)/parts)
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

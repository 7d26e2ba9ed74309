package plaid

import (
	"errors"
	"runtime"
	"slices"
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
func raw[T float32 | int32 | uint32 | int64 | int8 | uint16](x []T) []byte {
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
	ix.buffers = append(ix.buffers, b)
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
	if m.centroid, err = put(ix, s, backend.F32, ix.centroids, int64(ix.k), int64(ix.dim)); err != nil {
		return err
	}
	if m.weight, err = put(ix, s, backend.F32, ix.weights, int64(len(ix.weights))); err != nil {
		return err
	}
	if err = ix.uploadScreens(s); err != nil {
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
	ix.mem.listDoc, err = put(ix, s, backend.I32, lists.Documents, int64(len(lists.Documents)))
	return err
}

// uploadTokens copies codes, residuals and inverse norms, a block at a time.
func (ix *Index) uploadTokens(s backend.Stream, src format.Source) (err error) {
	row := int64(ix.dim * ix.bits / 8)
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
	norms, err := ix.normReader(src)
	if err != nil {
		return err
	}
	n := min(ix.tokens, loadBlock)
	codes, rows, inv := make([]int32, n), make([]byte, n*row), make([]float32, n)
	ix.invMax = 1
	for from := int64(0); from < ix.tokens; from += n {
		n := min(n, ix.tokens-from)
		codes, rows, inv := codes[:n], rows[:n*row], inv[:n]
		if err := src.ReadCodes(codes, from); err != nil {
			return err
		}
		if err := src.ReadResiduals(rows, from); err != nil {
			return err
		}
		if err := errors.Join(s.Upload(m.code.Buf, from*4, raw(codes)), s.Upload(m.packed.Buf, from*row, rows)); err != nil {
			return err
		}
		if !ix.normalized {
			continue
		}
		if err := norms(inv, codes, rows, from); err != nil {
			return err
		}
		ix.invMax = max(ix.invMax, slices.Max(inv))
		if err := s.Upload(m.invNorm.Buf, from*4, raw(inv)); err != nil {
			return err
		}
	}
	return nil
}

// normReader fills inverse norms of a block: stored ones of a source that keeps canonical
// norms, else computed.
func (ix *Index) normReader(src format.Source) (func(dst []float32, codes []int32, rows []byte, from int64) error, error) {
	if st, ok := src.(stored); ok {
		return func(dst []float32, _ []int32, _ []byte, from int64) error {
			copy(dst, st.InvNorms()[from:])
			return nil
		}, nil
	}
	dec, err := codec.NewDecoder(ix.centroids, ix.dim, ix.bits, ix.weights)
	if err != nil {
		return nil, err
	}
	return func(dst []float32, codes []int32, rows []byte, _ int64) error {
		row := len(rows) / len(codes)
		return eachPart(len(codes), func(_, lo, hi int) error {
			v := make([]float32, ix.dim)
			for i := lo; i < hi; i++ {
				var err error
				if dst[i], err = dec.InvNorm(v, int64(codes[i]), rows[i*row:(i+1)*row]); err != nil {
					return err
				}
			}
			return nil
		})
	}, nil
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

package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/internal/npy"
)

// file is an open file of an index, read at positions.
type file struct {
	path     string
	f        *os.File
	size     int64 // when it was opened
	modified time.Time
}

// openFile opens a regular file; symbolic links are followed. A file of another kind is an
// error before it is opened, since opening a pipe would wait for its writer.
func openFile(dir, name string) (*file, error) {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{File: path, Byte: -1, Element: -1, Err: fmt.Errorf("%w: %w", ErrMissing, err)}
	case err != nil:
		return nil, fail(path, err)
	case !info.Mode().IsRegular():
		return nil, corrupt(path, "%s, want a regular file", info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fail(path, err)
	}
	if info, err = f.Stat(); err != nil { // may be another file than a moment ago
		return nil, errors.Join(fail(path, err), f.Close())
	}
	return &file{path: path, f: f, size: info.Size(), modified: info.ModTime()}, nil
}

// readAt fills dst from position off. What was there when the file was opened and is no
// more gives ErrChanged.
func (f *file) readAt(dst []byte, off int64) error {
	n, err := f.f.ReadAt(dst, off)
	switch {
	case n == len(dst):
		return nil
	case errors.Is(err, io.EOF):
		kind := ErrCorrupt
		if off+int64(len(dst)) <= f.size {
			kind = ErrChanged
		}
		return &Error{File: f.path, Byte: off + int64(n), Element: -1,
			Err: because(kind, "ends here, %d bytes of %d wanted", n, len(dst))}
	case errors.Is(err, os.ErrClosed):
		return fail(f.path, ErrClosed)
	}
	return fail(f.path, err)
}

// readSmall reads a whole file of at most limit bytes.
func readSmall(dir, name string, limit int64) ([]byte, error) {
	f, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.f.Close()
	if f.size > limit {
		return nil, corrupt(f.path, "%d bytes, limit %d", f.size, limit)
	}
	text := make([]byte, f.size)
	if err := f.readAt(text, 0); err != nil {
		return nil, err
	}
	return text, nil
}

// tensor is a dense little-endian array inside a file.
type tensor struct {
	*file
	dtype string // as in package npy
	shape []int
	at    int64 // position of the first element; any alignment
}

var itemSize = map[string]int{"i1": 1, "u1": 1, "i2": 2, "f2": 2, "i4": 4, "f4": 4, "i8": 8, "f8": 8}

func (t *tensor) item() int { return itemSize[t.dtype] }

func (t *tensor) len() int64 {
	n := int64(1)
	for _, d := range t.shape {
		n *= int64(d)
	}
	return n
}

// rows is the length of the first axis, 1 for a scalar.
func (t *tensor) rows() int64 {
	if len(t.shape) == 0 {
		return 1
	}
	return int64(t.shape[0])
}

// openArray opens a .npy file and requires that the data end with the file.
func openArray(dir, name string) (*tensor, error) {
	f, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	t, err := arrayOf(f)
	if err != nil {
		return nil, errors.Join(err, f.f.Close())
	}
	return t, nil
}

func arrayOf(f *file) (*tensor, error) {
	h, err := npy.ReadHeader(io.NewSectionReader(f.f, 0, f.size))
	if err != nil {
		return nil, fail(f.path, npyError(err))
	}
	n, err := h.Bytes()
	if err != nil {
		return nil, fail(f.path, npyError(err))
	}
	if n != f.size-h.Offset {
		return nil, &Error{File: f.path, Byte: min(f.size, h.Offset+n), Element: -1,
			Err: because(ErrCorrupt, "%d bytes of data, shape %v of %s has %d", f.size-h.Offset, h.Shape, h.DType, n)}
	}
	if itemSize[h.DType] == 0 {
		return nil, corrupt(f.path, "type %s", h.DType)
	}
	return &tensor{file: f, dtype: h.DType, shape: h.Shape, at: h.Offset}, nil
}

// npyError makes a format error of the reader ours, and passes failures of the system on.
func npyError(err error) error {
	if e := (*npy.FormatError)(nil); errors.As(err, &e) {
		return because(ErrCorrupt, "%s", e.Reason)
	}
	return err
}

// want checks type and rank; kinds are the first letters of accepted types ("f", "iu").
func (t *tensor) want(kinds string, rank int) error {
	ok := len(t.shape) == rank
	for i := 0; ok && i <= len(kinds); i++ {
		if ok = i < len(kinds); ok && kinds[i] == t.dtype[0] {
			return nil
		}
	}
	return corrupt(t.path, "shape %v of %s, want %d axes of type %s", t.shape, t.dtype, rank, kinds)
}

const pieceBytes = 64 << 10

// pieces are buffers between files and converted values.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// each reads elements from, from+1, … in pieces: n of them in all.
func (t *tensor) each(from, n int64, take func(piece []byte)) error {
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	item := int64(t.item())
	for n > 0 {
		m := min(n, pieceBytes/item)
		if err := t.readAt(buf[:m*item], t.at+from*item); err != nil {
			return err
		}
		take(buf[:m*item])
		from, n = from+m, n-m
	}
	return nil
}

// floats reads a whole array of floats as float32, f8 rounded; the first value that is not
// finite is an error.
func (t *tensor) floats() ([]float32, error) {
	out := make([]float32, t.len())
	at, bad := 0, false
	err := t.each(0, int64(len(out)), func(piece []byte) {
		dst := out[at : at+len(piece)/t.item()]
		at += len(dst)
		switch t.dtype {
		case "f2":
			bad = halves(dst, piece) || bad
		case "f4":
			for i := range dst {
				v := math.Float32frombits(binary.LittleEndian.Uint32(piece[4*i:]))
				bad = bad || v-v != 0
				dst[i] = v
			}
		case "f8":
			for i := range dst {
				v := float32(math.Float64frombits(binary.LittleEndian.Uint64(piece[8*i:])))
				bad = bad || v-v != 0
				dst[i] = v
			}
		}
	})
	if err != nil || !bad {
		return out, err
	}
	for i, v := range out {
		if v-v != 0 {
			return nil, corruptAt(t.path, int64(i), "%v", v)
		}
	}
	return out, nil
}

// halves widens f2 and reports whether one is not finite. It is the bulk of opening a large
// index, whose centroids are millions of halves; package num checks each value on its own.
func halves(dst []float32, src []byte) bool {
	var overflow uint32
	for i := range dst {
		h := uint32(binary.LittleEndian.Uint16(src[2*i:]))
		abs := h & 0x7fff
		overflow |= abs + 0x0400 // reaches bit 15 from the exponent of infinity on
		// The exponent bias differs by 112; the product is exact for subnormals, too.
		v := math.Float32frombits(abs<<13) * 0x1p112
		dst[i] = math.Float32frombits(math.Float32bits(v) | h>>15<<31)
	}
	if overflow>>15 == 0 {
		return false
	}
	num.F16.Decode32(dst, src)
	return true
}

// integers reads len(dst) integers from element from on.
func (t *tensor) integers(dst []int64, from int64) error {
	at := 0
	return t.each(from, int64(len(dst)), func(piece []byte) {
		switch t.dtype {
		case "i8":
			for ; len(piece) > 0; piece, at = piece[8:], at+1 {
				dst[at] = int64(binary.LittleEndian.Uint64(piece))
			}
		case "i4":
			for ; len(piece) > 0; piece, at = piece[4:], at+1 {
				dst[at] = int64(int32(binary.LittleEndian.Uint32(piece)))
			}
		case "i2":
			for ; len(piece) > 0; piece, at = piece[2:], at+1 {
				dst[at] = int64(int16(binary.LittleEndian.Uint16(piece)))
			}
		case "i1":
			for ; len(piece) > 0; piece, at = piece[1:], at+1 {
				dst[at] = int64(int8(piece[0]))
			}
		case "u1":
			for ; len(piece) > 0; piece, at = piece[1:], at+1 {
				dst[at] = int64(piece[0])
			}
		}
	})
}

// bounded reads len(dst) integers as int32 and requires each to be from 0 to below limit.
func (t *tensor) bounded(dst []int32, from, limit int64, what string) error {
	at, bad, value := int64(0), int64(-1), int64(0)
	put := func(v int64) {
		if uint64(v) >= uint64(limit) && bad < 0 {
			bad, value = at, v
		}
		dst[at] = int32(v)
		at++
	}
	err := t.each(from, int64(len(dst)), func(piece []byte) {
		switch t.dtype {
		case "i8":
			for ; len(piece) > 0; piece = piece[8:] {
				put(int64(binary.LittleEndian.Uint64(piece)))
			}
		case "i4":
			for ; len(piece) > 0; piece = piece[4:] {
				put(int64(int32(binary.LittleEndian.Uint32(piece))))
			}
		}
	})
	if err == nil && bad >= 0 {
		return corruptAt(t.path, from+bad, "%s %d of %d", what, value, limit)
	}
	return err
}

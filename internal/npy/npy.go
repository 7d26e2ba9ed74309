// Package npy reads and writes NumPy's .npy files: one dense, row-major, little-endian array
// of numbers, with a header of version 1, 2 or 3. Everything else (Fortran
// order, big-endian, strings, structures, pickled objects) is refused with a
// [FormatError]; no input makes it panic or allocate more than it delivers.
// [ReadHeader] stops before the data, for files that are read in parts, and
// [AppendHeader] writes a header as one of several programs would ([Dialect]).
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Array is one array as stored.
type Array struct {
	DType string // NumPy's spelling without byte order: "f8", "i4", "u1", "b1"
	Shape []int  // empty for a scalar
	Data  []byte // row-major, little-endian, Len()*Size() bytes
}

// FormatError says why a file is not an array this package reads.
type FormatError struct {
	File   string // empty when read from a stream
	Reason string
}

func (e *FormatError) Error() string {
	if e.File == "" {
		return "npy: " + e.Reason
	}
	return "npy: " + e.File + ": " + e.Reason
}

func formatError(format string, args ...any) error {
	return &FormatError{Reason: fmt.Sprintf(format, args...)}
}

// itemSize is the size in bytes of each supported type.
var itemSize = map[string]int{
	"b1": 1, "i1": 1, "u1": 1, "i2": 2, "u2": 2, "f2": 2,
	"i4": 4, "u4": 4, "f4": 4, "i8": 8, "u8": 8, "f8": 8,
}

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the header's text; NumPy writes about 100 bytes and refuses
	// to evaluate more than 10,000.
	maxHeader = 1 << 16
	// chunk is read at a time, so that a header that promises more than the file
	// holds costs no memory.
	chunk = 1 << 20
)

// ReadFile reads the array in the named file. Errors other than those of the file
// system are [FormatError]s that carry the name.
func ReadFile(name string) (*Array, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	a, err := Read(f)
	if fe := (*FormatError)(nil); errors.As(err, &fe) {
		return nil, &FormatError{File: name, Reason: fe.Reason}
	}
	return a, err
}

// Read reads one array that ends where r ends.
func Read(r io.Reader) (*Array, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	n, err := h.Bytes()
	if err != nil {
		return nil, err
	}
	data, err := readData(r, n)
	if err != nil {
		return nil, err
	}
	return &Array{DType: h.DType, Shape: h.Shape, Data: data}, nil
}

// Header is what a file says about the array that follows.
type Header struct {
	DType  string // as in [Array], or [Object]
	Shape  []int  // empty for a scalar
	Offset int64  // bytes before the first element, whatever its alignment
}

// Object is the type of an array of pickled Python objects. No function of this package
// reads one; a header that says so is legal.
const Object = "O"

// ReadHeader reads up to the first element and no further.
func ReadHeader(r io.Reader) (Header, error) {
	text, offset, err := readHeader(r)
	if err != nil {
		return Header{}, err
	}
	h, err := parseHeader(text)
	switch {
	case err != nil:
		return Header{}, err
	case h.fortran:
		return Header{}, formatError("array of shape %v is in fortran order, want row-major (C order)", h.shape)
	case itemSize[h.dtype] == 0 && h.descr != "|O":
		return Header{}, formatError("unsupported type %q", h.descr)
	}
	return Header{DType: h.dtype, Shape: h.shape, Offset: offset}, nil
}

// ItemSize is the size of an element in bytes, 0 for [Object].
func (h Header) ItemSize() int { return itemSize[h.DType] }

// Len is the number of elements: of a header that [Header.Bytes] accepts, or of [Object].
func (h Header) Len() int64 {
	n := int64(1)
	for _, d := range h.Shape {
		n *= int64(d)
	}
	return n
}

// Bytes is the size of the elements. It fails with a [FormatError] where it overflows, and
// for [Object].
func (h Header) Bytes() (int64, error) {
	n := int64(h.ItemSize())
	if n == 0 {
		return 0, formatError("unsupported type %q", "|"+h.DType)
	}
	for _, d := range h.Shape {
		if d > 0 && n > math.MaxInt64/int64(d) {
			return 0, formatError("shape %v of %s overflows", h.Shape, h.DType)
		}
		n *= int64(d)
	}
	return n, nil
}

// readHeader returns the header's text and the length of everything before the data.
func readHeader(r io.Reader) (string, int64, error) {
	var start [8]byte
	if n, err := io.ReadFull(r, start[:]); err != nil {
		return "", 0, readError(err, "truncated after %d bytes of the magic", n)
	}
	if string(start[:6]) != magic {
		return "", 0, formatError("magic %q, want %q", start[:6], magic)
	}
	field := 2 // bytes of the header's length
	switch start[6] {
	case 1:
	case 2, 3:
		field = 4
	default:
		return "", 0, formatError("version %d.%d, want 1.0, 2.0 or 3.0", start[6], start[7])
	}
	var b [4]byte
	if _, err := io.ReadFull(r, b[:field]); err != nil {
		return "", 0, readError(err, "truncated header length")
	}
	length := int64(binary.LittleEndian.Uint32(b[:]))
	if length > maxHeader {
		return "", 0, formatError("header of %d bytes, limit %d", length, maxHeader)
	}
	text := make([]byte, length)
	if n, err := io.ReadFull(r, text); err != nil {
		return "", 0, readError(err, "truncated header: %d of %d bytes", n, length)
	}
	return string(text), int64(len(start)+field) + length, nil
}

// readData reads exactly n bytes and requires that r ends there.
func readData(r io.Reader, n int64) ([]byte, error) {
	data := make([]byte, 0, min(n, chunk))
	for int64(len(data)) < n {
		want := min(n-int64(len(data)), chunk)
		start := len(data)
		data = append(data, make([]byte, want)...)
		if m, err := io.ReadFull(r, data[start:]); err != nil {
			return nil, readError(err, "truncated data: %d of %d bytes", int64(start)+int64(m), n)
		}
	}
	var extra [1]byte
	if m, err := io.ReadFull(r, extra[:]); m != 0 {
		return nil, formatError("data continues after the %d bytes of the array", n)
	} else if err != io.EOF {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return data, nil
}

// readError makes a FormatError of an early end and passes other failures on.
func readError(err error, format string, args ...any) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return formatError(format, args...)
	}
	return fmt.Errorf("npy: %w", err)
}

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nlpodyssey/safetensors"

	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/internal/npy"
)

// array is a dense array in a file, read from its start as often as needed.
type array struct {
	file  string // and the name inside it, for errors
	shape []int64
	codec *num.Codec
	open  func() (io.ReadCloser, error) // at the first element
	toEnd bool                          // nothing follows the last element
}

// elementCodecs are the element types that are read, in NumPy's spelling.
var elementCodecs = map[string]*num.Codec{"f8": num.F64, "f4": num.F32, "f2": num.F16, "i1": num.I8, "u1": num.U8, "i4": num.I32, "i8": num.I64}

var tensorCodecs = map[safetensors.DType]*num.Codec{safetensors.F64: num.F64, safetensors.F32: num.F32, safetensors.F16: num.F16,
	safetensors.BF16: num.BF16, safetensors.I8: num.I8, safetensors.U8: num.U8, safetensors.I32: num.I32, safetensors.I64: num.I64}

// openArray finds an array in a .npy, .npz or .safetensors file. name picks one of several;
// wanted are the names taken where there is no name.
func openArray(path, name string, wanted ...string) (*array, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npy":
		if name != "" {
			return nil, usage("%s: a .npy file holds one array, without a name", path)
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() { // it is read from its start several times
			return nil, fmt.Errorf("%s: %s, want a regular file", path, info.Mode().Type())
		}
		return npyArray(path, uint64(info.Size()), func() (io.ReadCloser, error) { return os.Open(path) })
	case ".npz":
		return npzArray(path, name, wanted)
	case ".safetensors":
		return tensorArray(path, name, wanted)
	}
	return nil, usage("%s: want a .npy, .npz or .safetensors file", path)
}

// npyArray reads the header of a .npy file of a size, which has to be that of the shape.
func npyArray(file string, size uint64, open func() (io.ReadCloser, error)) (*array, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h, err := npy.ReadHeader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	n, err := h.Bytes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	a := &array{file: file, codec: elementCodecs[h.DType], toEnd: true}
	if a.codec == nil {
		return nil, fmt.Errorf("%s: elements of type %q are not read", file, h.DType)
	}
	switch want := uint64(h.Offset) + uint64(n); {
	case size < want:
		return nil, fmt.Errorf("%s: ends after %d bytes of data, %d wanted for shape %v of %s: %w", file, int64(size)-h.Offset, n, h.Shape, h.DType, io.ErrUnexpectedEOF)
	case size > want:
		return nil, fmt.Errorf("%s: goes on after %d elements of shape %v", file, h.Len(), h.Shape)
	}
	for _, n := range h.Shape {
		a.shape = append(a.shape, int64(n))
	}
	a.open = func() (io.ReadCloser, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		if _, err := npy.ReadHeader(r); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", file, err), r.Close())
		}
		return r, nil
	}
	return a, nil
}

// choose picks a member by name, or the one of those wanted, or the only one.
func choose(path, name string, wanted, have []string) (string, error) {
	slices.Sort(have)
	if name != "" {
		if !slices.Contains(have, name) {
			return "", usage("%s: no array %q, only %s", path, name, strings.Join(have, ", "))
		}
		return name, nil
	}
	for _, w := range wanted {
		if slices.Contains(have, w) {
			return w, nil
		}
	}
	if len(have) == 1 {
		return have[0], nil
	}
	return "", usage("%s: which of the arrays %s?", path, strings.Join(have, ", "))
}

func npzArray(path, name string, wanted []string) (*array, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	var have []string
	sizes := map[string]uint64{}
	for _, f := range z.File {
		if n, ok := strings.CutSuffix(f.Name, ".npy"); ok {
			if slices.Contains(have, n) { // programs differ in which of the two they take
				return nil, fmt.Errorf("%s: two members %s", path, f.Name)
			}
			have, sizes[n] = append(have, n), f.UncompressedSize64
		}
	}
	if name, err = choose(path, name, wanted, have); err != nil {
		return nil, err
	}
	return npyArray(path+":"+name, sizes[name], func() (io.ReadCloser, error) {
		z, err := zip.OpenReader(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f, err := z.Open(name + ".npy")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), z.Close())
		}
		return &nested{f, z}, nil
	})
}

// nested is a file inside another.
type nested struct {
	io.ReadCloser
	outer io.Closer
}

func (n *nested) Close() error { return errors.Join(n.ReadCloser.Close(), n.outer.Close()) }

// maxTensorHeader bounds what is read before anything is known of a file.
const maxTensorHeader = 64 << 20

func tensorArray(path, name string, wanted []string) (*array, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var length [8]byte
	if _, err := io.ReadFull(f, length[:]); err != nil {
		return nil, fmt.Errorf("%s: header: %w", path, err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxTensorHeader {
		return nil, fmt.Errorf("%s: header of %d bytes, at most %d", path, n, maxTensorHeader)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, fmt.Errorf("%s: header: %w", path, err)
	}
	var meta safetensors.Metadata
	if err := json.Unmarshal(header, &meta); err != nil {
		return nil, fmt.Errorf("%s: header: %w", path, err)
	}
	if twice := repeated(header); twice != "" {
		return nil, fmt.Errorf("%s: two tensors %q", path, twice)
	}
	tensors := meta.Tensors()
	if name, err = choose(path, name, wanted, slices.Collect(maps.Keys(tensors))); err != nil {
		return nil, err
	}
	t := tensors[name]
	a := &array{file: path + ":" + name, codec: tensorCodecs[t.DType]}
	if a.codec == nil {
		return nil, fmt.Errorf("%s: elements of type %v are not read", a.file, t.DType)
	}
	for _, s := range t.Shape {
		a.shape = append(a.shape, int64(s))
	}
	from, to := int64(t.DataOffsets[0])+8+int64(n), int64(t.DataOffsets[1])+8+int64(n)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if to > info.Size() {
		return nil, fmt.Errorf("%s: data to byte %d, the file has %d: %w", a.file, to, info.Size(), io.ErrUnexpectedEOF)
	}
	if elements, ok := a.elements(); !ok || from < 0 || to-from != elements*int64(a.codec.Size()) {
		return nil, fmt.Errorf("%s: shape %v of %s and data from byte %d to %d contradict one another", a.file, a.shape, a.codec.Name(), from, to)
	}
	a.open = func() (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	return a, nil
}

// repeated is a name that an object of JSON has twice, which a map does not show: programs differ
// in which of the two they take.
func repeated(object []byte) string {
	d, seen := json.NewDecoder(bytes.NewReader(object)), map[string]bool{}
	for first := true; first || d.More(); first = false {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		name, named := t.(string)
		if !named { // the brace
			continue
		}
		if seen[name] {
			return name
		}
		seen[name] = true
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return ""
		}
	}
	return ""
}

// elements is the number of elements, false where it overflows.
func (a *array) elements() (int64, bool) {
	n := int64(1)
	for _, s := range a.shape {
		if s < 0 || s > 0 && n > (1<<56)/s {
			return 0, false
		}
		n *= s
	}
	return n, true
}

// floats reads elements in order into slices that the caller gives.
type floats struct {
	a   *array
	r   io.ReadCloser
	b   *bufio.Reader
	raw []byte

	done int64 // bytes
}

func (a *array) reader() (*floats, error) {
	r, err := a.open()
	if err != nil {
		return nil, err
	}
	return &floats{a: a, r: r, b: bufio.NewReaderSize(r, 1<<20)}, nil
}

// pieceElements is how many elements are read at a time: what a header promises costs memory
// only as far as the file holds it.
const pieceElements = 1 << 18

// append reads n elements to the end of dst.
func (f *floats) append(dst []float32, n int) ([]float32, error) {
	for n > 0 {
		m := min(n, pieceElements)
		dst = slices.Grow(dst, m)
		if err := f.read(dst[len(dst) : len(dst)+m]); err != nil {
			return dst, err
		}
		dst, n = dst[:len(dst)+m], n-m
	}
	return dst, nil
}

func (f *floats) read(dst []float32) error {
	f.raw = slices.Grow(f.raw[:0], len(dst)*f.a.codec.Size())[:len(dst)*f.a.codec.Size()]
	n, err := io.ReadFull(f.b, f.raw)
	if f.done += int64(n); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		elements, _ := f.a.elements()
		return fmt.Errorf("%s: ends after %d bytes of data, %d wanted: %w", f.a.file, f.done, elements*int64(f.a.codec.Size()), io.ErrUnexpectedEOF)
	} else if err != nil {
		return fmt.Errorf("%s: %w", f.a.file, err)
	}
	f.a.codec.Decode32(dst, f.raw)
	return nil
}

// end is called after the last element. What follows it in a file of its own is an error, and
// the checksum of a member of a .npz file is compared when its end is met.
func (f *floats) end() error {
	if !f.a.toEnd {
		return nil
	}
	return f.a.atEnd(f.b)
}

// atEnd reads the end of a file.
func (a *array) atEnd(r io.Reader) error {
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		elements, _ := a.elements()
		return fmt.Errorf("%s: goes on after %d elements of shape %v", a.file, elements, a.shape)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%s: %w", a.file, err)
	}
	return nil
}

// ints reads the whole array as integers.
func (a *array) ints() (out []int64, err error) {
	if s := a.codec.Name(); s[0] == 'f' || s[0] == 'b' {
		return nil, fmt.Errorf("%s: elements of type %s, want integers", a.file, s)
	}
	r, err := a.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n, fits := a.elements()
	if !fits {
		return nil, fmt.Errorf("%s: shape %v overflows", a.file, a.shape)
	}
	raw, err := io.ReadAll(io.LimitReader(r, n*int64(a.codec.Size())))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", a.file, err)
	case int64(len(raw)) < n*int64(a.codec.Size()):
		return nil, fmt.Errorf("%s: %d bytes for %d elements: %w", a.file, len(raw), n, io.ErrUnexpectedEOF)
	}
	if a.toEnd {
		if err := a.atEnd(r); err != nil {
			return nil, err
		}
	}
	size := a.codec.Size()
	out = make([]int64, n)
	for i := range out {
		switch e := raw[i*size:]; size {
		case 1:
			out[i] = int64(int8(e[0]))
			if a.codec == num.U8 {
				out[i] = int64(e[0])
			}
		case 4:
			out[i] = int64(int32(binary.LittleEndian.Uint32(e)))
		default:
			out[i] = int64(binary.LittleEndian.Uint64(e))
		}
	}
	return out, nil
}

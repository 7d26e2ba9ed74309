package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"unsafe"
)

// number is what payload is made of.
type number interface {
	~uint16 | ~int32 | ~int64 | ~float32
}

// asBytes is the memory of values.
func asBytes[T number](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))
}

// as is bytes seen as values: they start on a multiple of 8 and end with a whole value.
func as[T number](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// littleEndian says whether arrays on disk are arrays in memory.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// checkMachine refuses machines of the other byte order: nothing would fit there.
func checkMachine(dir string) error {
	if littleEndian {
		return nil
	}
	return fail(dir, fmt.Errorf("big-endian machine: %w", ErrUnsupported))
}

// region is the part of a file that belongs to a generation, in memory.
type region struct {
	data   []byte
	mapped bool
}

// load brings a file into memory: mapped, or read where copied is asked for or mapping is not
// to be had. It fails with ErrMissing or ErrCorrupt.
func load(dir string, e *entry, copied bool) (region, error) {
	path := filepath.Join(dir, e.name())
	f, err := openWhole(path, e, 1)
	if err != nil {
		return region{}, err
	}
	defer f.Close()
	if e.length == 0 {
		return region{}, nil
	}
	if !copied {
		data, err := mapFile(f, int(e.length))
		if err == nil {
			return region{data, true}, nil
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return region{}, fail(path, err)
		}
	}
	const align = 64
	buf := make([]byte, e.length+align-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(buf))) % align
	data := buf[skip:][:e.length:e.length]
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, e.length), data); err != nil {
		return region{}, fail(path, err)
	}
	return region{data, false}, nil
}

// loadCells is load of the centroids: where they are float16 on disk, of their values.
func loadCells(dir string, m *manifest, copied bool) (region, error) {
	e := m.file(fileCentroids)
	if !m.half {
		return load(dir, e, copied)
	}
	path := filepath.Join(dir, e.name())
	f, err := openWhole(path, e, 2)
	if err != nil {
		return region{}, err
	}
	defer f.Close()
	cells, err := readHalves(f, int(e.length/2))
	return region{asBytes(cells), false}, fail(path, err)
}

// openWhole opens a file that holds what the manifest says, and memory that many times as much.
func openWhole(path string, e *entry, times int64) (*os.File, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	switch info, statErr := f.Stat(); {
	case statErr != nil:
		err = statErr
	case info.Size() < e.length:
		err = corruptByte(path, info.Size(), "ends here, %d bytes wanted", e.length)
	case e.length > math.MaxInt/times:
		err = fmt.Errorf("%d bytes in an address space of %d bits: %w", e.length*times, 8*unsafe.Sizeof(0), ErrUnsupported)
	}
	if err != nil {
		return nil, errors.Join(fail(path, err), f.Close())
	}
	return f, nil
}

func (r *region) release() error {
	data := r.data
	r.data = nil
	if !r.mapped || len(data) == 0 {
		return nil
	}
	return unmapFile(data)
}

// openRegular opens a regular file; symbolic links are followed. A file of another kind is an
// error before it is opened, since opening a pipe would wait for its writer.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, corrupt(path, "%s, want a regular file", info.Mode().Type())
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if err != nil {
		return nil, fail(path, err)
	}
	return f, nil
}

// notFinite is the index of the first value that is NaN or infinite, or −1.
func notFinite(v []float32) int {
	const chunk = 1024
	for at := 0; at < len(v); at += chunk {
		part := v[at:min(at+chunk, len(v))]
		if !suspect(part) {
			continue
		}
		for i, x := range part {
			if x-x != 0 {
				return at + i
			}
		}
	}
	return -1
}

// suspect reports whether a value is not finite, from bits alone: an exponent from that of
// infinity on carries into bit 31 where one is added to it. Two values are looked at together.
func suspect(v []float32) bool {
	const bit, one = 0x7fffffff_7fffffff, 0x00800000_00800000
	over := uint64(0)
	if len(v) > 0 && uintptr(unsafe.Pointer(&v[0]))%8 != 0 {
		over, v = uint64(math.Float32bits(v[0])&(1<<31-1)+1<<23), v[1:]
	}
	if n := len(v); n%2 != 0 {
		over |= uint64(math.Float32bits(v[n-1])&(1<<31-1) + 1<<23)
	}
	var pairs []uint64
	if len(v) > 1 { // the address of a single value, or of none, is not that of a pair
		pairs = unsafe.Slice((*uint64)(unsafe.Pointer(&v[0])), len(v)/2)
	}
	for ; len(pairs) >= 4; pairs = pairs[4:] {
		over |= (pairs[0]&bit + one) | (pairs[1]&bit + one) | (pairs[2]&bit + one) | (pairs[3]&bit + one)
	}
	for _, x := range pairs {
		over |= x&bit + one
	}
	return over&(1<<63|1<<31) != 0
}

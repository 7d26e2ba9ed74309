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
type number interface{ ~int32 | ~int64 | ~float32 }

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
	f, err := openRegular(path)
	if err != nil {
		return region{}, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return region{}, fail(path, err)
	case info.Size() < e.length:
		return region{}, corruptByte(path, info.Size(), "ends here, %d bytes wanted", e.length)
	case e.length > math.MaxInt:
		return region{}, fail(path, fmt.Errorf("%d bytes in an address space of %d bits: %w", e.length, 8*unsafe.Sizeof(0), ErrUnsupported))
	case e.length == 0:
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
		var overflow uint32
		for _, x := range part {
			overflow |= math.Float32bits(x)&0x7fffffff + 0x00800000 // reaches bit 31 from the exponent of infinity on
		}
		if overflow>>31 == 0 {
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

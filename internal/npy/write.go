package npy

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Dialect is the way in which a program spells a header. All are legal NumPy files, and
// they differ in where the data begins.
type Dialect uint8

const (
	// NumPy ends the header at a multiple of 64, as numpy.save does (which may leave
	// more room).
	NumPy Dialect = iota
	// Tch is what the Rust crate tch writes: no blank between lengths, a comma after the
	// last, "<u1" for bytes, and the end at a multiple of 16.
	Tch
	// Odd is what next-plaid writes for merged arrays: one byte past a multiple of 64, so
	// that no element wider than a byte is aligned.
	Odd
	// Patchable ends the header at 192, with room to rewrite the shape in place, as
	// fast-plaid does from 1.7 on.
	Patchable
)

// patchable is the length of everything before the data in that dialect.
const patchable = 192

// AppendHeader appends everything that precedes the data of an array to b. dtype is as in
// [Array]; no shape makes a scalar. It fails with a [FormatError] for a type that is not
// supported, a negative length, or a header beyond version 1.0's 65,535 bytes.
func AppendHeader(b []byte, dialect Dialect, dtype string, shape ...int) ([]byte, error) {
	size, ok := itemSize[dtype]
	if !ok {
		return nil, formatError("unsupported type %q", dtype)
	}
	order := "<"
	if size == 1 && dialect != Tch {
		order = "|"
	}
	var text strings.Builder
	text.WriteString("{'descr': '" + order + dtype + "', 'fortran_order': False, 'shape': (")
	for i, d := range shape {
		if d < 0 {
			return nil, formatError("shape %v has a negative length", shape)
		}
		if i > 0 && dialect != Tch {
			text.WriteByte(' ')
		}
		text.WriteString(strconv.Itoa(d))
		if i < len(shape)-1 || len(shape) == 1 || dialect == Tch {
			text.WriteByte(',')
		}
	}
	text.WriteString("), }")
	const before = len(magic) + 4 // version and length
	end := before + text.Len() + 1
	switch dialect {
	case Tch:
		end = ceil(end, 16)
	case Odd:
		end = ceil(end-1, 64) + 1
	case Patchable:
		end = max(patchable, ceil(end, 64))
	default:
		end = ceil(end, 64)
	}
	if end-before > 0xffff {
		return nil, formatError("header of %d bytes, limit %d", end-before, 0xffff)
	}
	b = append(append(b, magic...), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(end-before))
	b = append(b, text.String()...)
	for range end - before - text.Len() - 1 {
		b = append(b, ' ')
	}
	return append(b, '\n'), nil
}

func ceil(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

package format

import (
	"bytes"
	"encoding/binary"
)

// operand says how the argument of a pickle opcode ends.
type operand uint8

const (
	unknown operand = iota
	none
	byte1   // one byte
	byte2   // two
	byte4   // four
	byte8   // eight
	length1 // a one-byte count and that many bytes
	length4 // a four-byte count
	length8 // an eight-byte count
	line    // up to a newline
	line2   // two lines
)

// operands are the opcodes of pickle protocols 0 to 5 (CPython, Lib/pickletools.py).
var operands = func() (t [256]operand) {
	for kind, codes := range map[operand]string{
		none:    "(.012NRbd}l]ot)easuQ\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98",
		byte1:   "Khq\x80\x82",
		byte2:   "M\x83",
		byte4:   "Jjr\x84",
		byte8:   "G\x95",
		length1: "UC\x8a\x8c",
		length4: "TXB\x8b",
		length8: "\x8d\x8e\x96",
		line:    "FILSVgpP",
		line2:   "ci",
	} {
		for i := range len(codes) {
			t[codes[i]] = kind
		}
	}
	return t
}()

// skim walks the pickle from position at to the end of the file, which has to be its end
// too. Nothing is executed, built or kept: it skips from one opcode to the next.
func skim(f *file, at int64) error {
	r := &window{file: f}
	for {
		op, err := r.bytes(at, 1)
		if err != nil {
			return err
		}
		if op[0] == '.' {
			if at++; at != f.size {
				return &Error{File: f.path, Byte: at, Element: -1, Err: because(ErrCorrupt, "%d bytes after the pickle", f.size-at)}
			}
			return nil
		}
		kind := operands[op[0]]
		if kind == unknown {
			return &Error{File: f.path, Byte: at, Element: -1, Err: because(ErrCorrupt, "opcode %#x is none of a pickle", op[0])}
		}
		if at, err = r.skip(at+1, kind); err != nil {
			return err
		}
	}
}

// window reads a file forwards, a piece at a time.
type window struct {
	*file
	at   int64
	have int
	buf  [4096]byte
}

// bytes returns the n ≤ 8 bytes at position at, valid until the next call.
func (r *window) bytes(at int64, n int) ([]byte, error) {
	if at < r.at || at+int64(n) > r.at+int64(r.have) {
		r.at, r.have = at, int(min(int64(len(r.buf)), max(r.size-at, 0)))
		if r.have < n {
			return nil, &Error{File: r.path, Byte: r.size, Element: -1, Err: because(ErrCorrupt, "ends inside a pickle")}
		}
		if err := r.readAt(r.buf[:r.have], at); err != nil {
			return nil, err
		}
	}
	return r.buf[at-r.at:][:n], nil
}

// skip returns the position after an argument that starts at at.
func (r *window) skip(at int64, kind operand) (int64, error) {
	switch kind {
	case byte1, byte2, byte4, byte8:
		return at + 1<<(kind-byte1), nil
	case line, line2:
		for lines := kind - line + 1; lines > 0; {
			b, err := r.bytes(at, 1)
			if err != nil {
				return 0, err
			}
			if at++; b[0] == '\n' {
				lines--
			}
		}
		return at, nil
	case length1, length4, length8:
		width := []int{1, 4, 8}[kind-length1]
		b, err := r.bytes(at, width)
		if err != nil {
			return 0, err
		}
		var n [8]byte
		copy(n[:], b)
		size := binary.LittleEndian.Uint64(n[:])
		if at += int64(width); size > uint64(max(r.size-at, 0)) {
			return 0, &Error{File: r.path, Byte: at, Element: -1, Err: because(ErrCorrupt, "%d bytes of an object, %d left", size, r.size-at)}
		}
		return at + int64(size), nil
	}
	return at, nil
}

// lineAt is the text from at to a newline, and the position after it.
func lineAt(text []byte, at int) (string, int, bool) {
	n := bytes.IndexByte(text[at:], '\n')
	if n < 0 {
		return "", 0, false
	}
	return string(text[at : at+n]), at + n + 1, true
}

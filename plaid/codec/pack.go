package codec

import (
	"errors"
	"fmt"
	"math/bits"
)

var (
	// ErrBits reports a number of bits per component other than 1, 2, 4 and 8.
	ErrBits = errors.New("bits per component not 1, 2, 4 or 8")
	// ErrDim reports a number of components that is not a positive multiple of 8: a row
	// of residuals must end with a whole byte in every width.
	ErrDim = errors.New("components not a positive multiple of 8")
	// ErrLength reports slices whose lengths do not fit together.
	ErrLength = errors.New("lengths do not match")
	// ErrBucket reports a bucket that its width cannot hold.
	ErrBucket = errors.New("bucket out of range")
	// ErrCode reports a code that names no centroid.
	ErrCode = errors.New("code out of range")
)

// CheckBits returns ErrBits unless bits is 1, 2, 4 or 8.
func CheckBits(bits int) error {
	switch bits {
	case 1, 2, 4, 8:
		return nil
	}
	return fmt.Errorf("codec: %d: %w", bits, ErrBits)
}

// RowBytes is the size in bytes of one token's residuals, dim·bits/8. It fails with ErrBits
// or ErrDim.
func RowBytes(dim, bits int) (int, error) {
	if err := CheckBits(bits); err != nil {
		return 0, err
	}
	if dim < 1 || dim%8 != 0 {
		return 0, fmt.Errorf("codec: %d: %w", dim, ErrDim)
	}
	return dim / 8 * bits, nil
}

// Reverse returns the lowest width bits of bucket in reverse order, as they lie on disk.
func Reverse(bucket uint8, width int) uint8 { return bits.Reverse8(bucket) >> (8 - width) }

// buckets[log2 width][byte] are the buckets of a byte, the first 8/width entries.
var buckets = func() (t [4][256][8]uint8) {
	for i := range t {
		width := 1 << i
		for b := range 256 {
			for k := range 8 / width {
				t[i][b][k] = Reverse(uint8(b)<<(width*k)>>(8-width), width)
			}
		}
	}
	return t
}()

// Unpack writes the buckets of packed to dst, 8/width to the byte; len(dst) is
// len(packed)·8/width. It fails with ErrBits or ErrLength.
func Unpack(dst, packed []uint8, width int) error {
	if err := CheckBits(width); err != nil {
		return err
	}
	per := 8 / width
	if len(dst) != len(packed)*per {
		return fmt.Errorf("codec: %d buckets for %d bytes of %d: %w", len(dst), len(packed), per, ErrLength)
	}
	table := &buckets[log2(width)]
	for i, b := range packed {
		copy(dst[i*per:(i+1)*per], table[b][:])
	}
	return nil
}

// Pack writes buckets to dst, 8/width to the byte; len(buckets) is len(dst)·8/width. It
// fails with ErrBits, ErrLength, or ErrBucket, which names the first bucket not below
// 2^width; dst is then undefined.
func Pack(dst, buckets []uint8, width int) error {
	if err := CheckBits(width); err != nil {
		return err
	}
	per := 8 / width
	if len(buckets) != len(dst)*per {
		return fmt.Errorf("codec: %d buckets for %d bytes of %d: %w", len(buckets), len(dst), per, ErrLength)
	}
	for i := range dst {
		var b, all uint8
		for _, u := range buckets[i*per : (i+1)*per] {
			b = b<<width | Reverse(u, width)
			all |= u
		}
		if all>>width != 0 {
			return overflow(buckets, i*per, width)
		}
		dst[i] = b
	}
	return nil
}

func overflow(buckets []uint8, from, width int) error {
	for i := from; ; i++ {
		if buckets[i]>>width != 0 {
			return fmt.Errorf("codec: bucket %d at %d, %d of them: %w", buckets[i], i, 1<<width, ErrBucket)
		}
	}
}

// log2 of a valid width.
func log2(width int) int { return bits.TrailingZeros8(uint8(width)) }

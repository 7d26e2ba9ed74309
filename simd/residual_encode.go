package simd

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

var _ = bindResidualEncode()

func bindResidualEncode() bool {
	for _, u := range encodeUnits() {
		Bind(kernels.ResidualEncode, backend.Binding{Kernel: "residual_encode", Variant: u.variant, Requires: u.requires,
			Class: "exact", // one rounding at a time, in a fixed order
			Tile:  map[string]int64{"d": encodeGroup, "n": encodeTogether}}, kernelEncode(u))
	}
	return true
}

// encodeUnit is the arithmetic of a level.
type encodeUnit struct {
	variant  string
	requires []string
	// bucket sets bucket[i] to the number of cut points, of 2^bits-1, below x[i]-c[i], and
	// square[i] to the square of c[i]+weight[bucket[i]], for n components, a multiple of
	// encodeGroup. Cut points ascend; levels has them as encodeLevels lays them out.
	bucket [9]func(x, c, levels, weight *float32, n int, bucket *uint8, square *float32) // by bits
	// sum adds up n squares of each of encodeTogether tokens, stride elements apart, in
	// ascending order.
	sum func(square *float32, stride, n int, sums *float32)
}

const (
	// encodeGroup components are encoded at once: a register of bytes.
	encodeGroup = 8
	// encodeTogether tokens have their norms taken at once: a sum of squares in order is one
	// chain of additions, and a core can keep eight going.
	encodeTogether = 8
	// encodeWork is the components that a tile aims at, some 20 µs.
	encodeWork = 1 << 15
)

// encodeUnits are the units of every architecture, as rowUnits.
func encodeUnits() []*encodeUnit {
	out := append(encodeAssembly(), &encodeGeneric)
	for _, name := range []string{"avx512", "avx2", "neon"} {
		if slices.ContainsFunc(out, func(u *encodeUnit) bool { return u.variant == name }) {
			continue
		}
		u := encodeGeneric
		u.variant, u.requires = name, []string{name}
		out = append(out, &u)
	}
	return out
}

// encodeGeneric is the portable unit and the reference of the others.
var encodeGeneric = encodeUnit{variant: "generic", sum: encodeSumGeneric,
	bucket: [9]func(x, c, levels, weight *float32, n int, bucket *uint8, square *float32){
		1: encodeBucketGeneric(1), 2: encodeBucketGeneric(2), 4: encodeBucketGeneric(4), 8: encodeBucketGeneric(8)}}

// encodeLevelAt is where level l of the search starts: up to 8 entries have a register.
func encodeLevelAt(l int) int {
	if l < 4 {
		return 8 * l
	}
	return 1<<l + 16
}

// encodeLevelsMost is the entries of all levels of 8 bits.
const encodeLevelsMost = 272

// encodeLevels lays cut points out for a search from the middle: level l has the 2^l cut
// points that split what the levels before have left, in order.
func encodeLevels(levels, cutoff []float32, bits int) {
	for l := range bits {
		step := 1 << (bits - 1 - l)
		for i := range 1 << l {
			levels[encodeLevelAt(l)+i] = cutoff[(2*i+1)*step-1]
		}
	}
}

func encodeBucketGeneric(bits int) func(x, c, levels, weight *float32, n int, bucket *uint8, square *float32) {
	return func(x, c, levels, weight *float32, n int, bucket *uint8, square *float32) {
		xs, cs, squares, buckets := unsafe.Slice(x, n), unsafe.Slice(c, n), unsafe.Slice(square, n), unsafe.Slice(bucket, n)
		cut, w := unsafe.Slice(levels, encodeLevelsMost), unsafe.Slice(weight, 1<<bits)
		for i, v := range xs {
			r := v - cs[i]
			b := 0
			for l := range bits {
				below := 0
				if cut[encodeLevelAt(l)+b] < r {
					below = 1
				}
				b = 2*b + below
			}
			buckets[i] = uint8(b)
			z := cs[i] + w[b]
			squares[i] = z * z
		}
	}
}

func encodeSumGeneric(square *float32, stride, n int, sums *float32) {
	x := unsafe.Slice(square, (encodeTogether-1)*stride+n)
	var s [encodeTogether]float32
	for i := range n {
		for j := range s {
			s[j] += x[j*stride+i]
		}
	}
	*(*[encodeTogether]float32)(unsafe.Pointer(sums)) = s
}

// encodeRows is the tokens of a tile.
func encodeRows(d int64) int64 {
	return max(roundUp(ceilDiv(encodeWork, max(d, 1)), encodeTogether), encodeTogether)
}

// encodePitch is the components of a row in a worker's memory, whole groups; not a multiple
// of 4 KiB, so that tokens summed together do not share a cache set.
func encodePitch(d int64) int64 { return roundUp(d, encodeGroup) + 16 }

// encodeLayout is the byte offsets of a worker's memory: squares, buckets, a padded tail of a
// token and of a centroid, sums of squares, and levels.
type encodeLayout struct{ bucket, tail, level, bytes int64 }

func encodeLocal(d int64) (l encodeLayout) {
	l.bucket = align64(4 * encodeTogether * encodePitch(d))
	l.tail = l.bucket + align64(encodePitch(d))
	l.level = l.tail + 2*4*encodeGroup + 4*encodeTogether
	l.bytes = l.level + 4*encodeLevelsMost
	return l
}

func kernelEncode(u *encodeUnit) Body[kernels.ResidualEncodeArgs] {
	return Body[kernels.ResidualEncodeArgs]{
		Tiles: func(a *kernels.ResidualEncodeArgs, _ *backend.Call) int64 {
			return ceilDiv(a.Token.Dims[0], encodeRows(a.Token.Dims[1]))
		},
		Local: func(c *backend.Call) int64 { return encodeLocal(c.Axes[1]).bytes },
		Run: func(t *Task, a *kernels.ResidualEncodeArgs) {
			w := newEncode(u, t, a)
			rows := encodeRows(w.d)
			for i := t.Lo * rows; i < min(t.Hi*rows, w.n); i += encodeTogether {
				w.run(t, i, min(i+encodeTogether, w.n))
			}
		},
	}
}

// encode is one worker's part of a launch.
type encode struct {
	*encodeUnit
	n, d, k, row     int64
	bits             int
	token, centroid  []float32
	code             []int32
	levels, weight   []float32
	packed           []uint8
	inv              []float32
	pitch            int64
	square           []float32 // [encodeTogether][pitch]
	buckets          []uint8   // of a token
	tail, tailCenter []float32
	sums             []float32
}

func newEncode(u *encodeUnit, t *Task, a *kernels.ResidualEncodeArgs) encode {
	w := encode{encodeUnit: u, n: a.Token.Dims[0], d: a.Token.Dims[1], k: a.Centroid.Dims[0], row: a.Packed.Dims[1], bits: int(a.Bits),
		token: Slice[float32](&a.Token), centroid: Slice[float32](&a.Centroid), code: Slice[int32](&a.Code),
		weight: Slice[float32](&a.Weight), packed: Slice[uint8](&a.Packed), inv: Slice[float32](&a.InvNorm)}
	l := encodeLocal(w.d)
	w.pitch = encodePitch(w.d)
	w.square, w.buckets = Words[float32](t.Local[:l.bucket]), t.Local[l.bucket:l.tail]
	tails := Words[float32](t.Local[l.tail:l.level])
	w.levels = Words[float32](t.Local[l.level:l.bytes])
	encodeLevels(w.levels, Slice[float32](&a.Cutoff), w.bits)
	w.tail, w.tailCenter, w.sums = tails[:encodeGroup], tails[encodeGroup:2*encodeGroup], tails[2*encodeGroup:]
	clear(w.square)
	clear(tails)
	raceRead(unsafe.Pointer(unsafe.SliceData(w.token)), 4*w.n*w.d)
	raceRead(unsafe.Pointer(unsafe.SliceData(w.centroid)), 4*w.k*w.d)
	return w
}

// encodeCode is the operand of the fault.
const encodeCode = 1

// run does the tokens [lo, hi), at most encodeTogether.
func (w *encode) run(t *Task, lo, hi int64) {
	for i := lo; i < hi; i++ {
		out := w.packed[i*w.row:][:w.row]
		c := int64(w.code[i])
		if uint64(c) >= uint64(w.k) {
			t.Fail(1, encodeCode, i)
			clear(out)
			continue
		}
		w.encode(w.token[i*w.d:][:w.d], w.centroid[c*w.d:][:w.d], w.square[(i-lo)*w.pitch:])
		encodePack(out, w.buckets, w.bits)
	}
	if w.inv == nil {
		return
	}
	w.sum(&w.square[0], int(w.pitch), int(w.d), &w.sums[0])
	for i := lo; i < hi; i++ {
		w.inv[i] = 0
		if uint64(w.code[i]) < uint64(w.k) {
			w.inv[i] = 1 / max(float32(math.Sqrt(float64(w.sums[i-lo]))), 1e-12)
		}
	}
}

// encode finds the buckets of a token and its squares.
func (w *encode) encode(x, c, square []float32) {
	full := len(x) &^ (encodeGroup - 1)
	bucket := w.bucket[w.bits]
	if full > 0 {
		bucket(&x[0], &c[0], &w.levels[0], &w.weight[0], full, &w.buckets[0], &square[0])
	}
	if full < len(x) {
		copy(w.tail, x[full:])
		copy(w.tailCenter, c[full:])
		bucket(&w.tail[0], &w.tailCenter[0], &w.levels[0], &w.weight[0], encodeGroup, &w.buckets[full], &square[full])
	}
}

// encodePack packs buckets as package codec does: bits leave a bucket least significant
// first and enter a byte from its high end. Eight buckets make width bytes; there are as many
// buckets as whole groups have.
func encodePack(out, buckets []uint8, width int) {
	full := len(out) / width * width
	switch width {
	case 1:
		for i := range out[:full] {
			out[i] = uint8(packed1(binary.LittleEndian.Uint64(buckets[i*8:])))
		}
	case 2:
		for i := 0; i < full; i += 2 {
			binary.LittleEndian.PutUint16(out[i:], uint16(packed2(binary.LittleEndian.Uint64(buckets[i*4:]))))
		}
	case 4:
		for i := 0; i < full; i += 4 {
			binary.LittleEndian.PutUint32(out[i:], uint32(packed4(binary.LittleEndian.Uint64(buckets[i*2:]))))
		}
	case 8:
		for i := 0; i < full; i += 8 {
			binary.LittleEndian.PutUint64(out[i:], packed8(binary.LittleEndian.Uint64(buckets[i:])))
		}
	}
	if full == len(out) {
		return
	}
	rest := binary.LittleEndian.Uint64(buckets[full*8/width:]) // not for width 1
	switch width {
	case 2:
		rest = packed2(rest)
	case 4:
		rest = packed4(rest)
	case 8:
		rest = packed8(rest)
	}
	for i := full; i < len(out); i++ {
		out[i] = uint8(rest)
		rest >>= 8
	}
}

// packed1 moves bit 8j to bit 7-j: the product adds up the shifts.
func packed1(x uint64) uint64 { return x * 0x8040201008040201 >> 56 }

// packed2 reverses pairs of bits and gathers them four to a byte.
func packed2(x uint64) uint64 {
	x = x>>1&0x0101010101010101 | x<<1&0x0202020202020202
	x = x<<2&0x000c000c000c000c | x>>8&0x0003000300030003
	x = x<<4&0x000000f0000000f0 | x>>16&0x0000000f0000000f
	return x&0xff | x>>24&0xff00
}

// packed4 reverses groups of four bits and gathers them two to a byte.
func packed4(x uint64) uint64 {
	x = x>>1&0x0505050505050505 | x<<1&0x0a0a0a0a0a0a0a0a
	x = x>>2&0x0303030303030303 | x<<2&0x0c0c0c0c0c0c0c0c
	x = x<<4&0x00f000f000f000f0 | x>>8&0x000f000f000f000f
	x = (x | x>>8) & 0x0000ffff0000ffff
	return x&0xffff | x>>16&0xffff0000
}

// packed8 reverses bytes.
func packed8(x uint64) uint64 { return bits.ReverseBytes64(bits.Reverse64(x)) }

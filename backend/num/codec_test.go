package num

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

var codecs = []*Codec{F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, U8, I32, I64}

func TestIntegersRoundToEvenAndSaturate(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		x   float64
		i8  int8
		u8  uint8
		i32 int32
		i64 int64
	}{
		{0.5, 0, 0, 0, 0},
		{1.5, 2, 2, 2, 2},
		{-2.5, -2, 0, -2, -2},
		{math.Nextafter(0.5, 1), 1, 1, 1, 1},
		{127.5, 127, 128, 128, 128},
		{-128.5, -128, 0, -128, -128},
		{255.5, 127, 255, 256, 256},
		{0x1p31 - 0.5, 127, 255, math.MaxInt32, 1 << 31},
		{-0x1p31 - 1, -128, 0, math.MinInt32, -1<<31 - 1},
		{0x1p63, 127, 255, math.MaxInt32, math.MaxInt64},
		{math.Nextafter(0x1p63, 0), 127, 255, math.MaxInt32, 1<<63 - 1024},
		{-0x1p63, -128, 0, math.MinInt32, math.MinInt64},
		{inf, 127, 255, math.MaxInt32, math.MaxInt64},
		{-inf, -128, 0, math.MinInt32, math.MinInt64},
		{nan, 0, 0, 0, 0},
	} {
		require.Equal(t, c.i8, I8FromFloat64(c.x), "i8 of %v", c.x)
		require.Equal(t, c.u8, U8FromFloat64(c.x), "u8 of %v", c.x)
		require.Equal(t, c.i32, I32FromFloat64(c.x), "i32 of %v", c.x)
		require.Equal(t, c.i64, I64FromFloat64(c.x), "i64 of %v", c.x)
	}
}

func TestCodecBytes(t *testing.T) {
	x := []float64{1, -2, 0.5, 100}
	for _, c := range []struct {
		codec *Codec
		bytes []byte
	}{
		{F64, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0, 0, 0, 0, 0, 0, 0x59, 0x40}},
		{F32, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f, 0, 0, 0xc8, 0x42}},
		{F16, []byte{0, 0x3c, 0, 0xc0, 0, 0x38, 0x40, 0x56}},
		{BF16, []byte{0x80, 0x3f, 0, 0xc0, 0, 0x3f, 0xc8, 0x42}},
		{F8E4M3, []byte{0x38, 0xc0, 0x30, 0x6c}},
		{F8E5M2, []byte{0x3c, 0xc0, 0x38, 0x56}},
		{I8, []byte{1, 0xfe, 0, 100}},
		{U8, []byte{1, 0, 0, 100}},
		{I32, []byte{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 100, 0, 0, 0}},
		{I64, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0}},
	} {
		got := make([]byte, len(c.bytes))
		require.Equal(t, 4, c.codec.Encode64(got, x), c.codec.Name())
		require.Equal(t, c.bytes, got, c.codec.Name())
		clear(got)
		require.Equal(t, 4, c.codec.Encode32(got, []float32{1, -2, 0.5, 100}), c.codec.Name())
		require.Equal(t, c.bytes, got, c.codec.Name())
		require.Equal(t, 4*c.codec.Size(), len(c.bytes))
	}
}

// The narrow types' codecs agree with their scalars on all codes, at an odd address.
func TestCodecsEqualScalars(t *testing.T) {
	for i, codec := range []*Codec{F16, BF16, F8E4M3, F8E5M2} {
		f := formats[i]
		n := 1 << f.bits
		raw := make([]byte, n*codec.Size()+1)[1:]
		for code := range n {
			if codec.Size() == 2 {
				binary.LittleEndian.PutUint16(raw[2*code:], uint16(code))
			} else {
				raw[code] = byte(code)
			}
		}
		wide, narrow := make([]float64, n), make([]float32, n)
		require.Equal(t, n, codec.Decode64(wide, raw))
		require.Equal(t, n, codec.Decode32(narrow, raw))
		for code := range n {
			if math.Float64bits(f.to64(uint32(code))) != math.Float64bits(wide[code]) ||
				math.Float32bits(f.to32(uint32(code))) != math.Float32bits(narrow[code]) {
				t.Fatalf("%s code %#x: got %v and %v", f.name, code, wide[code], narrow[code])
			}
		}
		for _, encode := range []func(dst []byte) int{
			func(dst []byte) int { return codec.Encode64(dst, wide) },
			func(dst []byte) int { return codec.Encode32(dst, narrow) },
		} {
			back := make([]byte, len(raw))
			require.Equal(t, n, encode(back))
			for code := range n {
				from, to := codec.Size()*code, codec.Size()*(code+1)
				if !math.IsNaN(wide[code]) && !bytes.Equal(raw[from:to], back[from:to]) {
					t.Fatalf("%s code %#x: got % x", f.name, code, back[from:to])
				}
			}
		}
	}
}

func TestSlicesEqualCodecs(t *testing.T) {
	codes := make([]uint16, 1<<16)
	raw := make([]byte, 2<<16)
	for i := range codes {
		codes[i] = uint16(i)
		binary.LittleEndian.PutUint16(raw[2*i:], uint16(i))
	}
	for _, c := range []struct {
		codec  *Codec
		decode func([]float32, []uint16) int
		encode func([]uint16, []float32) int
	}{
		{F16, DecodeF16[float32], EncodeF16[float32]},
		{BF16, DecodeBF16[float32], EncodeBF16[float32]},
	} {
		got, want := make([]float32, 1<<16), make([]float32, 1<<16)
		require.Equal(t, 1<<16, c.decode(got, codes))
		c.codec.Decode32(want, raw)
		back := make([]uint16, 1<<16)
		require.Equal(t, 1<<16, c.encode(back, got))
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) || got[i] == got[i] && back[i] != codes[i] {
				t.Fatalf("%s code %#x: got %v and back %#x, want %v", c.codec.Name(), i, got[i], back[i], want[i])
			}
		}
	}
	wide := make([]float64, 3)
	require.Equal(t, 3, DecodeF16(wide, []uint16{0x3c00, 0xc000, 1, 7}))
	require.Equal(t, []float64{1, -2, 0x1p-24}, wide)
	require.Equal(t, 2, EncodeBF16(codes[:2], []float64{1 + 0x1p-8 + 0x1p-40, -2, 3}))
	require.Equal(t, []uint16{0x3f81, 0xc000}, codes[:2])
}

func TestShortSlices(t *testing.T) {
	for _, c := range codecs {
		raw := make([]byte, 3*c.Size()+c.Size()-1) // three elements and a part of one
		require.Equal(t, 3, c.Decode64(make([]float64, 5), raw), c.Name())
		require.Equal(t, 2, c.Decode32(make([]float32, 2), raw), c.Name())
		require.Equal(t, 3, c.Encode64(raw, make([]float64, 5)), c.Name())
		require.Equal(t, 2, c.Encode32(raw, make([]float32, 2)), c.Name())
		require.Zero(t, c.Decode64(nil, raw), c.Name())
		require.Zero(t, c.Encode32(nil, nil), c.Name())
	}
}

func TestSliceConversionsDoNotAllocate(t *testing.T) {
	f, raw := make([]float32, 256), make([]byte, 2048)
	for _, c := range codecs {
		require.Zero(t, testing.AllocsPerRun(10, func() {
			c.Decode32(f, raw)
			c.Encode32(raw, f)
		}), c.Name())
	}
}

func BenchmarkCodec(b *testing.B) {
	values := make([]float32, 4096)
	for i := range values {
		values[i] = float32(math.Sin(float64(i))) * 10
	}
	for _, c := range codecs {
		raw := make([]byte, len(values)*c.Size())
		b.Run("encode/"+c.Name(), func(b *testing.B) {
			b.SetBytes(int64(4 * len(values)))
			for b.Loop() {
				c.Encode32(raw, values)
			}
		})
		b.Run("decode/"+c.Name(), func(b *testing.B) {
			out := make([]float32, len(values))
			b.SetBytes(int64(4 * len(values)))
			for b.Loop() {
				c.Decode32(out, raw)
			}
		})
	}
}

package num

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func forEach(t *testing.T, check func(t *testing.T, f *format)) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) { check(t, f) })
	}
}

// require.Equal on each of millions of values is slow, so the loops below compare
// first and report once.

func TestEveryCodeDecodes(t *testing.T) {
	forEach(t, func(t *testing.T, f *format) {
		for code := uint32(0); code < 1<<f.bits; code++ {
			want, got := f.value(code), f.to64(code)
			same := want == got && math.Signbit(want) == math.Signbit(got) || math.IsNaN(want) && math.IsNaN(got)
			if !same || math.Float32bits(float32(got)) != math.Float32bits(f.to32(code)) {
				t.Fatalf("code %#x: want %v, got %v and %v", code, want, got, f.to32(code))
			}
		}
	})
}

func TestEveryCodeSurvivesARoundTrip(t *testing.T) {
	forEach(t, func(t *testing.T, f *format) {
		for code := uint32(0); code < 1<<f.bits; code++ {
			wide, narrow := f.from64(f.to64(code)), f.from32(f.to32(code))
			if math.IsNaN(f.value(code)) {
				for _, got := range []uint32{wide, narrow} {
					require.True(t, math.IsNaN(f.value(got)), "NaN %#x became %#x", code, got)
					require.Equal(t, code&f.sign(), got&f.sign(), "sign of NaN %#x", code)
				}
				continue
			}
			if wide != code || narrow != code {
				t.Fatalf("code %#x: got %#x from float64, %#x from float32", code, wide, narrow)
			}
		}
	})
}

// Every midpoint between neighbours, and the float64 and float32 beside it, on
// both sides of zero. Midpoints have one bit more than codes, so they are exact.
func TestEveryMidpointRoundsToEven(t *testing.T) {
	forEach(t, func(t *testing.T, f *format) {
		n := f.finite()
		for i := range n {
			mid, accuracy := f.midpoint(i, n).Float64()
			require.Equal(t, big.Exact, accuracy)
			above := i + 1
			if above == n {
				above = f.overflow()
			}
			tie := i
			if i%2 != 0 {
				tie = above
			}
			for _, sign := range []float64{1, -1} {
				bit := uint32(0)
				if sign < 0 {
					bit = f.sign()
				}
				check := func(x float64, want uint32) {
					if got := f.from64(sign * x); got != bit|want {
						t.Fatalf("float64 %x between codes %#x and %#x: want %#x, got %#x", sign*x, i, i+1, bit|want, got)
					}
					if float64(float32(x)) != x {
						return
					}
					if got := f.from32(float32(sign * x)); got != bit|want {
						t.Fatalf("float32 %x between codes %#x and %#x: want %#x, got %#x", sign*x, i, i+1, bit|want, got)
					}
				}
				check(mid, tie)
				check(math.Nextafter(mid, 0), i)
				check(math.Nextafter(mid, math.Inf(1)), above)
				if float64(float32(mid)) == mid {
					check(float64(math.Nextafter32(float32(mid), 0)), i)
					check(float64(math.Nextafter32(float32(mid), float32(math.Inf(1)))), above)
				}
			}
		}
	})
}

// A path over float32 would round these to a tie and then to even, downwards.
func TestNoDoubleRounding(t *testing.T) {
	require.Equal(t, uint16(0x3c01), F16FromFloat64(1+0x1p-11+0x1p-40))
	require.Equal(t, uint16(0x3c00), F16FromFloat64(1+0x1p-11))
	require.Equal(t, uint16(0x3f81), BF16FromFloat64(1+0x1p-8+0x1p-40))
	require.Equal(t, uint8(0x39), F8E4M3FromFloat64(1+0x1p-4+0x1p-40))
	require.Equal(t, uint8(0x3d), F8E5M2FromFloat64(1+0x1p-3+0x1p-40))
}

func TestLimits(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		x                         float64
		f16, bf16, f8e4m3, f8e5m2 uint32
	}{
		{0, 0, 0, 0, 0},
		{math.Copysign(0, -1), 0x8000, 0x8000, 0x80, 0x80},
		{1, 0x3c00, 0x3f80, 0x38, 0x3c},
		{-2, 0xc000, 0xc000, 0xc0, 0xc0},
		{448, 0x5f00, 0x43e0, 0x7e, 0x5f},
		{464, 0x5f40, 0x43e8, 0x7e, 0x5f},
		{57344, 0x7b00, 0x4760, 0x7e, 0x7b},
		{65504, 0x7bff, 0x4780, 0x7e, 0x7b},
		{65519.99, 0x7bff, 0x4780, 0x7e, 0x7b},
		{65520, 0x7c00, 0x4780, 0x7e, 0x7b},
		{math.MaxFloat32, 0x7c00, 0x7f80, 0x7e, 0x7b},
		{-math.MaxFloat64, 0xfc00, 0xff80, 0xfe, 0xfb},
		{inf, 0x7c00, 0x7f80, 0x7e, 0x7c},
		{-inf, 0xfc00, 0xff80, 0xfe, 0xfc},
		{0x1p-24, 0x0001, 0x3380, 0x00, 0x00},
		{0x1p-25, 0x0000, 0x3300, 0x00, 0x00},
		{0x1.8p-25, 0x0001, 0x3340, 0x00, 0x00},
		{0x1p-9, 0x1800, 0x3b00, 0x01, 0x18},
		{0x1p-10, 0x1400, 0x3a80, 0x00, 0x14},
		{-0x1p-133, 0x8000, 0x8001, 0x80, 0x80},
		{math.SmallestNonzeroFloat64, 0, 0, 0, 0},
	} {
		for i, want := range []uint32{c.f16, c.bf16, c.f8e4m3, c.f8e5m2} {
			require.Equal(t, want, formats[i].from64(c.x), "%s of %v", formats[i].name, c.x)
		}
	}
}

func TestNaNKeepsSignAndPayloadThatFits(t *testing.T) {
	positive := math.Float64frombits(0x7ff0_0000_0000_0001)
	negative := math.Float64frombits(0xfff4_0000_0000_0000)
	require.Equal(t, uint16(0x7e00), F16FromFloat64(positive))
	require.Equal(t, uint16(0xff00), F16FromFloat64(negative))
	require.Equal(t, uint16(0x7fc0), BF16FromFloat32(math.Float32frombits(0x7f800001)))
	require.Equal(t, uint16(0xffe0), BF16FromFloat64(negative))
	require.Equal(t, uint8(0x7f), F8E4M3FromFloat64(positive))
	require.Equal(t, uint8(0xff), F8E4M3FromFloat64(negative))
	require.Equal(t, uint8(0x7e), F8E5M2FromFloat64(positive))
	require.Equal(t, uint8(0xff), F8E5M2FromFloat64(negative))
}

// agree compares both encoders with the search over all values.
func agree(t *testing.T, f *format, x float64) {
	t.Helper()
	check := func(x float64, got uint32) {
		want, ok := f.nearest(x)
		if !ok {
			require.True(t, math.IsNaN(f.value(got)), "%s of %v: got %#x", f.name, x, got)
			return
		}
		require.Equal(t, want, got, "%s of %x", f.name, x)
	}
	check(x, f.from64(x))
	check(float64(float32(x)), f.from32(float32(x)))
}

func TestRandomValuesRoundToTheNearest(t *testing.T) {
	forEach(t, func(t *testing.T, f *format) {
		r := rand.New(rand.NewPCG(1, uint64(f.fraction)))
		span := float64(int(1) << (f.bits - 1 - f.fraction))
		for range 3000 {
			agree(t, f, math.Float64frombits(r.Uint64()))
			agree(t, f, float64(math.Float32frombits(r.Uint32())))
			exp := int((r.Float64() - .5) * 1.2 * span) // the format's own range and a little more
			agree(t, f, math.Ldexp(2*r.Float64()-1, exp))
		}
	})
}

// Every float32 exponent, with the fractions at and beside each rounding boundary
// that the fast float32 paths branch on.
func TestFastFloat32PathsEqualTheGeneralOne(t *testing.T) {
	forEach(t, func(t *testing.T, f *format) {
		for head := range uint32(1 << 16) {
			for _, tail := range []uint32{0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff} {
				x := math.Float32frombits(head<<16 | tail)
				if got, want := f.from32(x), f.from64(float64(x)); got != want {
					t.Fatalf("float32 %#08x: want %#x, got %#x", math.Float32bits(x), want, got)
				}
			}
		}
	})
}

func FuzzRoundToNearest(f *testing.F) {
	for _, x := range []float64{0, 1, 65520, 448, 0x1p-25, 0x1p-133, math.Inf(-1), math.NaN(), 1 + 0x1p-11} {
		f.Add(math.Float64bits(x))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		for _, l := range formats {
			agree(t, l, math.Float64frombits(bits))
		}
	})
}

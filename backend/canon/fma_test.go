package canon

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// special are values around every boundary of float32.
var special = []float32{
	0, 1, 1 + 0x1p-23, 1 - 0x1p-24, 2, 3, 0.5, 1.0 / 3,
	0x1p-126, 0x1p-126 - 0x1p-149, 0x1p-149, 0x3p-149, 0x1p-75, 0x1p-74, 0x1.8p-75, 0x1.000002p-63,
	math.MaxFloat32, 0x1p127, 0x1p64, 0x1.fffffep63, 0x1p12, 0x1.001p12, 0x1p-12,
	float32(math.Inf(1)), float32(math.NaN()),
}

// exact is x·y + z by arbitrary precision, rounded once.
func exact(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	if s := p + float64(z); s-s != 0 || p == 0 && z == 0 {
		return float32(s) // IEEE's special cases, and the sign of a zero from zeros
	}
	product := new(big.Float).SetPrec(800).SetFloat64(float64(x))
	product.Mul(product, new(big.Float).SetFloat64(float64(y)))
	product.Add(product, new(big.Float).SetFloat64(float64(z)))
	if product.Sign() == 0 {
		return 0 // cancellation gives +0 when rounding to nearest
	}
	r, _ := product.Float32()
	return r
}

func sameBits(a, b float32) bool {
	return math.Float32bits(quiet(a)) == math.Float32bits(quiet(b))
}

// hardwareFMA is one step of the processor's, through the assembly where there is any.
func hardwareFMA(x, y, z float32) float32 {
	var acc, panel [group * lanes]float32
	for i := range acc {
		acc[i] = z
	}
	for i := range panel[:lanes] {
		panel[i] = y
	}
	tile(&acc[0], &x, &x, &x, &x, &panel[0], 1)
	return acc[0]
}

func checkFMA(t *testing.T, x, y, z float32) {
	t.Helper()
	got, want := FMA(x, y, z), exact(x, y, z)
	if hardware := hardwareFMA(x, y, z); !sameBits(got, want) || !sameBits(got, hardware) {
		t.Fatalf("%x × %x + %x: got %x, exact %x, hardware %x", x, y, z, got, want, hardware)
	}
}

func TestFMASpecialValues(t *testing.T) {
	var all []float32
	for _, x := range special {
		all = append(all, x, -x)
	}
	for _, x := range all {
		for _, y := range all {
			for _, z := range all {
				checkFMA(t, x, y, z)
			}
		}
	}
}

// Sums that fall on, or one float64 away from, the tie between two float32, for
// results in the normal and the subnormal range and at overflow.
func TestFMATies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		// x·y is a power of two times an odd number of few bits; z places the tie.
		z := math.Float32frombits(r.Uint32())
		if z-z != 0 {
			continue
		}
		ulp := math.Abs(float64(math.Nextafter32(z, 0)) - float64(z))
		half := float32(ulp / 2)
		for _, nudge := range []float32{1, 1 + 0x1p-23, 1 - 0x1p-24, -1, -1 - 0x1p-23} {
			checkFMA(t, half, nudge, z)
			checkFMA(t, nudge, 0.5, half*4)
			checkFMA(t, float32(math.Sqrt(ulp)), float32(math.Sqrt(ulp))/2*nudge, z)
		}
	}
	// A tie broken by a term 2^60 smaller: float64 alone loses it.
	require.Equal(t, float32(1), float32(float64(float32(0x1p-24))+1))
	require.Equal(t, float32(1+0x1p-23), FMA(0x1.000002p-12, 0x1.000002p-12, 1))
	require.Equal(t, float32(0x1p-126), FMA(0x1p-75, 0x1.000002p-75, 0x1p-126-0x1p-149))
	require.Equal(t, float32(0x1p-148), FMA(0x1p-75, 0x1.000002p-75, 0x1p-149))
	require.Equal(t, float32(0x1p-149), FMA(0x1p-76, 0x1p-75, 0x1p-149))
}

// Products just beside half of the smallest subnormal, so close that the sum with
// a large subnormal, in float64, is the tie itself or the value next to it.
func TestFMASubnormalTies(t *testing.T) {
	odd := float32(0x1p-127 + 0x1p-149)
	require.Equal(t, odd, FMA(0x1.000002p-75, 0x1.fffffcp-76, odd), "just below the tie")
	even := float32(0x1p-127)
	require.Equal(t, even+0x1p-149, FMA(0x1.000002p-75, 0x1.000002p-75, even), "just above the tie")

	r := rand.New(rand.NewPCG(5, 6))
	for range 100000 {
		// Two 24-bit integers whose product is 2^47 but for its last 23 bits.
		y := 1<<23 + r.IntN(1<<23)
		x := (1<<47 + y/2) / y
		z := math.Ldexp(1+r.Float64(), -127-r.IntN(8))
		a, b := float32(math.Ldexp(float64(x), -98)), float32(math.Ldexp(float64(y), -99))
		checkFMA(t, a, b, float32(z))
		checkFMA(t, a, -b, float32(z))
	}
}

func TestFMARandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func() float32 { return math.Float32frombits(r.Uint32()) }
	for range 100000 {
		x, y := word(), word()
		checkFMA(t, x, y, word())
		// A third operand near the product, so that cancellation is common.
		z := float32(float64(x) * float64(y))
		checkFMA(t, x, y, -z)
		checkFMA(t, x, y, -math.Nextafter32(z, 0))
		checkFMA(t, x, y, math.Float32frombits(math.Float32bits(z)^r.Uint32()&0x8fffffff))
		// Products far below the addend's last place decide ties only.
		checkFMA(t, x*0x1p-60, y*0x1p-60, float32(r.IntN(1<<10))*0x1p-149)
	}
}

func FuzzFMA(f *testing.F) {
	for i, x := range special {
		f.Add(math.Float32bits(x), math.Float32bits(special[(i*7+3)%len(special)]), math.Float32bits(special[(i*5+1)%len(special)]))
	}
	f.Fuzz(func(t *testing.T, x, y, z uint32) {
		checkFMA(t, math.Float32frombits(x), math.Float32frombits(y), math.Float32frombits(z))
	})
}

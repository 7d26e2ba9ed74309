package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
)

// drawFew draws small integers: many products are equal.
func drawFew(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(3) - 1)
	}
}

// drawBytes draws an int8 vector.
func drawBytes(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(256) - 128)
	}
}

// drawNear draws values that half precision does not tell apart.
func drawNear(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = 1 + float64(r.Int64N(64))*0x1p-18
	}
}

// drawHuge draws values beyond half precision, drawTiny ones below it.
func drawHuge(r kernel.Rand, x []float64) { drawScaled(r, x, 1e6) }
func drawTiny(r kernel.Rand, x []float64) { drawScaled(r, x, 1e-21) }

func drawScaled(r kernel.Rand, x []float64, scale float64) {
	for i := range x {
		x[i] = scale * r.NormFloat64()
	}
}

// drawWrong draws values of which one in 5000 is NaN, and as many are infinite.
func drawWrong(r kernel.Rand, x []float64) {
	for i := range x {
		switch x[i] = r.NormFloat64(); r.Int64N(5000) {
		case 0:
			x[i] = math.NaN()
		case 1:
			x[i] = math.Inf(1)
		case 2:
			x[i] = math.Inf(-1)
		}
	}
}

type draws = map[string]func(kernel.Rand, []float64)

// centroidCases are sizes from which on launches take other ways than in the declared cases.
var centroidCases = []struct {
	instance string
	dims     kernel.Dims
	fill     draws
}{
	{"nearest_centroid", kernel.Dims{"n": 4500, "k": 1030, "d": 128}, nil},
	{"nearest_centroid", kernel.Dims{"n": 4100, "k": 1025, "d": 64}, nil},
	{"nearest_centroid", kernel.Dims{"n": 4097, "k": 1100, "d": 91}, nil},
	{"nearest_centroid", kernel.Dims{"n": 4096, "k": 1024, "d": 8}, draws{"Token": drawFew, "Centroid": drawFew}},
	{"nearest_centroid", kernel.Dims{"n": 4111, "k": 1024, "d": 16}, draws{"Centroid": drawNear}},
	{"nearest_centroid", kernel.Dims{"n": 4200, "k": 1030, "d": 20}, draws{"Token": drawHuge}},
	{"nearest_centroid", kernel.Dims{"n": 4200, "k": 1031, "d": 20}, draws{"Centroid": drawHuge}},
	{"nearest_centroid", kernel.Dims{"n": 4200, "k": 1032, "d": 20}, draws{"Token": drawTiny, "Centroid": drawTiny}},
	{"nearest_centroid", kernel.Dims{"n": 4200, "k": 1033, "d": 20}, draws{"Token": drawTiny, "Centroid": drawHuge}},
	{"nearest_centroid", kernel.Dims{"n": 4200, "k": 1034, "d": 100}, draws{"Token": drawWrong}},
	{"nearest_centroid", kernel.Dims{"n": 4200, "k": 1035, "d": 20}, draws{"Centroid": drawWrong}},
	{"nearest_centroid", kernel.Dims{"n": 66000, "k": 1100, "d": 128}, nil},
	{"nearest_centroid", kernel.Dims{"n": 65600, "k": 1027, "d": 70}, nil},
	{"nearest_centroid", kernel.Dims{"n": 65537, "k": 1024, "d": 33}, nil},
	{"kmeans_update", kernel.Dims{"n": 30000, "k": 2, "d": 40}, draws{"Code": func(r kernel.Rand, x []float64) {
		for i := range x {
			x[i] = float64(r.Int64N(3) - 1)
		}
	}}},
	{"centroid_scores", kernel.Dims{"tq": 33, "k": 30000, "d": 24, "p": 64}, nil},
	{"centroid_scores", kernel.Dims{"tq": 70, "k": 3000, "d": 20, "p": 300}, nil},
	{"centroid_scores", kernel.Dims{"tq": 3, "k": 5000, "d": 4, "p": 20}, draws{"Query": drawFew, "Centroid": drawFew}},
	{"centroid_scores", kernel.Dims{"tq": 2, "k": 3000, "d": 8, "p": 2500}, draws{"Query": drawFew, "Centroid": drawFew}},
	{"centroid_scores_int8", kernel.Dims{"tq": 33, "k": 25000, "d": 48, "p": 32}, draws{"Query": drawBytes, "Centroid": drawBytes}},
	{"centroid_scores_int8", kernel.Dims{"tq": 200, "k": 1500, "d": 144, "p": 40}, draws{"Query": drawBytes, "Centroid": drawBytes}},
	{"centroid_scores_int8", kernel.Dims{"tq": 70, "k": 1500, "d": 20, "p": 8}, draws{"Query": drawBytes, "Centroid": drawBytes}},
}

// wrong says whether some values are not finite: a data error of nearest_centroid.
func wrong(fill draws) bool {
	x := make([]float64, 1<<15)
	for _, draw := range fill {
		draw(rand.New(rand.NewPCG(1, 2)), x)
		if slices.ContainsFunc(x, func(v float64) bool { return v-v != 0 }) {
			return true
		}
	}
	return false
}

// TestDeviceCentroids runs them in every variant.
func TestDeviceCentroids(t *testing.T) {
	dev := onDevice(t)
	s, err := dev.NewStream()
	require.NoError(t, err)
	for _, c := range centroidCases {
		for _, b := range dev.Backend().Bindings() {
			if b.Kernel != c.instance || testing.Short() && c.dims["n"] > 10000 && b.Variant == "tiled" { // every entry of it ran
				continue
			}
			t.Run(fmt.Sprint(c.instance, "/", b.Variant, c.dims), func(t *testing.T) { runVariant(t, s, b.Variant, c.instance, c.dims, c.fill) })
		}
	}
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
}

func runVariant(t *testing.T, s backend.Stream, variant, instance string, d kernel.Dims, fill draws) {
	k, in := kernel.Find(instance)
	c := kernel.Case{Name: large, Dims: d, Fill: fill}
	if instance == "kmeans_update" {
		c.Attrs = map[string]any{"Shift": 40}
	}
	ops, err := harness.Build(k, in, c, s, 11, harness.Layout{Guard: 256})
	require.NoError(t, err)
	p, err := k.PrepareAny(s, ops.Args, kernel.WithVariant(variant))
	require.NoError(t, err)
	require.NoError(t, p.LaunchAny(ops.Args))
	if err = s.Sync(); wrong(fill) {
		require.ErrorIs(t, err, backend.ErrArgument)
	} else {
		require.NoError(t, err)
	}
	_, err = ops.CompareSample(0)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.NoError(t, ops.Free())
}

func TestCentroidWorkspaces(t *testing.T) {
	sizes := []int64{0, 1, 127, 128, 129, 1023, 1024, 4095, 4096, 24575, 24576, 33792, 65536, 65537, 1 << 20}
	ranges := func(a [16]int64) int64 {
		if r := nearestRanges(a[0], a[2]); r > 1 {
			return 8 * a[0] * r
		}
		return 0
	}
	screened := func(a [16]int64) int64 { return screenHeader + 12*a[0] + CeilDiv(a[2], 64)*64*2*a[1] }
	for _, n := range sizes {
		for _, axis := range []int{0, 2} {
			monotone(t, [16]int64{n, 128, n}, axis, sizes[1:], nearestWorkspace, ranges)
			monotone(t, [16]int64{n, 70, n}, axis, sizes[1:], screenWorkspace, screened)
		}
		monotone(t, [16]int64{n, 0, n}, 1, []int64{1, 16, 63, 64, 65, 96, 97, 128}, screenWorkspace, screened)
	}
}

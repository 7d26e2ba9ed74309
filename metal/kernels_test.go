package metal

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/metal/internal/sim"
)

type fills = map[string]func(kernel.Rand, []float64)

func fillSmallIntegers(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = float64(r.Int64N(5) - 2)
	}
}

func lens(n int, length int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = length
	}
	return out
}

// ownCases are points that these bodies in particular can get wrong and the declared cases do not reach.
var ownCases = []struct {
	instance string
	device   bool // offsets as another kernel might write them
	c        kernel.Case
}{
	// The key of the last result is shared by more scores than are results, behind scores with better keys.
	{"topk", false, kernel.Case{Name: "ties-at-the-threshold", Dims: kernel.Dims{"b": 3, "n": 777, "k": 300}, Absent: []string{"Live"},
		Fill: fills{"Score": fillSmallIntegers}}},
	// Sorted in device memory, with ties.
	{"topk", false, kernel.Case{Name: "large-ties", Dims: kernel.Dims{"b": 2, "n": 3000, "k": 2500}, Absent: []string{"Live"},
		Fill: fills{"Score": fillSmallIntegers}}},
	{"topk", false, kernel.Case{Name: "live-within-k", Dims: kernel.Dims{"b": 4, "n": 2600, "k": 2300},
		Fill: fills{"Live": func(_ kernel.Rand, x []float64) { copy(x, []float64{0, 1, 2299, 1e9}) }, "Score": fillSmallIntegers}}},
	// Several tiles of values although there are no distances to stage.
	// More rows than a threadgroup and more right-hand sides than a tile, several blocks of 256.
	{"rbf_matmul_f32", false, kernel.Case{Name: "several-of-everything", Dims: kernel.Dims{"n": 70, "m": 600, "d": 19, "c": 6}, Attrs: map[string]any{"Gamma": .03}}},
	// More offsets than one pass of the stage that makes them trustworthy.
	{"maxsim_f32", false, kernel.Case{Name: "many-documents", Dims: kernel.Dims{"nq": 1, "nd": 600, "d": 8},
		Lens: map[string][]int64{"tq": {3}, "td": lens(600, 2)}, Absent: []string{"QueryMask", "DocMask"}}},
	{"maxsim_f32", true, kernel.Case{Name: "many-wrong-offsets", Dims: kernel.Dims{"nq": 1, "nd": 600, "d": 8},
		Lens: map[string][]int64{"tq": {3}, "td": lens(600, 2)}, Absent: []string{"QueryMask", "DocMask"},
		Fill: fills{"DocOff": func(_ kernel.Rand, x []float64) { x[200], x[300], x[400] = 700, -5, 1e6 }}}},
	{"maxsim_bf16", true, kernel.Case{Name: "wrong-query-offsets", Dims: kernel.Dims{"nq": 3, "nd": 2, "d": 40},
		Lens: map[string][]int64{"tq": {4, 5, 40}, "td": {9, 33}}, Absent: []string{"QueryMask", "DocMask"},
		Fill: fills{"QueryOff": func(_ kernel.Rand, x []float64) { x[0], x[2] = -1, 2 }}}},
	// A row longer than the simdgroup's share, all of whose hardest negatives tie.
	{"hardest_negative_loss_backward_f32", false, kernel.Case{Name: "all-tied", Dims: kernel.Dims{"rows": 3, "cols": 1100, "o": 1},
		Attrs: map[string]any{"Temperature": .5, "Offset": 600, "Reduction": kernels.ReduceMean, "Tie": kernels.TieEvenSplit},
		Fill:  fills{"Score": func(_ kernel.Rand, x []float64) { clear(x) }}}},
	// Two passes of the threadgroup that adds the rows.
	{"hardest_negative_loss_f32", false, kernel.Case{Name: "many-rows", Dims: kernel.Dims{"rows": 520, "cols": 530, "o": 1},
		Attrs: map[string]any{"Temperature": 1.0, "Offset": 4, "Reduction": kernels.ReduceSum}}},
	// More cells than the threadgroup's memory sorts, and one of the two operands absent.
	{"centroid_scores", false, kernel.Case{Name: "many-cells", Dims: kernel.Dims{"tq": 2, "k": 2600, "d": 3, "p": 2300}, Absent: []string{"Score", "Half", "Cell"},
		Fill: fills{"Query": fillSmallIntegers, "Centroid": fillSmallIntegers}}},
	{"centroid_scores_int8", false, kernel.Case{Name: "many-cells", Dims: kernel.Dims{"tq": 2, "k": 2600, "d": 3, "p": 2300}, Absent: []string{"Half", "CellScore"},
		Fill: fills{"Query": fillSmallIntegers, "Centroid": fillSmallIntegers}}},
	// Rows longer than the threadgroup, and short ones read many at a time.
	{"kmeans_update", false, kernel.Case{Name: "wide", Dims: kernel.Dims{"n": 40, "k": 3, "d": 600}, Attrs: map[string]any{"Shift": 40}, Fill: fills{"Code": fillThree}}},
	{"kmeans_update", false, kernel.Case{Name: "narrow", Dims: kernel.Dims{"n": 2000, "k": 3, "d": 3}, Attrs: map[string]any{"Shift": 40}, Fill: fills{"Code": fillThree}}},
	// Tokens before the first query and after the last, more lists than a pass of the stage of offsets.
	{"plaid_candidates", true, kernel.Case{Name: "spare-tokens", Dims: kernel.Dims{"nq": 2, "p": 3, "c": 70, "k": 300, "w": 3, "kw": 10},
		Lens: map[string][]int64{"tq": {4, 5}, "l": lens(300, 4)}, Attrs: map[string]any{"Documents": 70}, Absent: []string{"Allowed"},
		Fill: fills{"QueryOff": func(_ kernel.Rand, x []float64) { x[0], x[2] = 2, 7 }, "Cell": fillRange(-5, 310), "ListDoc": fillRange(0, 70)}}},
	{"plaid_candidates", true, kernel.Case{Name: "wrong-offsets", Dims: kernel.Dims{"nq": 2, "p": 3, "c": 70, "k": 300, "w": 3, "kw": 10},
		Lens: map[string][]int64{"tq": {4, 5}, "l": lens(300, 4)}, Attrs: map[string]any{"Documents": 70}, Absent: []string{"Allowed"},
		Fill: fills{"ListOff": func(_ kernel.Rand, x []float64) { x[100], x[200] = 2000, -3 }, "Cell": fillRange(0, 300), "ListDoc": fillRange(0, 70)}}},
}

func fillThree(r kernel.Rand, x []float64) { fillRange(0, 3)(r, x) }

// fillRange draws integers of [low, high).
func fillRange(low, high int64) func(kernel.Rand, []float64) {
	return func(r kernel.Rand, x []float64) {
		for i := range x {
			x[i] = float64(low + r.Int64N(high-low))
		}
	}
}

func TestOwnCases(t *testing.T) {
	for _, o := range sim.Orders {
		b, _ := simulated(t, o)
		d := open(t, b, backend.WithPoison())
		for _, c := range ownCases {
			t.Run(o.String()+"/"+c.instance+"/"+c.c.Name, func(t *testing.T) {
				k, in := kernel.Find(c.instance)
				require.NotNil(t, k)
				s := newStream(t, d)
				ops, err := harness.Build(k, in, c.c, s, harness.Seed(c.c.Name), harness.Layout{Guard: 256, Device: c.device})
				require.NoError(t, err)
				want, err := ops.Expect()
				require.NoError(t, err)
				for _, v := range b.Bindings() {
					if v.Kernel == c.instance {
						runOwnCase(t, k, s, ops, want, v.Variant)
					}
				}
				require.NoError(t, ops.Free())
				require.NoError(t, s.Close())
			})
		}
		require.NoError(t, d.Close())
	}
}

func runOwnCase(t *testing.T, k kernel.Info, s *stream, ops *harness.Operands, want *harness.Expected, variant string) {
	p, err := k.PrepareAny(s, ops.Args, kernel.WithVariant(variant))
	if errors.Is(err, backend.ErrUnsupported) {
		return // the other variant takes the size
	}
	require.NoError(t, err)
	require.NoError(t, ops.Repoison())
	require.NoError(t, p.LaunchAny(ops.Args))
	if err := s.Sync(); want.Status != 0 {
		require.EqualError(t, err, kernel.StatusError(k, want.Status).Error(), variant)
	} else {
		require.NoError(t, err, variant)
	}
	_, err = ops.Compare(want)
	require.NoError(t, err, variant)
	require.NoError(t, p.Close())
}

// TestTwoFloatSums: what a float sum would lose is kept. 256 columns make a block; the first and the last cancel at
// 2^24, where floats are two apart, and each block between adds a quarter.
func TestTwoFloatSums(t *testing.T) {
	b, _ := simulated(t, sim.Forward)
	d := open(t, b)
	s := newStream(t, d)
	const blocks, block = 200, 256
	put := func(values []float32, dims ...int64) backend.View {
		buf, err := d.Alloc(int64(len(values)) * 4)
		require.NoError(t, err)
		var raw []byte
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
		require.NoError(t, s.Upload(buf, 0, raw))
		return backend.NewView(buf, 0, backend.F32, dims...)
	}
	v := make([]float32, blocks*block)
	for i := range v {
		switch i / block {
		case 0:
			v[i] = 65536
		case blocks - 1:
			v[i] = -65536
		default:
			v[i] = 1. / 1024
		}
	}
	a := &kernels.RBFMatmulArgs{X: put([]float32{1}, 1, 1), Y: put(slices.Repeat([]float32{1}, len(v)), int64(len(v)), 1),
		V: put(v, int64(len(v)), 1), O: put([]float32{0}, 1, 1), Gamma: 1}
	for _, variant := range []string{"naive", "tiled"} {
		require.NoError(t, kernels.RBFMatmul.Launch(s, a, kernel.WithVariant(variant)))
		var out [4]byte
		require.NoError(t, s.Download(out[:], a.O.Buf, 0))
		require.Equal(t, float32(blocks-2)/4, math.Float32frombits(binary.LittleEndian.Uint32(out[:])), variant)
	}
}

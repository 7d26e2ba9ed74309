package simd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/backend/num"
)

// wantCells checks the outputs of either form against dots, tq×k.
func wantCells(t *testing.T, what string, dots []float32, tq, k, p, stride int, score []float32, half []uint16, cell []int32, cellScore []float32) {
	t.Helper()
	for i := range tq {
		row := dots[i*k : (i+1)*k]
		for c, v := range row {
			if got := score[c*stride+i]; math.Float32bits(got) != math.Float32bits(v) {
				t.Fatalf("%s: token %d, centroid %d: want %x, got %x", what, i, c, v, got)
			}
			if got, want := half[c*stride+i], num.F16FromFloat32(v); got != want {
				t.Fatalf("%s: token %d, centroid %d as f16: want %x, got %x", what, i, c, want, got)
			}
		}
		for j, r := range canon.TopK(nil, row, p) {
			require.EqualValues(t, r.ID, cell[i*p+j], "%s: cell %d of token %d", what, j, i)
			require.Equal(t, math.Float32bits(r.Score), math.Float32bits(cellScore[i*p+j]), "%s: score of cell %d of token %d", what, j, i)
		}
	}
}

// scoresShapes are around panels and groups, with one range of centroids and with several.
func scoresShapes() [][4]int {
	s := [][4]int{{1, 1, 1, 1}, {5, 50, 12, 50}, {32, 100, 33, 8}, {33, 700, 16, 40}, {300, 130, 8, 7}, {21, 6000, 17, 8}}
	if !testing.Short() {
		s = append(s, [][4]int{{21, 9000, 24, 8}, {40, 6000, 16, 50}, {3, 40000, 40, 33}}...)
	}
	return s
}

// TestCentroidScoresIsTheDefinition, rows dense and with a gap.
func TestCentroidScoresIsTheDefinition(t *testing.T) {
	for _, q := range scoresShapes() {
		for i, kind := range []string{"normal", "ties", "tiny", "specials"} {
			tq, k, d, p := q[0], q[1], q[2], q[3]
			query, centroid := centroidData(kind, uint64(i), tq*d), centroidData(kind, uint64(i+10), k*d)
			dots := make([]float32, tq*k)
			canon.Matrix(dots, query, tq, centroid, k, d)
			for _, l := range Levels() {
				for _, workers := range []int{1, 3} {
					s := openLevel(t, l, workers)
					stride := tq + workers - 1
					a := &kernels.CentroidScoresArgs{Query: matrixOf(t, s, backend.F32, query, int64(tq), int64(d)), Centroid: matrixOf(t, s, backend.F32, centroid, int64(k), int64(d))}
					score, half, cell, cellScore := scoresOutputs(t, s, tq, k, p, stride)
					a.Score, a.ScoreHalf, a.Cell, a.CellScore = score, half, cell, cellScore
					require.NoError(t, kernels.CentroidScores.Launch(s, a, kernel.WithVariant(l.String())))
					wantCells(t, fmt.Sprint(q, kind, l, workers), dots, tq, k, p, stride, Slice[float32](&score), Slice[uint16](&half), Slice[int32](&cell), Slice[float32](&cellScore))
				}
			}
		}
	}
}

func scoresOutputs(t *testing.T, s backend.Stream, tq, k, p, stride int) (score, half, cell, cellScore backend.View) {
	n := int64(k * stride)
	score = backend.NewView(upload(t, s, make([]byte, 4*n)), 0, backend.F32, int64(k), int64(tq))
	half = backend.NewView(upload(t, s, make([]byte, 2*n)), 0, backend.F16, int64(k), int64(tq))
	if stride > tq {
		score.Stride, half.Stride = int64(stride), int64(stride)
	}
	cell = matrixOf(t, s, backend.I32, make([]int32, tq*p), int64(tq), int64(p))
	cellScore = matrixOf(t, s, backend.F32, make([]float32, tq*p), int64(tq), int64(p))
	return score, half, cell, cellScore
}

// TestCentroidScoresInt8IsTheDefinition: any integers, and the extremes alone.
func TestCentroidScoresInt8IsTheDefinition(t *testing.T) {
	for _, q := range append(scoresShapes(), [4]int{9, 20, 3000, 4}) {
		for _, kind := range []string{"any", "least", "zeros"} {
			tq, k, d, p := q[0], q[1], q[2], q[3]
			query, centroid := int8Data(kind, 1, tq*d), int8Data(kind, 2, k*d)
			qs, cs := centroidData("normal", 3, tq), centroidData("normal", 4, k)
			if kind == "zeros" {
				cs[0] = float32(math.Inf(1)) // times 0
			}
			dots := make([]float32, tq*k)
			for i := range tq {
				for c := range k {
					var sum int64
					for j := range d {
						sum += int64(query[i*d+j]) * int64(centroid[c*d+j])
					}
					if dots[i*k+c] = float32(sum) * float32(qs[i]*cs[c]); dots[i*k+c] != dots[i*k+c] {
						dots[i*k+c] = canonicalNaN
					}
				}
			}
			for _, u := range int8Units() {
				for _, workers := range []int{1, 3} {
					s := openLevel(t, Detected(), workers)
					if _, err := s.Device().Load("centroid_scores_int8", u.variant); err != nil {
						continue // another architecture, or an extension that is not here
					}
					stride := tq + workers - 1
					a := &kernels.CentroidScoresInt8Args{Query: matrixOf(t, s, backend.I8, query, int64(tq), int64(d)), QueryScale: matrixOf(t, s, backend.F32, qs, int64(tq)),
						Centroid: matrixOf(t, s, backend.I8, centroid, int64(k), int64(d)), CentroidScale: matrixOf(t, s, backend.F32, cs, int64(k))}
					score, half, cell, cellScore := scoresOutputs(t, s, tq, k, p, stride)
					a.Score, a.ScoreHalf, a.Cell, a.CellScore = score, half, cell, cellScore
					require.NoError(t, kernels.CentroidScoresInt8.Launch(s, a, kernel.WithVariant(u.variant)))
					wantCells(t, fmt.Sprint(q, kind, u.variant, workers), dots, tq, k, p, stride, Slice[float32](&score), Slice[uint16](&half), Slice[int32](&cell), Slice[float32](&cellScore))
				}
			}
		}
	}
}

func int8Data(kind string, seed uint64, n int) []int8 {
	x := make([]int8, n)
	if kind == "zeros" {
		return x
	}
	for i, v := range centroidData("normal", seed, n) {
		if x[i] = int8(uint8(math.Float32bits(v))); kind == "least" {
			x[i] = math.MinInt8
		}
	}
	return x
}

// TestCentroidRoutinesAreGeneric: what assembly has beside the products, over lanes, ties and
// NaN, a slot or several.
func TestCentroidRoutinesAreGeneric(t *testing.T) {
	for _, u := range centroidAssembly() {
		if l, ok := ParseLevel(u.variant); !ok || l > Detected() {
			continue
		}
		for lanes := u.width; lanes <= u.lanes; lanes += u.width {
			for trial, kind := range []string{"normal", "ties", "specials", "normal"} {
				const n = 70
				dots := centroidData(kind, uint64(trial), n*lanes)
				bound := centroidData("normal", 9, lanes)
				for j := range bound {
					if bound[j] += .3; j%5 == trial {
						bound[j] = canonicalNaN
					}
				}
				for from := range n {
					wantAt, wantHits := centroidAboveGeneric(&dots[from*lanes], n-from, lanes, &bound[0])
					at, hits := u.above(&dots[from*lanes], n-from, lanes, &bound[0])
					require.Equal(t, wantAt, at, "%s %d %s", u.variant, lanes, kind)
					require.Equal(t, wantHits, hits, "%s %d %s", u.variant, lanes, kind)
				}
				want, got := make([]uint16, n*40), make([]uint16, n*40)
				centroidHalfGeneric(&dots[0], n, lanes, &want[3], 39)
				u.half(&dots[0], n, lanes, &got[3], 39)
				require.Equal(t, want, got, "%s %d %s", u.variant, lanes, kind)
				if u.insert == nil {
					continue
				}
				for _, p := range []int{1, 2, 7, 32} {
					wantValue, wantIndex := make([]float32, p*lanes), make([]int32, p*lanes)
					for s := range p {
						copy(wantValue[s*lanes:], bound)
					}
					gotValue, gotIndex := slices.Clone(wantValue), slices.Clone(wantIndex)
					wantN := centroidInsertGeneric(&dots[0], n, lanes, 5, &wantValue[0], &wantIndex[0], p)
					require.Equal(t, wantN, u.insert(&dots[0], n, lanes, 5, &gotValue[0], &gotIndex[0], p), "%s %d %s %d", u.variant, lanes, kind, p)
					require.Equal(t, wantIndex, gotIndex, "%s %d %s %d", u.variant, lanes, kind, p)
					sameFloats(t, wantValue, gotValue, fmt.Sprint(u.variant, lanes, kind, p))
				}
			}
		}
	}
}

// TestPreparedIndexLaunchesDoNotAllocate, with several tiles and workers.
func TestPreparedIndexLaunchesDoNotAllocate(t *testing.T) {
	const n, k, d, p = 700, 400, 64, 5
	for _, l := range Levels() {
		s := openLevel(t, l, 2)
		token, centroid := matrixOf(t, s, backend.F32, centroidData("normal", 1, n*d), n, d), matrixOf(t, s, backend.F32, centroidData("normal", 2, k*d), k, d)
		code, inv := matrixOf(t, s, backend.I32, make([]int32, n), n), matrixOf(t, s, backend.F32, make([]float32, n), n)
		score, half, cell, cellScore := scoresOutputs(t, s, n, k, p, n)
		doesNotAllocate(t, s, l, kernels.NearestCentroid, &kernels.NearestCentroidArgs{Token: token, Centroid: centroid, Code: code, Score: inv})
		doesNotAllocate(t, s, l, kernels.CentroidScores, &kernels.CentroidScoresArgs{Query: token, Centroid: centroid, Score: score, ScoreHalf: half, Cell: cell, CellScore: cellScore})
		doesNotAllocate(t, s, l, kernels.KMeansUpdate, &kernels.KMeansUpdateArgs{Token: token, Code: code, Shift: 40,
			Sum: matrixOf(t, s, backend.I64, make([]int64, k*d), k, d), Count: matrixOf(t, s, backend.I64, make([]int64, k), k)})
		doesNotAllocate(t, s, l, kernels.ResidualEncode, &kernels.ResidualEncodeArgs{Token: token, Code: code, Centroid: centroid, Cutoff: matrixOf(t, s, backend.F32, []float32{-1, 0, 1}, 3),
			Weight: matrixOf(t, s, backend.F32, []float32{-2, -1, 1, 2}, 4), Packed: matrixOf(t, s, backend.U8, make([]uint8, n*d/4), n, d/4), InvNorm: inv, Bits: 2})
		query, rows := matrixOf(t, s, backend.I8, int8Data("any", 1, n*d), n, d), matrixOf(t, s, backend.I8, int8Data("any", 2, k*d), k, d)
		doesNotAllocate(t, s, l, kernels.CentroidScoresInt8, &kernels.CentroidScoresInt8Args{Query: query, QueryScale: inv, Centroid: rows,
			CentroidScale: matrixOf(t, s, backend.F32, centroidData("normal", 3, k), k), Score: score, ScoreHalf: half, Cell: cell, CellScore: cellScore})
	}
}

func doesNotAllocate[A any](t *testing.T, s backend.Stream, l Level, k *kernel.Kernel[A], a *A) {
	t.Helper()
	p, err := k.Prepare(s, a, kernel.WithVariant(l.String()))
	require.NoError(t, err)
	require.NoError(t, p.Launch(a))
	require.Zero(t, testing.AllocsPerRun(5, func() {
		if err := p.Launch(a); err != nil {
			t.Error(err)
		}
	}), "%s %v", k.Name(), l)
	require.NoError(t, s.Sync())
	require.NoError(t, p.Close())
}

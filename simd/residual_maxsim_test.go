package simd

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// ragged index operands: documents and queries of any length, candidates of every kind.
type raggedIndex struct {
	*indexData
	nq, c int64
	live  backend.View
	floor backend.View
	count backend.View
}

// newRaggedIndex draws an index that d and bits fit, with queries of these lengths; the
// axis has spare tokens beyond the last.
func newRaggedIndex(t testing.TB, s backend.Stream, seed uint64, d, bits int64, queries, docs []int64, spare int64) *raggedIndex {
	i := &raggedIndex{nq: int64(len(queries)), c: int64(2*len(docs)) + 3, indexData: &indexData{
		indexShape: indexShape{nd: int64(len(docs)), d: d, bits: bits, k: 37}, t: t, s: s, r: rand.New(rand.NewPCG(seed, 9))}}
	prefix := func(lens []int64) []int64 {
		off := make([]int64, len(lens)+1)
		for j, n := range lens {
			off[j+1] = off[j] + n
		}
		return off
	}
	q, o := prefix(queries), prefix(docs)
	td := o[len(docs)]
	i.tq = q[len(queries)] + spare
	var err error
	i.queryOff, err = kernel.NewOffsets(s, upload(t, s, make([]byte, 8*len(q))), q)
	require.NoError(t, err)
	i.docOff, err = kernel.NewOffsets(s, upload(t, s, make([]byte, 8*len(o))), o)
	require.NoError(t, err)
	ints := func(low, high int64, dims ...int64) backend.View {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		x := make([]int32, n)
		for j := range x {
			x[j] = int32(low + i.r.Int64N(high-low))
		}
		return backend.NewView(upload(t, s, bytesOf(x)), 0, backend.I32, dims...)
	}
	i.code, i.candidate = ints(0, i.k, td), ints(-1, i.nd, i.nq, i.c)
	i.shift, i.live = ints(38, 42, i.nq), ints(math.MinInt32, math.MaxInt32, i.nq, (i.k+31)/32)
	packed := make([]byte, td*d*bits/8)
	for j := range packed {
		packed[j] = byte(i.r.Int64N(256))
	}
	i.packed = backend.NewView(upload(t, s, packed), 0, backend.U8, td, d*bits/8)
	i.inv, i.floor, i.score = i.floats(backend.F32, .9, 1.1, td), i.floats(backend.F32, -1, 0, i.tq, 3), i.floats(backend.F32, 0, 1, i.nq, i.c)
	counts := make([]int64, i.nq)
	for j := range counts {
		counts[j] = i.r.Int64N(i.c + 1)
	}
	i.count = backend.NewView(upload(t, s, bytesOf(counts)), 0, backend.I64, i.nq)
	return i
}

// scores runs launch and returns the bits of what it wrote.
func (i *raggedIndex) scores(launch func() error) []uint32 {
	require.NoError(i.t, launch())
	require.NoError(i.t, i.s.Sync())
	var out []uint32
	for _, x := range Slice[float32](&i.score) {
		out = append(out, math.Float32bits(x))
	}
	return out
}

// indexVariants are the variants of one instance that this machine runs beside generic.
func indexVariants(l Level) []string {
	switch l {
	case AVX512:
		return []string{"avx512", "avx512vnni", "amx"}
	case NEON:
		return []string{"neon", "neondot"}
	}
	return []string{l.String()}
}

var raggedQueries = [][]int64{{1}, {5}, {7, 1}, {8}, {21}, {16, 0, 3}, {9, 33, 2}, {32}, {31, 17}, {70, 5}, {0, 24}, {64, 64}}

// TestCandidateKernelsAgree compares every variant with the portable one, bit for bit, for
// queries and documents of lengths around every vector and tile, alone and among others.
func TestCandidateKernelsAgree(t *testing.T) {
	docs := []int64{0, 1, 2, 3, 4, 5, 11, 12, 13, 17, 47, 48, 49, 97}
	for _, l := range Levels()[1:] {
		for _, workers := range []int{1, 3} {
			s := openLevel(t, l, workers)
			portable := openLevel(t, Generic, 1)
			for n, queries := range raggedQueries {
				if testing.Short() && n%3 != 1 {
					continue
				}
				for _, shape := range [][2]int64{{8, 1}, {16, 2}, {64, 2}, {24, 4}, {128, 4}, {40, 2}, {5, 8}, {64, 4}, {36, 2}, {42, 4}} {
					seed := uint64(n)<<16 | uint64(shape[0]<<4|shape[1])
					name := fmt.Sprintf("%v queries %v d %d bits %d", l, queries, shape[0], shape[1])
					spare := int64(n % 3)
					want := runIndex(newRaggedIndex(t, portable, seed, shape[0], shape[1], queries, docs, spare), []string{"generic"})
					got := runIndex(newRaggedIndex(t, s, seed, shape[0], shape[1], queries, docs, spare), indexVariants(l))
					require.NotEmpty(t, got)
					for k, v := range got {
						require.Equal(t, want[indexRun{k.kernel, "generic"}], v, "%s: %s %s", name, k.kernel, k.variant)
					}
				}
			}
		}
	}
}

type indexRun struct{ kernel, variant string }

// runIndex runs the kernels of candidates that promise bits in every variant.
func runIndex(i *raggedIndex, variants []string) map[indexRun][]uint32 {
	out := map[indexRun][]uint32{}
	keep := func(kernel, variant string, launch func(kernel.Option) error) {
		var refused error
		x := i.scores(func() error {
			refused = launch(withVariant(variant))
			if errors.Is(refused, backend.ErrUnsupported) {
				return nil
			}
			return refused
		})
		if refused == nil {
			out[indexRun{kernel, variant}] = x
		}
	}
	query, centroid, weight := i.floats(backend.F32, -.2, .2, i.tq, i.d), i.floats(backend.F32, -.2, .2, i.k, i.d), i.floats(backend.F32, -.05, .05, 1<<i.bits)
	special := i.floats(backend.F32, -1, 1, i.k, i.tq)
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		Slice[float32](&special)[i.r.Int64N(i.k*i.tq)] = x
	}
	half, plain := i.floats(backend.F16, -1, 1, i.k, i.tq), i.floats(backend.F32, -1, 1, i.k, i.tq)
	q8, table, unit := i.int8s(127, i.tq, i.d), i.int8s(127, 1<<i.bits), i.floats(backend.F32, 1e-5, 2e-5, i.tq)
	Slice[int8](&q8)[0] = -128
	small := i.int8s(63, 1<<i.bits)
	for _, v := range variants {
		for _, inv := range []backend.View{i.inv, {}} {
			for _, normalize := range []bool{false, true} {
				keep(fmt.Sprint("residual_maxsim_f32 ", inv.Absent(), normalize), v, func(o kernel.Option) error {
					return kernels.ResidualMaxSim.Launch(i.s, &kernels.ResidualMaxSimArgs{Query: query, QueryOff: i.queryOff, Code: i.code, Packed: i.packed, DocOff: i.docOff,
						Centroid: centroid, Weight: weight, InvNorm: inv, Candidate: i.candidate, Count: i.count, Shift: i.shift, Score: i.score,
						Bits: i.bits, Normalize: normalize && inv.Absent()}, o)
				})
			}
			for n, scores := range []backend.View{plain, half, special, plain} {
				table := table
				if n == 3 {
					table = small
				}
				keep(fmt.Sprint("residual_maxsim_int8 ", inv.Absent(), n), v, func(o kernel.Option) error {
					return kernels.ResidualMaxSimInt8.Launch(i.s, &kernels.ResidualMaxSimInt8Args{CentroidScore: scores, Query: q8, Unit: unit, QueryOff: i.queryOff,
						Code: i.code, Packed: i.packed, DocOff: i.docOff, Table: table, InvNorm: inv, Candidate: i.candidate, Count: i.count, Score: i.score, Bits: i.bits}, o)
				})
			}
		}
		for n, live := range []backend.View{i.live, {}} {
			for m, scores := range []backend.View{plain, special} {
				keep(fmt.Sprint("plaid_approx ", n, m), v, func(o kernel.Option) error {
					return kernels.PlaidApprox.Launch(i.s, &kernels.PlaidApproxArgs{CentroidScore: scores, QueryOff: i.queryOff, Code: i.code, DocOff: i.docOff,
						Candidate: i.candidate, Count: i.count, Live: live, Floor: i.floor, Shift: i.shift, Score: i.score}, o)
				})
			}
		}
	}
	return out
}

func withVariant(v string) kernel.Option { return kernel.WithVariant(v) }

package canon

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// scoreSlow is the definition, with one Dot at a time and exact integers.
func scoreSlow(q []float32, qmask []byte, doc []float32, dmask []byte, dim int, scale Scale) (Fixed, []int32) {
	winner := make([]int32, len(q)/dim)
	var total int64
	var nan, plus, minus, any bool
	for i := range winner {
		winner[i] = -1
		if qmask != nil && qmask[i] == 0 {
			continue
		}
		any = true
		best := math.Inf(-1)
		for j := range len(doc) / dim {
			if dmask != nil && dmask[j] == 0 {
				continue
			}
			v := float64(Dot(q[i*dim:(i+1)*dim], doc[j*dim:(j+1)*dim]))
			if winner[i] < 0 || v > best || math.IsNaN(v) {
				best, winner[i] = v, int32(j)
			}
			if math.IsNaN(v) {
				break
			}
		}
		switch {
		case math.IsNaN(best):
			nan = true
		case math.IsInf(best, 1):
			plus = true
		case math.IsInf(best, -1):
			minus = true
		default:
			total += roundExactly(best, scale.Shift())
		}
	}
	switch {
	case nan || plus && minus:
		return NaN, winner
	case plus:
		return PosInf, winner
	case minus && any:
		return NegInf, winner
	}
	return Fixed(total), winner
}

func TestQueryByHand(t *testing.T) {
	q, err := NewQuery([]float32{1, 0, 0, 1}, nil, 2, 1)
	require.NoError(t, err)
	// n = 2; m is a little above 1, for rounding: 62 − 1 − 1.
	require.Equal(t, 60, q.Scale().Shift())

	winner := make([]int32, 2)
	f, err := q.Score([]float32{0.5, 0.25, 0.5, -0.25, 0, 0.75}, nil, winner)
	require.NoError(t, err)
	require.Equal(t, 1.25, q.Scale().Float(f))
	require.Equal(t, Fixed(1.25*(1<<60)), f)
	require.Equal(t, []int32{0, 2}, winner) // the tie at 0.5 goes to token 0

	f, err = q.Score([]float32{0.5, 0.25, 0.5, -0.25, 0, 0.75}, []byte{0, 1, 0}, winner)
	require.NoError(t, err)
	require.Equal(t, 0.25, q.Scale().Float(f))
	require.Equal(t, []int32{1, 1}, winner)
}

func TestQueryEdges(t *testing.T) {
	nan := float32(math.NaN())
	q, err := NewQuery([]float32{1, 0, nan, nan}, []byte{1, 0}, 2, 1)
	require.NoError(t, err)
	winner := make([]int32, 2)

	f, err := q.Score(nil, nil, winner)
	require.NoError(t, err)
	require.Equal(t, NegInf, f)
	require.Equal(t, []int32{-1, -1}, winner)

	f, err = q.Score([]float32{0.5, 0}, []byte{0}, nil)
	require.NoError(t, err)
	require.Equal(t, NegInf, f)

	// A masked NaN token does not matter, an active one does.
	f, err = q.Score([]float32{nan, 0, 0.5, 0}, []byte{0, 7}, winner)
	require.NoError(t, err)
	require.Equal(t, 0.5, q.Scale().Float(f))
	require.Equal(t, []int32{1, -1}, winner)
	f, err = q.Score([]float32{0.5, 0, nan, 0, 0.75, nan}, nil, winner)
	require.NoError(t, err)
	require.Equal(t, NaN, f)
	require.Equal(t, []int32{1, -1}, winner)

	// −0 does not beat +0, nor the reverse.
	f, err = q.Score([]float32{-0x1p-149, 0, 0, 0}, nil, winner)
	require.NoError(t, err)
	require.Zero(t, f)
	require.Equal(t, []int32{1, -1}, winner)

	none, err := NewQuery([]float32{nan, 1}, []byte{0}, 2, 1)
	require.NoError(t, err)
	f, err = none.Score(nil, nil, nil)
	require.NoError(t, err)
	require.Zero(t, f)
	f, err = none.Score([]float32{nan, nan}, nil, nil)
	require.NoError(t, err)
	require.Zero(t, f)

	zero, err := NewQuery([]float32{0, 0}, nil, 2, 0)
	require.NoError(t, err)
	f, err = zero.Score([]float32{0, 0}, nil, nil)
	require.NoError(t, err)
	require.Zero(t, f)
}

func TestQueryErrors(t *testing.T) {
	_, err := NewQuery([]float32{1, 2, 3}, nil, 2, 1)
	require.ErrorIs(t, err, ErrShape)
	require.EqualError(t, err, "canon: query of 3 values with 2 components: lengths do not match")
	_, err = NewQuery(nil, nil, 0, 1)
	require.ErrorIs(t, err, ErrShape)
	_, err = NewQuery([]float32{1, 2}, []byte{1, 1}, 2, 1)
	require.ErrorIs(t, err, ErrShape)
	_, err = NewQuery([]float32{float32(math.NaN())}, nil, 1, 1)
	require.ErrorIs(t, err, ErrScale)
	_, err = NewQuery([]float32{1}, nil, 1, math.Inf(1))
	require.ErrorIs(t, err, ErrScale)

	q, err := NewQuery([]float32{3, 0, 0, 4}, nil, 2, 1)
	require.NoError(t, err)
	_, err = q.Score(make([]float32, 3), nil, nil)
	require.ErrorIs(t, err, ErrShape)
	_, err = q.Score(make([]float32, 4), make([]byte, 3), nil)
	require.ErrorIs(t, err, ErrShape)
	_, err = q.Score(make([]float32, 4), nil, make([]int32, 1))
	require.ErrorIs(t, err, ErrShape)
	_, err = q.Score([]float32{0, 0, 1, 1.5}, nil, nil)
	require.ErrorIs(t, err, ErrRange)
	require.ErrorContains(t, err, "query token 1, document token 1: canon: addend 6")
}

func bytesMask(r *rand.Rand, n int) []byte {
	if r.IntN(3) == 0 {
		return nil
	}
	m := make([]byte, n)
	for i := range m {
		m[i] = byte(r.IntN(3)) // a third inactive
	}
	return m
}

func TestQueryEqualsTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][3]int{{1, 1, 1}, {3, 5, 7}, {4, 16, 8}, {32, 33, 128}, {chunk + 3, 20, 40}, {2, 17, depth + 9}, {5, 0, 4}, {0, 3, 4}} {
		nq, nd, dim := shape[0], shape[1], shape[2]
		for i := range 12 {
			q, doc := vectors(r, nq*dim, false), vectors(r, nd*dim, false)
			qmask, dmask := bytesMask(r, nq), bytesMask(r, nd)
			norm := MaxNorm(doc, dim)
			if nd > 0 && i%4 == 3 { // duplicates make ties, a NaN and an infinity spread
				copy(doc[(nd/2)*dim:], doc[:dim])
				doc[r.IntN(len(doc))] = special[len(special)-1-r.IntN(2)]
			}
			query, err := NewQuery(q, qmask, dim, norm)
			require.NoError(t, err)
			winner := make([]int32, nq)
			got, err := query.Score(doc, dmask, winner)
			require.NoError(t, err)
			want, wantWinner := scoreSlow(q, qmask, doc, dmask, dim, query.Scale())
			require.Equal(t, want, got, "%v", shape)
			require.Equal(t, wantWinner, winner, "%v", shape)
		}
	}
}

// The bound holds for parallel vectors, where the dot product is the product of
// the norms and its rounding may exceed it.
func TestQueryBoundHoldsForParallelVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		dim := 1 + r.IntN(200)
		q := vectors(r, dim, false)
		for i := range q {
			q[i] *= float32(math.Ldexp(1, r.IntN(6)-70*r.IntN(2)))
		}
		query, err := NewQuery(q, nil, dim, Norm(q))
		require.NoError(t, err)
		_, err = query.Score(q, nil, nil)
		require.NoError(t, err)
	}
}

// A token's order in the query changes no bit of the score.
func TestQueryScoreDoesNotDependOnTokenOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const nq, nd, dim = 40, 30, 24
	q, doc := vectors(r, nq*dim, false), vectors(r, nd*dim, false)
	norm := MaxNorm(doc, dim)
	first, err := NewQuery(q, nil, dim, norm)
	require.NoError(t, err)
	want, err := first.Score(doc, nil, nil)
	require.NoError(t, err)
	for range 10 {
		r.Shuffle(nq, func(i, j int) {
			for c := range dim {
				q[i*dim+c], q[j*dim+c] = q[j*dim+c], q[i*dim+c]
			}
		})
		again, err := NewQuery(q, nil, dim, norm)
		require.NoError(t, err)
		got, err := again.Score(doc, nil, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestQueryIsSharedAndAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	q, doc := vectors(r, 32*64, false), vectors(r, 50*64, false)
	query, err := NewQuery(q, nil, 64, MaxNorm(doc, 64))
	require.NoError(t, err)
	want, err := query.Score(doc, nil, nil)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(5, func() { _, _ = query.Score(doc, nil, nil) }))

	var wait sync.WaitGroup
	got := make([]Fixed, 4)
	for i := range got {
		wait.Go(func() { got[i], _ = query.Score(doc, nil, nil) })
	}
	wait.Wait()
	require.Equal(t, []Fixed{want, want, want, want}, got)
}

func BenchmarkScore(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const nq, nd, dim = 32, 180, 128
	doc := vectors(r, nd*dim, false)
	query, err := NewQuery(vectors(r, nq*dim, false), nil, dim, MaxNorm(doc, dim))
	require.NoError(b, err)
	for b.Loop() {
		_, _ = query.Score(doc, nil, nil)
	}
	b.ReportMetric(2*nq*nd*dim*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

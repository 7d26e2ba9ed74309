package build

import (
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCentroidsFor(t *testing.T) {
	for tokens, k := range map[int64]int64{
		0: 1, 1: 16, 100: 128, 10_000: 1024, 247_210: 4096, 1_000_000: 8192, 2_440_000: 16384,
		10_000_000: 32768, 100_000_000: 131072, 600_000_000: 262144,
		1 << 12: 1024, 1<<12 - 1: 512, 1 << 40: 1 << 24,
	} {
		require.Equal(t, k, centroidsFor(tokens), tokens)
	}
	require.Equal(t, int64(30_720), documentsFor(30_720))
	require.Equal(t, int64(175_272), documentsFor(1_000_000))
	require.Equal(t, int64(0), documentsFor(0))
}

func TestPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	lens := make([]int32, 500)
	for i := range lens {
		lens[i] = int32(max(r.IntN(60)-10, 0))
	}
	o := Options{Seed: 9, Sample: 200, PointsPerCentroid: 8}
	p := newPlan(lens, &o)
	require.Len(t, p.documents, 200)
	require.IsIncreasing(t, p.documents)
	var tokens, held int64
	accept := p.sampler()
	for j, n := range lens {
		if accept(int64(j)) {
			require.Positive(t, n, "an empty document was sampled")
			tokens += int64(n)
		}
	}
	require.Equal(t, tokens, p.tokens)
	require.Equal(t, int64(1024), p.k)
	require.Equal(t, min(tokens, 8*1024), p.training)
	for i, s := range p.heldOut {
		require.Contains(t, p.documents, s.document)
		require.True(t, i == 0 || s.document > p.heldOut[i-1].document)
		held += int64(lens[s.document]) - s.from
	}
	require.Equal(t, p.held, held)
	require.Equal(t, (p.tokens+10)/20, held)
	require.Equal(t, p, newPlan(lens, &o), "the same seed draws the same")
	o.Seed++
	require.NotEqual(t, p, newPlan(lens, &o))

	tiny := newPlan([]int32{0, 3, 0, 4}, &Options{PointsPerCentroid: 256})
	require.Equal(t, int64(7), tiny.k, "no more than the sample")
	require.Equal(t, []span{{1, 0}, {3, 0}}, tiny.heldOut, "too few to hold some out")
}

// Every set of the asked size is as likely as any other.
func TestSelector(t *testing.T) {
	const rounds = 20000
	var hits [10]int
	for seed := range uint64(rounds) {
		s, picked := newSelector(seed, 1, 3, 10), 0
		for i := range hits {
			if s.take() {
				hits[i]++
				picked++
			}
		}
		require.Equal(t, 3, picked)
	}
	for i, n := range hits {
		require.InDelta(t, 0.3*rounds, n, 300, "item %d: five standard deviations", i)
	}
}

// fickle gives other documents from the n-th reading on.
type fickle struct {
	*Arrays
	readings *int
	from     int
	spoil    func(document int, vectors []float32) []float32
}

func (f fickle) Documents() iter.Seq2[[]float32, error] {
	*f.readings++
	changed := *f.readings > f.from
	return func(yield func([]float32, error) bool) {
		j := 0
		for doc, err := range f.Arrays.Documents() {
			if changed {
				doc = f.spoil(j, doc)
			}
			if doc != nil && !yield(doc, err) {
				return
			}
			j++
		}
	}
}

func TestCollectionThatChanges(t *testing.T) {
	docs := clustered(1, 40, 14, 16)
	for name, spoil := range map[string]func(int, []float32) []float32{
		"shorter": func(j int, x []float32) []float32 { return x[:len(x)/2/16*16] },
		"fewer": func(j int, x []float32) []float32 {
			if j == 39 {
				return nil
			}
			return x
		},
		"torn": func(j int, x []float32) []float32 { return x[:max(len(x)-1, 0)] },
	} {
		for from := 1; from < 4; from++ { // readings: scan, sample, encoding
			n := 0
			_, _, err := InMemory(ctx(), fast(t), fickle{docs, &n, from, spoil}, Options{ChunkTokens: 50, Centroids: 8, Sample: 20})
			switch {
			case from == 3:
				require.NoError(t, err)
			case name == "torn":
				require.ErrorIs(t, err, ErrWidth, name)
			default:
				require.ErrorIs(t, err, ErrChanged, name)
			}
		}
	}
}

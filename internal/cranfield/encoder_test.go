package cranfield_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/benchsuite/retrieval"
	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/internal/golden"
)

var modes = []cranfield.Mode{cranfield.Plain, cranfield.Cosine, cranfield.Prior, cranfield.TF}

func fit(t testing.TB) (*cranfield.Collection, *cranfield.Model) {
	t.Helper()
	c, err := cranfield.Load()
	require.NoError(t, err)
	e, err := cranfield.LoadEncoder()
	require.NoError(t, err)
	return c, e.Fit(c.Texts())
}

// scorer scores queries against all documents: products and their sum in float32,
// then maxima and their sum, as kernels do. A query row depends on its piece alone,
// so its maxima are kept.
type scorer struct {
	queries, docs *cranfield.Tokens
	maxima        map[int32][]float32 // by piece: the best product in each document
}

func (s *scorer) scores(q int) []float64 {
	sums := make([]float32, s.docs.Len())
	for i := s.queries.Offsets[q]; i < s.queries.Offsets[q+1]; i++ {
		for d, best := range s.best(i) {
			sums[d] += best
		}
	}
	scores := make([]float64, len(sums))
	for d, sum := range sums {
		scores[d] = float64(sum)
	}
	return scores
}

func (s *scorer) best(i int64) []float32 {
	if m := s.maxima[s.queries.IDs[i]]; m != nil {
		return m
	}
	m := make([]float32, s.docs.Len())
	x := s.queries.Vectors[i*cranfield.Dim:][:cranfield.Dim]
	for d := range m {
		m[d] = float32(math.Inf(-1))
		for j := s.docs.Offsets[d]; j < s.docs.Offsets[d+1]; j++ {
			m[d] = max(m[d], dot(x, s.docs.Vectors[j*cranfield.Dim:][:cranfield.Dim]))
		}
	}
	s.maxima[s.queries.IDs[i]] = m
	return m
}

func dot(x, y []float32) float32 {
	var a, b, c, d float32
	for i := 0; i < len(x); i += 4 {
		a += x[i] * y[i]
		b += x[i+1] * y[i+1]
		c += x[i+2] * y[i+2]
		d += x[i+3] * y[i+3]
	}
	return (a + b) + (c + d)
}

func ranking(scores []float64) []retrieval.Scored {
	docs := make([]retrieval.Scored, len(scores))
	for i, s := range scores {
		docs[i] = retrieval.Scored{Doc: strconv.Itoa(i + 1), Score: s}
	}
	return docs
}

func TestGoldenTop10(t *testing.T) {
	var file struct {
		Documents int     `json:"documents"`
		Length    float64 `json:"avg_len_L"`
		Distinct  float64 `json:"avg_distinct_U"`
		Vectors   int     `json:"distinct_vectors"`
		Queries   []struct {
			Query  int
			Text   string
			Scored []int32 `json:"scored_ids"`
			IDs    []int32 `json:"ids"`
			Modes  map[string]struct {
				Docs   []int
				Scores []float64
			}
		}
	}
	require.NoError(t, json.Unmarshal(golden.File(t, "static-encoder", "cranfield-top10.json"), &file))
	c, m := fit(t)
	length, distinct := m.Means()
	require.InDelta(t, file.Length, length, 1e-12)
	require.InDelta(t, file.Distinct, distinct, 1e-12)
	require.Len(t, c.Documents, file.Documents)
	require.Len(t, file.Queries, 20)
	// within is the bound that the vectors state for scores computed in float32.
	const within = 5e-5
	e, err := cranfield.LoadEncoder()
	require.NoError(t, err)
	for _, mode := range modes {
		docs := m.Documents(mode)
		require.Len(t, docs.IDs, file.Vectors)
		require.Len(t, docs.Vectors, file.Vectors*docs.Dim)
		queries := m.Queries(mode, c.Questions())
		s := scorer{queries, docs, map[int32][]float32{}}
		for _, q := range file.Queries {
			i := q.Query - 1
			require.Equal(t, q.IDs, e.Tokenizer().Encode(nil, c.Queries[i].Text))
			require.Equal(t, q.Scored, queries.IDs[queries.Offsets[i]:queries.Offsets[i+1]])
			want := q.Modes[mode.String()]
			require.Len(t, want.Docs, 10)
			for rank, d := range retrieval.Rank(ranking(s.scores(i)), false)[:10] {
				require.Equal(t, strconv.Itoa(want.Docs[rank]), d.Doc, "%v query %d rank %d", mode, q.Query, rank+1)
				require.InDelta(t, want.Scores[rank], d.Score, within, "%v query %d rank %d", mode, q.Query, rank+1)
			}
		}
	}
}

// TestGoldenNDCG scores all queries in every mode, from cosines between pieces and
// the lengths of the rows; six decimals are what the vectors state.
func TestGoldenNDCG(t *testing.T) {
	var file struct {
		NDCG map[string]float64 `json:"ndcg_at_10"`
	}
	require.NoError(t, json.Unmarshal(golden.File(t, "static-encoder", "cranfield-top10.json"), &file))
	c, m := fit(t)
	cosines := map[int32][]float32{} // by query piece: with each piece of a document
	for _, mode := range modes {
		docs, queries := m.Documents(mode), m.Queries(mode, c.Questions())
		docLen, queryLen := lengths(docs), lengths(queries)
		maxima := map[int32][]float32{} // by query piece: in each document
		run := retrieval.Run{}
		for q := range c.Queries {
			scores := make([]float64, docs.Len())
			for i := queries.Offsets[q]; i < queries.Offsets[q+1]; i++ {
				id := queries.IDs[i]
				if cosines[id] == nil {
					row := queries.Vectors[i*cranfield.Dim:][:cranfield.Dim]
					cosines[id] = pieceCosines(row, queryLen[i], docs, docLen)
				}
				if maxima[id] == nil {
					maxima[id] = bestCosines(cosines[id], docs, docLen)
				}
				for d, best := range maxima[id] {
					scores[d] += float64(queryLen[i] * best)
				}
			}
			run[strconv.Itoa(q+1)] = ranking(scores)
		}
		r, err := retrieval.Evaluate(c.Qrels(), run, retrieval.Options{Cutoffs: []int{10}, Corpus: c.IDs()})
		require.NoError(t, err)
		require.Equal(t, 225, r.Averaged)
		want, ok := file.NDCG["cranfield "+mode.String()+" all"]
		require.True(t, ok)
		require.Equal(t, fmt.Sprintf("%.6f", want), fmt.Sprintf("%.6f", r.Mean.NDCG[0]), "%v", mode)
	}
}

// bestCosines are the largest of cosine times row length in each document.
func bestCosines(cosine []float32, docs *cranfield.Tokens, docLen []float32) []float32 {
	out := make([]float32, docs.Len())
	for d := range out {
		out[d] = float32(math.Inf(-1))
		for j := docs.Offsets[d]; j < docs.Offsets[d+1]; j++ {
			out[d] = max(out[d], docLen[j]*cosine[docs.IDs[j]])
		}
	}
	return out
}

func lengths(t *cranfield.Tokens) []float32 {
	out := make([]float32, len(t.IDs))
	for i := range out {
		row := t.Vectors[i*t.Dim : (i+1)*t.Dim]
		out[i] = float32(math.Sqrt(float64(dot(row, row))))
	}
	return out
}

// pieceCosines are those of a row with every piece that occurs in documents.
func pieceCosines(row []float32, length float32, docs *cranfield.Tokens, docLen []float32) []float32 {
	out := make([]float32, 1<<15)
	done := make([]bool, len(out))
	for j, id := range docs.IDs {
		if !done[id] {
			done[id] = true
			out[id] = dot(row, docs.Vectors[j*docs.Dim:(j+1)*docs.Dim]) / (length * docLen[j])
		}
	}
	return out
}

func TestTokens(t *testing.T) {
	const rounding = 1e-6 // a few float32 roundings of components below 1
	c, m := fit(t)
	for _, mode := range modes {
		docs := m.Documents(mode)
		require.Equal(t, len(c.Documents), docs.Len())
		require.Equal(t, docs.Offsets[470], docs.Offsets[471], "document 471 is empty")
		require.Equal(t, docs.Offsets[994], docs.Offsets[995], "document 995 is empty")
		for i, length := range lengths(docs) {
			if unit := mode == cranfield.Plain || mode == cranfield.Cosine; unit && math.Abs(float64(length)-1) > rounding {
				t.Fatalf("%v row %d has length %g", mode, i, length)
			}
		}
	}
	cosine, prior, factors := m.Documents(cranfield.Cosine), m.Documents(cranfield.Prior), m.Factors()
	for d, factor := range factors {
		for i := cosine.Offsets[d] * cranfield.Dim; i < cosine.Offsets[d+1]*cranfield.Dim; i++ {
			if got, want := float64(prior.Vectors[i]), factor*float64(cosine.Vectors[i]); math.Abs(got-want) > rounding {
				t.Fatalf("document %d: component %d is %g, want %g", d+1, i, got, want)
			}
		}
	}
	queries := m.Queries(cranfield.TF, []string{"wing wing", "", "?", "zyzzyva"})
	require.Equal(t, []int64{0, 2, 2, 2}, queries.Offsets[:4], "repeats count, punctuation does not")
	require.Greater(t, queries.Offsets[4], int64(2), "unseen pieces have vectors")
	require.False(t, slices.ContainsFunc(queries.Vectors, func(v float32) bool { return math.IsNaN(float64(v)) }))
}

func TestModes(t *testing.T) {
	for _, mode := range modes {
		got, err := cranfield.ParseMode(mode.String())
		require.NoError(t, err)
		require.Equal(t, mode, got)
	}
	_, err := cranfield.ParseMode("bm25")
	require.EqualError(t, err, `cranfield: mode "bm25", want one of tf, plain, cosine, prior`)
}

package retrieval_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/benchsuite/retrieval"
	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/internal/golden"
)

// exact is how far sums in another order may be from the golden values, which are
// good to 1e-12.
const exact = 1e-12

func TestGoldenMetrics(t *testing.T) {
	golden.Run(t, golden.Claim{
		Area: "metrics", Op: "retrieval-metrics",
		Arrays: []string{
			"run_query", "run_doc", "run_score", "qrel_query", "qrel_doc", "qrel_grade",
			"queries", "has_relevant", "ndcg_graded", "ndcg_binary", "recall", "precision", "mrr", "map",
			"mean_ndcg_graded", "mean_ndcg_binary", "mean_recall", "mean_precision", "mean_mrr", "mean_map",
		},
	}, metrics)
}

// input reads the run and the qrels of a case.
func input(t *testing.T, c *golden.Case) (retrieval.Run, retrieval.Qrels) {
	t.Helper()
	run, qrels := retrieval.Run{}, retrieval.Qrels{}
	docs, scores := c.Ints(t, "run_doc"), c.Floats(t, "run_score")
	for i, q := range c.Ints(t, "run_query") {
		id := strconv.FormatInt(q, 10)
		run[id] = append(run[id], retrieval.Scored{Doc: strconv.FormatInt(docs[i], 10), Score: scores[i]})
	}
	docs = c.Ints(t, "qrel_doc")
	grades := c.Ints(t, "qrel_grade")
	for i, q := range c.Ints(t, "qrel_query") {
		id := strconv.FormatInt(q, 10)
		if qrels[id] == nil {
			qrels[id] = map[string]int{}
		}
		qrels[id][strconv.FormatInt(docs[i], 10)] = int(grades[i])
	}
	return run, qrels
}

func metrics(t *testing.T, c *golden.Case) {
	run, qrels := input(t, c)
	o := retrieval.Options{SkipUnmatched: true}
	c.Decode(t, "k", &o.Cutoffs)
	if c.Attribute("score_precision") != "float64" {
		for q := range run { // the mode's other rules are the caller's here
			for i := range run[q] {
				run[q][i].Score = float64(float32(run[q][i].Score))
			}
		}
	}
	r, err := retrieval.Evaluate(qrels, run, o)
	require.NoError(t, err)
	queries, relevant := c.Ints(t, "queries"), c.Ints(t, "has_relevant")
	require.Len(t, r.Queries, len(queries))
	averages := c.Floats(t, "map")
	for i, q := range r.Queries {
		require.Equal(t, strconv.FormatInt(queries[i], 10), q.Query)
		require.Equal(t, relevant[i] != 0, q.Relevant > 0)
		require.InDelta(t, averages[i], q.MAP, exact)
	}
	n := len(o.Cutoffs)
	for name, of := range map[string]func(m *retrieval.Measures) []float64{
		"ndcg_graded": func(m *retrieval.Measures) []float64 { return m.NDCGGraded },
		"ndcg_binary": func(m *retrieval.Measures) []float64 { return m.NDCG },
		"recall":      func(m *retrieval.Measures) []float64 { return m.Recall },
		"precision":   func(m *retrieval.Measures) []float64 { return m.Precision },
		"mrr":         func(m *retrieval.Measures) []float64 { return m.MRR },
	} {
		want := c.Floats(t, name)
		for i := range r.Queries {
			require.InDeltaSlice(t, want[i*n:(i+1)*n], of(&r.Queries[i].Measures), exact, "%s of query %s", name, r.Queries[i].Query)
		}
		require.InDeltaSlice(t, c.Floats(t, "mean_"+name), of(&r.Mean), exact, "mean %s", name)
	}
	require.InDelta(t, c.Floats(t, "mean_map")[0], r.Mean.MAP, exact)
}

// TestGoldenTRECMode runs the near ties unchanged: the mode itself narrows scores.
func TestGoldenTRECMode(t *testing.T) {
	golden.Run(t, golden.Claim{
		Area: "metrics", Op: "retrieval-metrics",
		When:   []string{"score_precision!=float64"},
		Arrays: []string{"run_query", "run_doc", "run_score", "qrel_query", "qrel_doc", "qrel_grade", "mean_ndcg_binary"},
	}, func(t *testing.T, c *golden.Case) {
		run, qrels := input(t, c)
		var cutoffs []int
		c.Decode(t, "k", &cutoffs)
		r, err := retrieval.Evaluate(qrels, run, retrieval.Options{Cutoffs: cutoffs, TREC: true})
		require.NoError(t, err)
		want := c.Floats(t, "mean_ndcg_binary")
		require.InDeltaSlice(t, want, r.Mean.NDCG, exact)
		double, err := retrieval.Evaluate(qrels, run, retrieval.Options{Cutoffs: cutoffs})
		require.NoError(t, err)
		require.NotEqual(t, r.Mean.NDCG, double.Mean.NDCG, "a comparison in float64 tells the ties apart")
	})
}

func TestGoldenBM25(t *testing.T) {
	golden.Run(t, golden.Claim{
		Area: "metrics", Op: "bm25",
		Arrays: []string{"doc_tokens", "doc_offsets", "query_tokens", "query_offsets", "scores", "vocabulary", "idf", "mean_raw_idf"},
	}, func(t *testing.T, c *golden.Case) {
		split := func(kind string) [][]int64 {
			tokens, offsets := c.Ints(t, kind+"_tokens"), c.Ints(t, kind+"_offsets")
			var out [][]int64
			for i := range len(offsets) - 1 {
				out = append(out, tokens[offsets[i]:offsets[i+1]])
			}
			return out
		}
		docs := split("doc")
		m := retrieval.NewBM25(docs, retrieval.BM25Params{K1: c.Float(t, "k1"), B: c.Float(t, "b"), Epsilon: c.Float(t, "epsilon")})
		require.Equal(t, len(docs), m.Len())
		require.InDelta(t, c.Floats(t, "mean_raw_idf")[0], m.MeanIDF(), exact)
		idf := c.Floats(t, "idf")
		for i, term := range c.Ints(t, "vocabulary") {
			got, ok := m.IDF(term)
			require.True(t, ok)
			require.InDelta(t, idf[i], got, exact, "term %d", term)
		}
		want := c.Floats(t, "scores")
		var got []float64
		for i, q := range split("query") {
			got = m.Scores(got, q)
			require.InDeltaSlice(t, want[i*len(docs):(i+1)*len(docs)], got, exact, "query %d", i)
		}
	})
}

func TestGoldenCranfieldBM25(t *testing.T) {
	golden.Run(t, golden.Claim{
		Area: "metrics", Op: "cranfield-bm25",
		Arrays: []string{"ndcg5", "recall5", "mrr5", "ndcg10", "recall10", "mrr10", "means", "top10_docs", "top10_scores"},
	}, func(t *testing.T, c *golden.Case) {
		collection, err := cranfield.Load()
		require.NoError(t, err)
		docs := make([][]string, len(collection.Documents))
		for i, d := range collection.Documents {
			text := d.Text
			if c.Attribute("fields") == `["T","W"]` {
				text = d.Title + "\n" + d.Text
			}
			docs[i] = retrieval.Words(text)
		}
		m := retrieval.NewBM25(docs, retrieval.BM25Params{K1: c.Float(t, "k1"), B: c.Float(t, "b"), Epsilon: c.Float(t, "epsilon")})
		run := retrieval.Run{}
		var scores []float64
		top, topScores := c.Ints(t, "top10_docs"), c.Floats(t, "top10_scores")
		for i, q := range collection.Queries {
			scores = m.Scores(scores, retrieval.Words(q.Text))
			id := strconv.Itoa(i + 1)
			for j, s := range scores {
				run[id] = append(run[id], retrieval.Scored{Doc: strconv.Itoa(j + 1), Score: s})
			}
			for j, d := range retrieval.Rank(run[id], false)[:10] {
				require.Equal(t, strconv.FormatInt(top[10*i+j], 10), d.Doc, "query %s rank %d", id, j+1)
				require.InDelta(t, topScores[10*i+j], d.Score, 1e-9)
			}
		}
		r, err := retrieval.Evaluate(collection.Qrels(), run, retrieval.Options{Cutoffs: []int{5, 10}, Corpus: collection.IDs()})
		require.NoError(t, err)
		for i, q := range r.Queries {
			require.Equal(t, strconv.Itoa(i+1), q.Query)
			require.InDelta(t, c.Floats(t, "ndcg5")[i], q.NDCG[0], exact)
			require.InDelta(t, c.Floats(t, "ndcg10")[i], q.NDCG[1], exact)
			require.InDelta(t, c.Floats(t, "recall5")[i], q.Recall[0], exact)
			require.InDelta(t, c.Floats(t, "recall10")[i], q.Recall[1], exact)
			require.InDelta(t, c.Floats(t, "mrr5")[i], q.MRR[0], exact)
			require.InDelta(t, c.Floats(t, "mrr10")[i], q.MRR[1], exact)
		}
		means := []float64{r.Mean.NDCG[0], r.Mean.Recall[0], r.Mean.MRR[0], r.Mean.NDCG[1], r.Mean.Recall[1], r.Mean.MRR[1]}
		require.InDeltaSlice(t, c.Floats(t, "means"), means, exact)
	})
}

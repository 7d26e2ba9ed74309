package retrieval_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/benchsuite/retrieval"
)

func ExampleEvaluate() {
	qrels := retrieval.Qrels{"1": {"a": 1, "b": 1}}
	run := retrieval.Run{"1": {{Doc: "a", Score: 0.2}, {Doc: "b", Score: 0.9}, {Doc: "c", Score: 0.5}}}
	r, err := retrieval.Evaluate(qrels, run, retrieval.Options{Cutoffs: []int{2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("nDCG@2 %.4f, recall@2 %.1f, MRR@2 %.1f\n", r.Mean.NDCG[0], r.Mean.Recall[0], r.Mean.MRR[0])
	// Output: nDCG@2 0.6131, recall@2 0.5, MRR@2 1.0
}

// list makes scored documents of ids and scores in turn.
func list(v ...any) []retrieval.Scored {
	var out []retrieval.Scored
	for i := 0; i < len(v); i += 2 {
		out = append(out, retrieval.Scored{Doc: v[i].(string), Score: v[i+1].(float64)})
	}
	return out
}

func relevant(ids ...string) map[string]int {
	m := map[string]int{}
	for _, id := range ids {
		m[id] = 1
	}
	return m
}

func TestWorked(t *testing.T) {
	ranks := list("a", 6., "b", 5., "c", 4., "d", 3., "e", 2., "f", 1.)
	inf := math.Inf(-1)
	for _, c := range []struct {
		name              string
		qrels             retrieval.Qrels
		run               retrieval.Run
		k                 int
		ndcg, recall, mrr float64
	}{
		{"four queries",
			retrieval.Qrels{"1": relevant("a"), "2": relevant("c"), "3": relevant("b", "d", "x"), "4": relevant("y")},
			retrieval.Run{"1": ranks, "2": ranks, "3": ranks, "4": ranks}, 5, 0.4995473143666032, 2. / 3, 11. / 24},
		{"more relevant than k", retrieval.Qrels{"1": relevant("a", "b", "c", "d", "e", "f")}, retrieval.Run{"1": ranks}, 5, 1, 5. / 6, 1},
		{"ties by id as string", retrieval.Qrels{"1": relevant("10")},
			retrieval.Run{"1": list("1", .5, "2", .5, "3", .5, "9", .5, "10", .5, "12", .5)}, 5, 0.38685280723454163, 1, .2},
		{"tie behind the first", retrieval.Qrels{"1": relevant("1", "3")},
			retrieval.Run{"1": list("1", .5, "2", .5, "10", .5, "3", .7)}, 2, 0.6131471927654584, .5, 1},
		{"negative scores", retrieval.Qrels{"1": relevant("b")}, retrieval.Run{"1": list("a", -1., "b", -2., "c", -.5)}, 5, .5, 1, 1. / 3},
		{"minus infinity is last", retrieval.Qrels{"1": relevant("b")}, retrieval.Run{"1": list("a", -1e300, "b", inf)}, 5, 1 / math.Log2(3), 1, .5},
		{"minus zero ties with zero", retrieval.Qrels{"1": relevant("b")}, retrieval.Run{"1": list("a", 0., "b", math.Copysign(0, -1))}, 1, 1, 1, 1},
	} {
		r, err := retrieval.Evaluate(c.qrels, c.run, retrieval.Options{Cutoffs: []int{c.k}})
		require.NoError(t, err, c.name)
		require.InDelta(t, c.ndcg, r.Mean.NDCG[0], exact, c.name)
		require.InDelta(t, c.recall, r.Mean.Recall[0], exact, c.name)
		require.InDelta(t, c.mrr, r.Mean.MRR[0], exact, c.name)
		require.Equal(t, len(c.qrels), r.Averaged)
	}
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	docs := list("1", 1., "2", 1., "3", 1., "9", 2., "10", 2., "12", 0.)
	qrels := retrieval.Qrels{"q": relevant("9", "2")}
	want, err := retrieval.Evaluate(qrels, retrieval.Run{"q": docs}, retrieval.Options{Cutoffs: []int{1, 3}})
	require.NoError(t, err)
	for range docs {
		docs = append(docs[1:], docs[0])
		got, err := retrieval.Evaluate(qrels, retrieval.Run{"q": docs}, retrieval.Options{Cutoffs: []int{1, 3}})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestInputErrors(t *testing.T) {
	run, qrels := retrieval.Run{"1": list("a", 1., "b", 2.)}, retrieval.Qrels{"1": relevant("a")}
	k := []int{5}
	for _, c := range []struct {
		want  string
		qrels retrieval.Qrels
		run   retrieval.Run
		o     retrieval.Options
	}{
		{"retrieval: cutoff 0, want at least 1", qrels, run, retrieval.Options{Cutoffs: []int{5, 0}}},
		{"retrieval: query 1: document a: twice in the run", qrels, retrieval.Run{"1": list("a", 1., "a", 2.)}, retrieval.Options{Cutoffs: k}},
		{"retrieval: query 1: document a: score is NaN", qrels, retrieval.Run{"1": list("a", math.NaN())}, retrieval.Options{Cutoffs: k}},
		{"retrieval: query 2: in the run, not in the qrels", qrels, retrieval.Run{"1": run["1"], "2": run["1"]}, retrieval.Options{Cutoffs: k}},
		{"retrieval: query 2: in the qrels, not in the run", retrieval.Qrels{"1": qrels["1"], "2": qrels["1"]}, run, retrieval.Options{Cutoffs: k}},
		{"retrieval: query 1: document c: in the corpus, not ranked", qrels, run, retrieval.Options{Cutoffs: k, Corpus: []string{"a", "c"}}},
		{"retrieval: query 1: ranks 2 documents, the corpus has 1", qrels, run, retrieval.Options{Cutoffs: k, Corpus: []string{"a"}}},
		{"retrieval: query 1: document z: relevant, not in the corpus", retrieval.Qrels{"1": relevant("z")}, run, retrieval.Options{Cutoffs: k, Corpus: []string{"a", "b"}}},
		{"retrieval: no query to average over: 1 in the run, 1 in the qrels", retrieval.Qrels{"1": {"a": 0}}, run, retrieval.Options{Cutoffs: k}},
		{"retrieval: no query to average over: 0 in the run, 0 in the qrels", nil, nil, retrieval.Options{Cutoffs: k}},
	} {
		_, err := retrieval.Evaluate(c.qrels, c.run, c.o)
		require.EqualError(t, err, c.want)
		var ie *retrieval.InputError
		require.ErrorAs(t, err, &ie)
	}
}

func TestUnmatchedAndIrrelevantQueries(t *testing.T) {
	docs := list("a", 1., "b", 2.)
	run := retrieval.Run{"1": docs, "2": docs, "3": docs}
	qrels := retrieval.Qrels{"1": relevant("b"), "2": {"a": 0, "b": -1}, "4": relevant("a")}
	r, err := retrieval.Evaluate(qrels, run, retrieval.Options{Cutoffs: []int{1}, SkipUnmatched: true})
	require.NoError(t, err)
	require.Equal(t, 1, r.Averaged)
	require.Equal(t, []string{"2"}, r.NoRelevant)
	require.Equal(t, []string{"3", "4"}, r.Unmatched)
	require.Equal(t, 1.0, r.Mean.NDCG[0])
	require.Equal(t, 1.0, r.Mean.Hits[0])

	r, err = retrieval.Evaluate(qrels, run, retrieval.Options{Cutoffs: []int{1}, TREC: true})
	require.NoError(t, err)
	require.Equal(t, 2, r.Averaged, "trec_eval counts a query without relevant documents as 0")
	require.Equal(t, .5, r.Mean.NDCG[0])
}

func TestTRECComparesInSinglePrecision(t *testing.T) {
	run := retrieval.Run{"1": list("1", 1+1e-8, "2", 1.)}
	qrels := retrieval.Qrels{"1": relevant("1")}
	r, err := retrieval.Evaluate(qrels, run, retrieval.Options{Cutoffs: []int{1}})
	require.NoError(t, err)
	require.Equal(t, 1.0, r.Mean.NDCG[0])
	r, err = retrieval.Evaluate(qrels, run, retrieval.Options{Cutoffs: []int{1}, TREC: true})
	require.NoError(t, err)
	require.Equal(t, 0.0, r.Mean.NDCG[0])
}

func TestWords(t *testing.T) {
	require.Equal(t, []string{"foo", "café", "strasse", "42", "中文"}, retrieval.Words(" ＦＯＯ Café—Straße_42 中文!"))
	require.Empty(t, retrieval.Words(" .,"))
}

func TestBM25Worked(t *testing.T) {
	m := retrieval.NewBM25([][]string{{"a", "b"}, {"a", "c"}, {"a", "d", "e"}, {"f", "a", "a"}}, retrieval.DefaultBM25)
	once := m.Scores(nil, []string{"a"})
	const printed = 1e-8 // the worked values have eight digits
	require.InDeltaSlice(t, []float64{.09337293, .09337293, .07795355, .11405284}, once, printed)
	for i, twice := range m.Scores(nil, []string{"a", "a"}) {
		require.Equal(t, 2*once[i], twice)
	}
	require.InDeltaSlice(t, []float64{.93109655, 0, 0, .77733749}, m.Scores(nil, []string{"b", "f"}), printed)
	require.Equal(t, []float64{0, 0, 0, 0}, m.Scores(once, []string{"unknown"}), "reuses the slice")
	_, ok := m.IDF("unknown")
	require.False(t, ok)
	require.Empty(t, retrieval.NewBM25[string](nil, retrieval.DefaultBM25).Scores(nil, []string{"a"}))
	require.Equal(t, []float64{0}, retrieval.NewBM25([][]string{{}}, retrieval.DefaultBM25).Scores(nil, []string{"a"}))
}

func TestTRECFilesRoundTrip(t *testing.T) {
	run := retrieval.Run{"10": list("a", .1, "b", 1./3), "9": list("x", math.Inf(-1), "y", -2.5e-300), "q": list("z", 0.)}
	var b bytes.Buffer
	require.NoError(t, retrieval.WriteRun(&b, run, "tag"))
	require.Equal(t, `9 Q0 y 1 -2.5e-300 tag
9 Q0 x 2 -Inf tag
10 Q0 b 1 0.3333333333333333 tag
10 Q0 a 2 0.1 tag
q Q0 z 1 0 tag
`, b.String())
	got, tag, err := retrieval.ReadRun(&b, "x.run")
	require.NoError(t, err)
	require.Equal(t, "tag", tag)
	for q := range run {
		require.ElementsMatch(t, run[q], got[q])
	}
	qrels := retrieval.Qrels{"10": {"a": 2, "b": -1}, "9": {"c": 0}}
	b.Reset()
	require.NoError(t, retrieval.WriteQrels(&b, qrels))
	require.Equal(t, "9 0 c 0\n10 0 a 2\n10 0 b -1\n", b.String())
	back, err := retrieval.ReadQrels(&b, "x.qrels")
	require.NoError(t, err)
	require.Equal(t, qrels, back)
}

func TestTRECFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1 0 a 1\n\n1 0 b\n":     "retrieval: f:3: 3 fields, want 4",
		"1 0 a x\n":              `retrieval: f:1: grade "x" is not an integer`,
		"1 0 a 1\r\n1 0 a 2\n":   "retrieval: f:2: document a of query 1 is judged twice",
		"":                       "retrieval: f:1: no lines",
		strings.Repeat("x", 2e6): "retrieval: f:1: line longer than 1048576 bytes",
	} {
		_, err := retrieval.ReadQrels(strings.NewReader(text), "f")
		require.EqualError(t, err, want)
		var fe *retrieval.FormatError
		require.ErrorAs(t, err, &fe)
	}
	for text, want := range map[string]string{
		"1 Q0 a 1 1.0\n":   "retrieval: f:1: 5 fields, want 6",
		"1 Q0 a 1 NaN t\n": `retrieval: f:1: score "NaN" is not a number`,
		"1 Q0 a 1 1,5 t\n": `retrieval: f:1: score "1,5" is not a number`,
		"1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n1 Q0 a 2 0 t\n": "retrieval: f:3: document a of query 1 occurs twice",
		"\n": "retrieval: f:2: no lines",
	} {
		_, _, err := retrieval.ReadRun(strings.NewReader(text), "f")
		require.EqualError(t, err, want)
	}
	require.EqualError(t, retrieval.WriteRun(&bytes.Buffer{}, retrieval.Run{"a b": list("d", 1.)}, "t"), `retrieval: id "a b" is empty or has blanks`)
	require.EqualError(t, retrieval.WriteQrels(&bytes.Buffer{}, retrieval.Qrels{"q": {"": 1}}), `retrieval: id "" is empty or has blanks`)
	full := errors.New("disk full")
	require.ErrorIs(t, retrieval.WriteQrels(failing{full}, retrieval.Qrels{"q": {"d": 1}}), full)
	_, err := retrieval.ReadQrels(failing{full}, "f")
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, "retrieval: f: ")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Read([]byte) (int, error)  { return 0, f.err }

func FuzzReadRun(f *testing.F) {
	f.Add("1 Q0 a 1 1.5 t\n1 Q0 b 2 -inf t\n")
	f.Fuzz(func(t *testing.T, text string) {
		run, tag, err := retrieval.ReadRun(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, retrieval.WriteRun(&b, run, tag))
		again, _, err := retrieval.ReadRun(&b, "f")
		require.NoError(t, err)
		require.Len(t, again, len(run))
	})
}

// Package retrieval judges rankings: nDCG, recall, precision, MRR and average
// precision as trec_eval defines them, the BM25 baseline, and TREC's run and qrels
// files.
//
// A [Run] has, for each query, documents with scores; [Qrels] have, for each query,
// the grades of judged documents, of which those above 0 are relevant. [Evaluate]
// ranks each query's documents by score, descending, equal scores by document id
// descending as a string (so 9 comes before 10), and averages over queries.
//
// Two modes differ where trec_eval is lenient. By default scores are compared in
// float64, a query that only one side has is an error, and a query without relevant
// documents is left out of the means and counted. With Options.TREC scores are
// compared in float32, unmatched queries are skipped, and a query without relevant
// documents scores 0.
package retrieval

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Scored is a document and its score; −Inf is legal and ranks last.
type Scored struct {
	Doc   string
	Score float64
}

// Run maps query ids to scored documents, in any order.
type Run map[string][]Scored

// Qrels maps query ids to the grades of judged documents.
type Qrels map[string]map[string]int

// Options say how to evaluate.
type Options struct {
	Cutoffs []int // ranks at which measures are taken, each above 0
	// TREC reproduces trec_eval: scores are narrowed to float32 before they are
	// compared, unmatched queries are skipped, and queries without relevant documents
	// count as 0.
	TREC bool
	// SkipUnmatched skips queries that only the run or only the qrels have, and counts
	// them, where the default is an error.
	SkipUnmatched bool
	// Corpus, if not nil, holds all document ids: every query must then rank each of
	// them once, and every relevant document must be among them.
	Corpus []string
}

// Measures of one query, or their means. Slices have one value for each cutoff.
type Measures struct {
	NDCG       []float64 // gain 1 for relevant documents
	NDCGGraded []float64 // gain equal to the grade, 0 for negative ones
	Recall     []float64 // relevant above the cutoff / relevant
	Precision  []float64 // relevant above the cutoff / cutoff
	MRR        []float64 // 1 / rank of the first relevant, 0 if below the cutoff
	Hits       []float64 // 1 if any relevant is above the cutoff
	MAP        float64   // average precision over the whole ranking
}

// QueryResult is the outcome of one query.
type QueryResult struct {
	Query    string
	Relevant int // judged documents with a grade above 0
	Measures
}

// Report is the outcome of an evaluation.
type Report struct {
	Cutoffs []int
	Queries []QueryResult // by query id: numbers ascending, then others as strings
	Mean    Measures      // over the averaged queries
	// Averaged is how many queries the means are over. NoRelevant and Unmatched list
	// those left out.
	Averaged   int
	NoRelevant []string
	Unmatched  []string
}

// InputError says what of a run or of qrels cannot be judged.
type InputError struct {
	Query, Doc string // Doc is empty where the query as a whole is wrong
	Reason     string
}

func (e *InputError) Error() string {
	switch {
	case e.Query == "":
		return "retrieval: " + e.Reason
	case e.Doc == "":
		return fmt.Sprintf("retrieval: query %s: %s", e.Query, e.Reason)
	}
	return fmt.Sprintf("retrieval: query %s: document %s: %s", e.Query, e.Doc, e.Reason)
}

// Evaluate judges a run. It changes neither argument. What it cannot judge is an
// [InputError]: a document twice, a score that is no number, a cutoff below 1, an
// unmatched query, a document outside the corpus, no query at all to average over.
func Evaluate(qrels Qrels, run Run, o Options) (*Report, error) {
	for _, k := range o.Cutoffs {
		if k < 1 {
			return nil, &InputError{Reason: fmt.Sprintf("cutoff %d, want at least 1", k)}
		}
	}
	r := &Report{Cutoffs: slices.Clone(o.Cutoffs), Mean: newMeasures(len(o.Cutoffs))}
	queries, err := matched(qrels, run, o, r)
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		if err := check(q, qrels[q], run[q], o.Corpus); err != nil {
			return nil, err
		}
		ranked := Rank(run[q], o.TREC)
		result := judge(qrels[q], ranked, o.Cutoffs)
		result.Query = q
		r.Queries = append(r.Queries, result)
		if result.Relevant == 0 && !o.TREC {
			r.NoRelevant = append(r.NoRelevant, q)
			continue
		}
		r.Averaged++
		r.Mean.add(&result.Measures)
	}
	if r.Averaged == 0 {
		return nil, &InputError{Reason: fmt.Sprintf("no query to average over: %d in the run, %d in the qrels", len(run), len(qrels))}
	}
	r.Mean.divide(float64(r.Averaged))
	return r, nil
}

// matched lists the queries that both sides have, sorted.
func matched(qrels Qrels, run Run, o Options, r *Report) ([]string, error) {
	var both []string
	for _, q := range sortedIDs(maps.Keys(run)) {
		if _, ok := qrels[q]; ok {
			both = append(both, q)
			continue
		}
		if !o.TREC && !o.SkipUnmatched {
			return nil, &InputError{Query: q, Reason: "in the run, not in the qrels"}
		}
		r.Unmatched = append(r.Unmatched, q)
	}
	for _, q := range sortedIDs(maps.Keys(qrels)) {
		if _, ok := run[q]; ok {
			continue
		}
		if !o.TREC && !o.SkipUnmatched {
			return nil, &InputError{Query: q, Reason: "in the qrels, not in the run"}
		}
		r.Unmatched = append(r.Unmatched, q)
	}
	return both, nil
}

func check(query string, grades map[string]int, docs []Scored, corpus []string) error {
	seen := make(map[string]bool, len(docs))
	for _, d := range docs {
		switch {
		case seen[d.Doc]:
			return &InputError{query, d.Doc, "twice in the run"}
		case math.IsNaN(d.Score):
			return &InputError{query, d.Doc, "score is NaN"}
		}
		seen[d.Doc] = true
	}
	if corpus == nil {
		return nil
	}
	for _, id := range corpus {
		if !seen[id] {
			return &InputError{query, id, "in the corpus, not ranked"}
		}
	}
	if len(docs) != len(corpus) {
		return &InputError{Query: query, Reason: fmt.Sprintf("ranks %d documents, the corpus has %d", len(docs), len(corpus))}
	}
	for _, id := range slices.Sorted(maps.Keys(grades)) {
		if grades[id] > 0 && !seen[id] {
			return &InputError{query, id, "relevant, not in the corpus"}
		}
	}
	return nil
}

// Rank returns the documents in ranking order: score descending, then id descending
// as a string. With single, scores that are equal in float32 are equal.
func Rank(docs []Scored, single bool) []Scored {
	ranked := slices.Clone(docs)
	slices.SortFunc(ranked, func(a, b Scored) int {
		x, y := a.Score, b.Score
		if single {
			x, y = float64(float32(x)), float64(float32(y))
		}
		if x != y {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(b.Doc, a.Doc)
	})
	return ranked
}

// judge takes all measures of one ranking.
func judge(grades map[string]int, ranked []Scored, cutoffs []int) QueryResult {
	var ideal []int // positive grades, best first
	for _, g := range grades {
		if g > 0 {
			ideal = append(ideal, g)
		}
	}
	slices.SortFunc(ideal, func(a, b int) int { return cmp.Compare(b, a) })
	result := QueryResult{Relevant: len(ideal), Measures: newMeasures(len(cutoffs))}
	if len(ideal) == 0 {
		return result
	}
	hits, precisions := 0, 0.0
	for i, d := range ranked {
		if grades[d.Doc] > 0 {
			hits++
			precisions += float64(hits) / float64(i+1)
		}
	}
	result.MAP = precisions / float64(len(ideal))
	for i, k := range cutoffs {
		result.at(i, k, grades, ranked, ideal)
	}
	return result
}

// at takes the measures at cutoff k into place i.
func (r *QueryResult) at(i, k int, grades map[string]int, ranked []Scored, ideal []int) {
	var gain, graded, best, bestGraded float64
	hits := 0
	for rank, d := range ranked[:min(k, len(ranked))] {
		g := grades[d.Doc]
		if g <= 0 {
			continue
		}
		if hits++; hits == 1 {
			r.MRR[i] = 1 / float64(rank+1)
			r.Hits[i] = 1
		}
		gain += discount(rank)
		graded += float64(g) * discount(rank)
	}
	for rank, g := range ideal[:min(k, len(ideal))] {
		best += discount(rank)
		bestGraded += float64(g) * discount(rank)
	}
	r.NDCG[i] = gain / best
	r.NDCGGraded[i] = graded / bestGraded
	r.Recall[i] = float64(hits) / float64(len(ideal))
	r.Precision[i] = float64(hits) / float64(k)
}

// discount is the weight of a gain at a rank counted from 0.
func discount(rank int) float64 { return 1 / math.Log2(float64(rank)+2) }

func newMeasures(cutoffs int) Measures {
	v := make([]float64, 6*cutoffs)
	at := func(i int) []float64 { return v[i*cutoffs : (i+1)*cutoffs : (i+1)*cutoffs] }
	return Measures{NDCG: at(0), NDCGGraded: at(1), Recall: at(2), Precision: at(3), MRR: at(4), Hits: at(5)}
}

func (m *Measures) slices() [6][]float64 {
	return [6][]float64{m.NDCG, m.NDCGGraded, m.Recall, m.Precision, m.MRR, m.Hits}
}

func (m *Measures) add(o *Measures) {
	other := o.slices()
	for i, s := range m.slices() {
		for j := range s {
			s[j] += other[i][j]
		}
	}
	m.MAP += o.MAP
}

func (m *Measures) divide(n float64) {
	for _, s := range m.slices() {
		for j := range s {
			s[j] /= n
		}
	}
	m.MAP /= n
}

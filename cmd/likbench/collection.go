package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/benchsuite"
	"github.com/likbench/likbench/benchsuite/retrieval"
	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/plaid"
)

// scoringBudget bounds one pass over the queries. A slow backend evaluates only as many
// queries as fit, and says so.
const scoringBudget = 8 * time.Second

// top is the rank down to which lists of two dtypes are compared.
const top = 10

// pipeline is the collection encoded once, for passes over different dtypes.
type pipeline struct {
	data    *cranfield.Collection
	docs    *cranfield.Tokens
	queries *cranfield.Tokens
	encode  time.Duration
}

// fitted is the embedded collection with the encoder that has seen it.
type fitted struct {
	data  *cranfield.Collection
	model *cranfield.Model
	took  time.Duration // to fit
}

// embedded reads the collection and fits the encoder, once.
var embedded = sync.OnceValues(func() (*fitted, error) {
	data, err := cranfield.Load()
	if err != nil {
		return nil, err
	}
	enc, err := cranfield.LoadEncoder()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	model := enc.Fit(data.Texts())
	return &fitted{data, model, time.Since(start)}, nil
})

func newPipeline() (*pipeline, error) {
	e, err := embedded()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	p := &pipeline{data: e.data, docs: e.model.Documents(cranfield.TF), queries: e.model.Queries(cranfield.TF, e.data.Questions())}
	p.encode = e.took + time.Since(start)
	return p, nil
}

// ranking is one pass: every document ranked for the first n queries.
type ranking struct {
	queries int
	variant string
	ids     []int32
	scores  []float32
	seconds float64 // of one pass, median
}

func (p *pipeline) tokens(n int) plaid.Tokens {
	end := p.queries.Offsets[n]
	return plaid.Tokens{Vectors: p.queries.Vectors[:end*int64(p.queries.Dim)], Offsets: p.queries.Offsets[:n+1], Dim: p.queries.Dim}
}

// rank scores all queries against all documents on dev, and ranks all of them: metrics
// break ties in another way than the kernel, so that they need the whole list.
func (p *pipeline) rank(ctx context.Context, dev backend.Device, t backend.DType) (r *ranking, err error) {
	corpus, err := plaid.NewCorpus(dev, plaid.Tokens{Vectors: p.docs.Vectors, Offsets: p.docs.Offsets, Dim: p.docs.Dim}, plaid.Options{DType: t})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, corpus.Close()) }()
	nq, nd := p.queries.Offsets, corpus.Len()
	s, err := corpus.NewScorer(plaid.Limits{Queries: len(nq) - 1, Tokens: int(nq[len(nq)-1]), K: nd})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r = &ranking{variant: s.Variant()}
	pass := func(n int) (time.Duration, error) {
		r.queries, r.ids, r.scores = n, make([]int32, n*nd), make([]float32, n*nd)
		start := time.Now()
		err := s.TopK(p.tokens(n), nd, r.ids, r.scores)
		return time.Since(start), err
	}
	n, err := affordable(len(nq)-1, func() (time.Duration, error) { return pass(1) })
	if err != nil {
		return nil, err
	}
	var times []float64
	for begun := time.Now(); len(times) < 3 && (len(times) == 0 || time.Since(begun) < scoringBudget/4); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := pass(n)
		if err != nil {
			return nil, err
		}
		times = append(times, d.Seconds())
	}
	r.seconds = benchsuite.Summarize(times).Median
	return r, nil
}

// affordable is how many of n queries the budget holds, 20 at least, by the fastest of a few
// passes over one: on a machine that is busy otherwise a single one may wait for its turn.
func affordable(n int, one func() (time.Duration, error)) (int, error) {
	fit := 0
	for spent := time.Duration(0); fit < n && spent < scoringBudget/16; {
		d, err := one()
		if err != nil {
			return 0, err
		}
		d = max(d, 1)
		fit, spent = max(fit, int(scoringBudget/d)), spent+d
	}
	return min(max(fit, 20), n), nil
}

// evaluate gives the metrics of a ranking.
func (p *pipeline) evaluate(r *ranking) (map[string]float64, error) {
	run := retrieval.Run{}
	nd := len(p.data.Documents)
	for q := range r.queries {
		docs := make([]retrieval.Scored, 0, nd)
		for i := q * nd; i < (q+1)*nd; i++ {
			docs = append(docs, retrieval.Scored{Doc: strconv.Itoa(int(r.ids[i]) + 1), Score: float64(r.scores[i])})
		}
		run[strconv.Itoa(q+1)] = docs
	}
	return p.measure(run)
}

func (p *pipeline) measure(run retrieval.Run) (map[string]float64, error) {
	rep, err := retrieval.Evaluate(p.data.Qrels(), run, retrieval.Options{Cutoffs: []int{10, 100}, SkipUnmatched: true, Corpus: p.data.IDs()})
	if err != nil {
		return nil, err
	}
	m := rep.Mean
	return map[string]float64{"nDCG@10": m.NDCG[0], "Recall@100": m.Recall[1], "MRR@10": m.MRR[0]}, nil
}

// bm25 is the text baseline on the same queries.
func (p *pipeline) bm25(queries int) (map[string]float64, error) {
	docs := make([][]string, len(p.data.Documents))
	for i, t := range p.data.Texts() {
		docs[i] = retrieval.Words(t)
	}
	m := retrieval.NewBM25(docs, retrieval.DefaultBM25)
	run := retrieval.Run{}
	for q, text := range p.data.Questions()[:queries] {
		var scores []retrieval.Scored
		for d, s := range m.Scores(nil, retrieval.Words(text)) {
			scores = append(scores, retrieval.Scored{Doc: strconv.Itoa(d + 1), Score: s})
		}
		run[strconv.Itoa(q+1)] = scores
	}
	return p.measure(run)
}

// collection runs the embedded collection on dev in f32, and, unless it has to be quick, in
// bf16 beside it.
func collection(ctx context.Context, dev backend.Device, quick bool) (*benchsuite.Collection, error) {
	p, err := newPipeline()
	if err != nil {
		return nil, err
	}
	r, err := p.rank(ctx, dev, backend.F32)
	if err != nil {
		return nil, fmt.Errorf("collection: %w", err)
	}
	out := &benchsuite.Collection{Name: "Cranfield", Documents: len(p.data.Documents), Queries: r.queries, Tokens: p.docs.Offsets[len(p.docs.Offsets)-1],
		Mode: "tf", DType: "f32", Variant: r.variant, EncodeSec: p.encode.Seconds()}
	if out.Metrics, err = p.evaluate(r); err != nil {
		return nil, err
	}
	if out.BM25, err = p.bm25(r.queries); err != nil {
		return nil, err
	}
	out.QueriesPerSec = float64(r.queries) / r.seconds
	out.TokensPerSec = out.QueriesPerSec * float64(out.Tokens)
	if r.queries < len(p.data.Queries) {
		out.Agreement = fmt.Sprintf("only the first %d of %d queries: this backend is slow", r.queries, len(p.data.Queries))
		return out, nil
	}
	if quick {
		out.Agreement = "bf16: left out of a quick run"
		return out, nil
	}
	narrow, err := p.rank(ctx, dev, backend.BF16)
	if errors.Is(err, backend.ErrUnsupported) {
		out.Agreement = "bf16: " + err.Error()
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("collection in bf16: %w", err)
	}
	m, err := p.evaluate(narrow)
	if err != nil {
		return nil, err
	}
	same := agreement(r, narrow, len(p.data.Documents))
	out.Agreement = fmt.Sprintf("bf16 (%s): same top %d as f32 for %d of %d queries, nDCG@10 %.6f, %.0f queries/s",
		narrow.variant, top, same, narrow.queries, m["nDCG@10"], float64(narrow.queries)/narrow.seconds)
	return out, nil
}

// agreement counts the queries whose first ids are the same in the same order.
func agreement(a, b *ranking, nd int) int {
	same := 0
	for q := range min(a.queries, b.queries) {
		equal := true
		for i := q * nd; i < q*nd+top; i++ {
			equal = equal && a.ids[i] == b.ids[i] && !math.IsNaN(float64(b.scores[i]))
		}
		if equal {
			same++
		}
	}
	return same
}

func printCollection(w io.Writer, c *benchsuite.Collection) {
	fmt.Fprintf(w, "\n%s: %d documents, %d queries, %d document tokens of %d components, encoded in %.2f s\n",
		c.Name, c.Documents, c.Queries, c.Tokens, cranfield.Dim, c.EncodeSec)
	fmt.Fprintf(w, "  %-28s %9s %11s %9s\n", "", "nDCG@10", "Recall@100", "MRR@10")
	row := func(name string, m map[string]float64) {
		fmt.Fprintf(w, "  %-28s %9.6f %11.6f %9.6f\n", name, m["nDCG@10"], m["Recall@100"], m["MRR@10"])
	}
	row("late interaction ("+c.Mode+", "+c.DType+")", c.Metrics)
	row("BM25", c.BM25)
	fmt.Fprintf(w, "  %s maxsim + topk of all documents: %.0f queries/s, %.3g document tokens/s\n", c.Variant, c.QueriesPerSec, c.TokensPerSec)
	if c.Agreement != "" {
		fmt.Fprintf(w, "  %s\n", c.Agreement)
	}
}

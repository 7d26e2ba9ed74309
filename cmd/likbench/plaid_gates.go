package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/benchsuite"
	"github.com/likbench/likbench/benchsuite/retrieval"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
)

// judged is a collection with judgements, as token vectors.
type judged struct {
	name          string
	docs, queries *tokens
	qrels         retrieval.Qrels
	ids           []string // of documents, by position
	partial       bool     // not the whole collection: relevant documents are missing
	quick         bool     // single queries are timed for a moment only
}

// latencyBudget bounds the time spent on single queries of one way to search.
const (
	latencyBudget = 700 * time.Millisecond
	quickLatency  = 80 * time.Millisecond
)

// assess builds an index for each width and searches it with all queries.
func (j *judged) assess(ctx context.Context, dev backend.Device, widths []int, note func(stage string)) (q *benchsuite.Indexes, err error) {
	vectors, err := j.queries.all()
	if err != nil {
		return nil, err
	}
	queries := plaid.Tokens{Vectors: vectors, Offsets: j.queries.offsets, Dim: j.queries.dim}
	q = &benchsuite.Indexes{Name: j.name, Documents: j.docs.Len(), Queries: j.queries.Len()}
	note("exact scores")
	float, err := j.floatRanking(dev, queries)
	if err != nil {
		return nil, err
	}
	if q.Exact, err = j.measure(float); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "likbench-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, bits := range widths {
		note(fmt.Sprintf("index of %d bits", bits))
		row, err := j.width(ctx, dev, filepath.Join(dir, strconv.Itoa(bits)), bits, queries, float)
		if err != nil {
			return nil, fmt.Errorf("%d bits: %w", bits, err)
		}
		row.Kept = row.Metrics["nDCG@10"] / q.Exact["nDCG@10"]
		q.Rows = append(q.Rows, *row)
	}
	q.Failed = failedGates(q.Rows)
	return q, nil
}

// rankings are document positions by query, best first.
type rankings [][]int64

// floatRanking scores every document in float32 from its own vectors.
func (j *judged) floatRanking(dev backend.Device, queries plaid.Tokens) (out rankings, err error) {
	vectors, err := j.docs.all()
	if err != nil {
		return nil, err
	}
	corpus, err := plaid.NewCorpus(dev, plaid.Tokens{Vectors: vectors, Offsets: j.docs.offsets, Dim: j.docs.dim}, plaid.Options{DType: backend.F32})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, corpus.Close()) }()
	n, k := queries.Len(), min(100, corpus.Len())
	s, err := corpus.NewScorer(plaid.Limits{Queries: n, Tokens: int(queries.Offsets[n]), K: k})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ids, scores := make([]int32, n*k), make([]float32, n*k)
	if err := s.TopK(queries, k, ids, scores); err != nil {
		return nil, err
	}
	for i := range n {
		list := make([]int64, 0, k)
		for _, id := range ids[i*k : (i+1)*k] {
			if id >= 0 {
				list = append(list, int64(id))
			}
		}
		out = append(out, list)
	}
	return out, nil
}

// measure evaluates rankings. Scores descend by rank, so that ties are where the ranking
// puts them.
func (j *judged) measure(r rankings) (map[string]float64, error) {
	run := retrieval.Run{}
	for q, list := range r {
		docs := make([]retrieval.Scored, 0, len(list))
		for rank, id := range list {
			docs = append(docs, retrieval.Scored{Doc: j.ids[id], Score: float64(-rank)})
		}
		run[strconv.Itoa(q+1)] = docs
	}
	rep, err := retrieval.Evaluate(j.qrels, run, retrieval.Options{Cutoffs: []int{10, 100}, SkipUnmatched: true})
	if err != nil {
		return nil, err
	}
	return map[string]float64{"nDCG@10": rep.Mean.NDCG[0], "Recall@100": rep.Mean.Recall[1], "MRR@10": rep.Mean.MRR[0]}, nil
}

// width builds one index and measures it.
func (j *judged) width(ctx context.Context, dev backend.Device, dir string, bits int, queries plaid.Tokens, float rankings) (row *benchsuite.IndexRow, err error) {
	start := time.Now()
	stats, err := build.Build(ctx, dev, dir, j.docs, build.Options{Bits: bits, Seed: 42})
	if err != nil {
		return nil, err
	}
	row = &benchsuite.IndexRow{Bits: bits, Centroids: int(stats.Centroids), BuildSec: time.Since(start).Seconds()}
	snap, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	row.Bytes = snap.Bytes()
	if row.FastPlaid, err = bytesAs(dir+"-"+format.FastPlaid17.String(), format.FastPlaid17, snap); err != nil {
		return nil, err
	}
	start = time.Now()
	ix, err := plaid.Load(dev, snap, plaid.LoadOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	row.LoadSec = time.Since(start).Seconds()
	s, err := ix.NewSearcher()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return row, j.search(ctx, s, queries, float, row)
}

// bytesAs writes an index to a folder in another layout, for its size, and removes it.
func bytesAs(dir string, layout format.Flavour, snap *store.Snapshot) (int64, error) {
	w, err := format.Write(dir, layout, snap, format.WriteOptions{})
	if err != nil {
		return 0, err
	}
	return w.Bytes, os.RemoveAll(dir)
}

// search compares the default search with exhaustive scores of what the index holds.
func (j *judged) search(ctx context.Context, s *plaid.Searcher, queries plaid.Tokens, float rankings, row *benchsuite.IndexRow) error {
	run := func(k int, o plaid.SearchOptions) (rankings, []*plaid.Stats, error) {
		return ranked(ctx, s, queries, k, o)
	}
	exact, bounds, err := run(top, plaid.SearchOptions{Preset: plaid.Exact})
	if err != nil {
		return err
	}
	scan, err := j.scan(ctx, s, queries, exact, bounds)
	if err != nil {
		return err
	}
	probed, _, err := run(top, plaid.SearchOptions{Method: plaid.MethodProbe})
	if err != nil {
		return err
	}
	ten, stats, err := run(top, plaid.SearchOptions{})
	if err != nil {
		return err
	}
	hundred, _, err := run(100, plaid.SearchOptions{})
	if err != nil {
		return err
	}
	if row.Metrics, err = j.measure(ten); err != nil {
		return err
	}
	deep, err := j.measure(hundred)
	if err != nil {
		return err
	}
	row.Metrics["Recall@100"] = deep["Recall@100"]
	row.Method, row.Reason = stats[0].Method.String(), stats[0].Reason
	row.ExactMethod = bounds[0].Method.String()
	row.ProbedRecall, row.ExactRecall, row.FloatRecall = scan.overlap(probed), scan.overlap(exact), float.overlap(ten)
	row.DefaultRecall = scan.overlap(ten)
	for _, b := range bounds {
		row.Pruned += float64(b.Pruned) / float64(len(bounds)) / float64(len(j.ids))
	}
	return j.time(ctx, s, queries, row)
}

// ranked searches and keeps the order of documents.
func ranked(ctx context.Context, s *plaid.Searcher, queries plaid.Tokens, k int, o plaid.SearchOptions) (rankings, []*plaid.Stats, error) {
	hits, stats, err := s.SearchBatch(ctx, queries, k, o)
	out := make(rankings, len(hits))
	for i, list := range hits {
		for _, h := range list {
			out[i] = append(out[i], h.ID)
		}
	}
	return out, stats, err
}

// quickScan is the queries that a quick run scans for beside preset exact.
const quickScan = 25

// scan ranks by scores of every document. Where preset exact did that too, a quick run does not
// do all of it again: it compares the first queries and takes the others from there.
func (j *judged) scan(ctx context.Context, s *plaid.Searcher, queries plaid.Tokens, exact rankings, how []*plaid.Stats) (rankings, error) {
	n := queries.Len()
	if j.quick && !slices.ContainsFunc(how, func(st *plaid.Stats) bool { return st.Method != plaid.MethodScan }) {
		n = min(n, quickScan)
	}
	end := queries.Offsets[n]
	first := plaid.Tokens{Vectors: queries.Vectors[:end*int64(queries.Dim)], Offsets: queries.Offsets[:n+1], Dim: queries.Dim}
	scan, _, err := ranked(ctx, s, first, top, plaid.SearchOptions{Method: plaid.MethodScan})
	return append(scan, exact[min(n, len(exact)):]...), err
}

// overlap is the mean share of the first ten of r that are among the first ten of o.
func (r rankings) overlap(o rankings) float64 {
	var sum float64
	n := 0
	for i, list := range r {
		list = list[:min(top, len(list))]
		if len(list) == 0 {
			continue
		}
		n++
		for _, id := range list {
			if slices.Contains(o[i][:min(top, len(o[i]))], id) {
				sum += 1 / float64(len(list))
			}
		}
	}
	return sum / float64(max(n, 1))
}

func (j *judged) latency() time.Duration {
	if j.quick {
		return quickLatency
	}
	return latencyBudget
}

// singleQueries times queries one after another, seconds on the wall, ascending: at least ten,
// at most so many, within the budget. The first ones, which prepare, are left out.
func singleQueries(ctx context.Context, s *plaid.Searcher, queries plaid.Tokens, o plaid.SearchOptions, most int, budget time.Duration) ([]float64, error) {
	var times []float64
	for begun := time.Now(); len(times) < most && (len(times) < 10 || time.Since(begun) < budget); {
		i := len(times) % queries.Len()
		lo, hi := queries.Offsets[i]*int64(queries.Dim), queries.Offsets[i+1]*int64(queries.Dim)
		start := time.Now()
		if _, _, err := s.Search(ctx, queries.Vectors[lo:hi], top, o); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start).Seconds())
	}
	times = times[min(len(times)/4, 4):]
	slices.Sort(times)
	return times, nil
}

// time measures single queries one after another, and all of them as a batch.
func (j *judged) time(ctx context.Context, s *plaid.Searcher, queries plaid.Tokens, row *benchsuite.IndexRow) error {
	latency := func(o plaid.SearchOptions) (p50, p95 float64, err error) {
		times, err := singleQueries(ctx, s, queries, o, 2*queries.Len(), j.latency())
		if err != nil {
			return 0, 0, err
		}
		return times[len(times)/2], times[len(times)*95/100], nil
	}
	var err error
	if row.P50, row.P95, err = latency(plaid.SearchOptions{}); err != nil {
		return err
	}
	if row.ProbeP50, _, err = latency(plaid.SearchOptions{Method: plaid.MethodProbe}); err != nil {
		return err
	}
	if row.ScanP50, _, err = latency(plaid.SearchOptions{Method: plaid.MethodScan}); err != nil {
		return err
	}
	if row.ExactP50, _, err = latency(plaid.SearchOptions{Preset: plaid.Exact}); err != nil {
		return err
	}
	start := time.Now()
	if _, _, err := s.SearchBatch(ctx, queries, top, plaid.SearchOptions{}); err != nil {
		return err
	}
	row.QueriesPerSec = float64(queries.Len()) / time.Since(start).Seconds()
	return nil
}

// gates are the shares of the exact nDCG@10 that an index has to keep, by width.
var gates = map[int]float64{2: .97, 4: .99}

func printIndexes(w io.Writer, x *benchsuite.Indexes) {
	fmt.Fprintf(w, "\nPLAID indexes of %s: %d documents, %d queries; float MaxSim of all documents: nDCG@10 %.6f\n", x.Name, x.Documents, x.Queries, x.Exact["nDCG@10"])
	fmt.Fprintf(w, "  %-26s %8s %8s %9s %6s %9s %9s %9s %9s\n", "index", "build s", "MB", "nDCG@10", "kept", "recall@10", "p50 ms", "p95 ms", "queries/s")
	line := func(what string, recall, p50 float64) {
		fmt.Fprintf(w, "  %-26s %8s %8s %9s %6s %9.4f %9.3f\n", what, "", "", "", "", recall, 1e3*p50)
	}
	for i := range x.Rows {
		r := &x.Rows[i]
		fmt.Fprintf(w, "  %-26s %8.2f %8.2f %9.6f %6.4f %9.4f %9.3f %9.3f %9.0f\n", fmt.Sprintf("%d bits, %d cells, %s", r.Bits, r.Centroids, r.Method), r.BuildSec, float64(r.Bytes)/1e6,
			r.Metrics["nDCG@10"], r.Kept, r.DefaultRecall, 1e3*r.P50, 1e3*r.P95, r.QueriesPerSec)
		line("  probing cells", r.ProbedRecall, r.ProbeP50)
		line("  exhaustive", 1, r.ScanP50)
		line(fmt.Sprintf("  exact by %s, %.0f %% out", r.ExactMethod, 100*r.Pruned), r.ExactRecall, r.ExactP50)
	}
	if len(x.Rows) > 0 {
		fmt.Fprintf(w, "  recall@10 is against every document scored from the index; against float MaxSim it is")
		for _, r := range x.Rows {
			fmt.Fprintf(w, " %.4f (%d bits)", r.FloatRecall, r.Bits)
		}
		fmt.Fprintf(w, "\n  the default search: %s\n", x.Rows[0].Reason)
	}
	for _, f := range x.Failed {
		fmt.Fprintf(w, "  gate not met: %s\n", f)
	}
}

// failedGates says which of the promises about indexes do not hold.
func failedGates(rows []benchsuite.IndexRow) []string {
	var out []string
	for _, r := range rows {
		if g, ok := gates[r.Bits]; ok && !(r.Kept >= g) { // so that NaN fails
			out = append(out, fmt.Sprintf("%d bits keep %.4f of the float nDCG@10, want %.2f", r.Bits, r.Kept, g))
		}
		if !(r.DefaultRecall >= .99) {
			out = append(out, fmt.Sprintf("%d bits: recall@10 against exhaustive scores of the index is %.4f by default, want .99", r.Bits, r.DefaultRecall))
		}
		if !(r.ExactRecall >= 1-1e-9) { // a mean of shares
			out = append(out, fmt.Sprintf("%d bits: recall@10 of preset exact is %.4f, want 1", r.Bits, r.ExactRecall))
		}
		if r.Bytes > r.FastPlaid {
			out = append(out, fmt.Sprintf("%d bits: %d bytes, in fast-plaid's layout %d", r.Bits, r.Bytes, r.FastPlaid))
		}
	}
	return out
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/format"
)

// corpus is a synthetic collection of a benchmark.
type corpus struct {
	name  string
	bits  int
	drawn bool // the index is drawn instead of built
	k     int  // centroids, 0 = the builder's
	iters int  // of k-means
	from  synthetic
}

// endToEnd are the corpora of LIK's bench_fastplaid_e2e: lengths uniform from half of the
// name's, directions without clusters, two iterations of k-means.
func endToEnd() []corpus {
	mk := func(name string, n, longest, bits int) corpus {
		return corpus{name: name, bits: bits, iters: 2, from: synthetic{documents: n, shortest: longest / 2, longest: longest, dim: 128, seed: 1}}
	}
	return []corpus{mk("5k-200-nb2", 5000, 200, 2), mk("10k-300-nb2", 10000, 300, 2), mk("10k-512-nb2", 10000, 512, 2),
		mk("10k-512-nb4", 10000, 512, 4), mk("25k-300-nb2", 25000, 300, 2)}
}

// clustered are collections with clusters, and a drawn index of a million documents.
func clustered() []corpus {
	mk := func(name string, n, bits int) corpus {
		return corpus{name: name, bits: bits, from: synthetic{documents: n, shortest: 64, longest: 180, dim: 128, centres: 8192, spread: .6, seed: 2}}
	}
	million := mk("1m-drawn-nb2", 1000000, 2)
	million.drawn, million.k = true, 131072
	small := mk("2k-nb2", 2000, 2)
	return []corpus{small, mk("5k-nb2", 5000, 2), mk("20k-nb2", 20000, 2), mk("20k-nb4", 20000, 4), million}
}

var benches = map[string]func() []corpus{"bench_fastplaid_e2e": endToEnd, "clustered": clustered}

func benchCommand() *cobra.Command {
	var only []string
	var queries, length int
	var save string
	cmd := &cobra.Command{
		Use:   "bench NAME",
		Short: "Build and search synthetic collections, end to end",
		Long: `NAME is bench_fastplaid_e2e (the corpora of LIK's benchmark of that name), clustered (documents of 64
to 180 tokens around shared centres; 1m-drawn-nb2 is an index that is drawn, not built), or
bench_decompress_maxsim, which times the kernels residual_maxsim and residual_maxsim_int8 on the
shapes of LIK's benchmark of that name.

A search is timed from the call to its return: query upload, probing, gathering, scores, results.
Every score that probing returns is compared with the exhaustive one, bit for bit.`,
		Args: dirs("NAME"),
	}
	name := backendFlag(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&only, "corpora", nil, "corpora to run; default all")
	f.IntVar(&queries, "queries", 64, "queries")
	f.IntVar(&length, "query-tokens", 32, "tokens of a query")
	f.StringVar(&save, "save", "", "folder for the vectors, offsets and results of each built corpus as .npy files, to measure another tool on them")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if args[0] == "bench_decompress_maxsim" {
			for _, name := range []string{"corpora", "queries", "query-tokens", "save"} {
				if f.Changed(name) {
					return usage("--%s: bench_decompress_maxsim has no corpora", name)
				}
			}
			o := options{backend: *name, args: append([]string{"plaid", "bench"}, args...), noData: true}
			o.selection.Only = []string{"residual_maxsim*/decompress-*"}
			return suite(c.Context(), &o, c.OutOrStdout(), c.ErrOrStderr())
		}
		list, ok := benches[args[0]]
		if !ok {
			return usage("bench %q: want bench_fastplaid_e2e, bench_decompress_maxsim or clustered", args[0])
		}
		if queries < 1 || length < 1 {
			return usage("%d queries of %d tokens", queries, length)
		}
		for i := range only {
			only[i] = strings.TrimSpace(only[i])
		}
		run, err := pick(list(), only)
		if err != nil {
			return err
		}
		if save != "" && !slices.ContainsFunc(run, func(x corpus) bool { return !x.drawn }) {
			return usage("--save: %s is drawn as an index, there are no vectors", run[0].name)
		}
		return withDevice(c, *name, func(ctx context.Context, dev backend.Device) error {
			w := c.OutOrStdout()
			fmt.Fprintf(w, "%d queries of %d tokens, first 10; %s, %d processors\n", queries, length, dev.Info().Name, runtime.GOMAXPROCS(0))
			for i := range run {
				if err := run[i].bench(ctx, dev, w, queries, length, save); err != nil {
					return fmt.Errorf("%s: %w", run[i].name, err)
				}
			}
			return nil
		})
	}
	return cmd
}

// bench measures a corpus, and keeps it below the folder save, unless that is "" or there are no vectors.
func (c *corpus) bench(ctx context.Context, dev backend.Device, w io.Writer, queries, length int, save string) (err error) {
	var keep *saver
	if !c.drawn {
		keep, err = newSaver(save, c.name)
	}
	if err == nil {
		err = c.measure(ctx, dev, w, queries, length, keep)
	}
	return err
}

func pick(all []corpus, only []string) ([]corpus, error) {
	if only == nil {
		return all, nil
	}
	var out []corpus
	var names []string
	for _, c := range all {
		names = append(names, c.name)
		if slices.Contains(only, c.name) {
			out = append(out, c)
		}
	}
	if len(out) != len(only) {
		return nil, usage("--corpora %s: want some of %s", strings.Join(only, ","), strings.Join(names, ", "))
	}
	return out, nil
}

// measure builds one corpus and searches it.
func (c *corpus) measure(ctx context.Context, dev backend.Device, w io.Writer, n, length int, keep *saver) error {
	var src format.Source
	var t *tokens
	if c.drawn {
		m, err := c.from.drawnIndex(ctx, c.bits, c.k)
		if err == nil {
			t, err = c.from.queries(ctx, n, length, fromIndex(m))
		}
		if err != nil {
			return err
		}
		src = m
		fmt.Fprintf(w, "\n%s: %d documents, %d tokens, %d centroids, drawn\n", c.name, c.from.documents, len(m.TokenCodes), c.k)
	} else {
		a, err := c.from.all(ctx)
		if err == nil {
			t, err = c.from.queries(ctx, n, length, fromArrays(a))
		}
		if err == nil {
			err = keep.corpus(ctx, a, t)
		}
		if err != nil {
			return err
		}
		start := time.Now()
		m, stats, err := build.InMemory(ctx, dev, a, build.Options{Bits: c.bits, Iterations: c.iters, Centroids: c.k, Seed: 42})
		if err != nil {
			return err
		}
		src = m
		fmt.Fprintf(w, "\n%s: %d documents, %d tokens, %d centroids, built in %.3f s:", c.name, c.from.documents, stats.Tokens, stats.Centroids, time.Since(start).Seconds())
		for _, s := range stats.Stages {
			fmt.Fprintf(w, " %s %.3f", s.Stage, s.Time.Seconds())
		}
		fmt.Fprintln(w)
	}
	start := time.Now()
	ix, err := plaid.Load(dev, src, plaid.LoadOptions{})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  loaded in %.3f s, %s\n", time.Since(start).Seconds(), backend.FormatBytes(ix.Bytes()))
	return errors.Join(c.search(ctx, ix, w, plaid.Tokens{Vectors: t.vectors, Offsets: t.offsets, Dim: t.dim}, keep), ix.Close())
}

// way is a search to be timed.
type way struct {
	name string
	o    plaid.SearchOptions
}

var ways = []way{
	{"auto", plaid.SearchOptions{}},
	{"probe", plaid.SearchOptions{Method: plaid.MethodProbe}},
	{"scan", plaid.SearchOptions{Method: plaid.MethodScan}},
	{"exact", plaid.SearchOptions{Preset: plaid.Exact}},
	{"compat-fastplaid", plaid.SearchOptions{Preset: plaid.CompatFastPlaid}},
}

// benchBudget bounds the time of one way.
const benchBudget = 4 * time.Second

func (c *corpus) search(ctx context.Context, ix *plaid.Index, w io.Writer, queries plaid.Tokens, keep *saver) (err error) {
	s, err := ix.NewSearcher()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	truth, _, err := s.SearchBatch(ctx, queries, top, plaid.SearchOptions{Method: plaid.MethodScan})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  %-17s %9s %9s %11s %10s  %s\n", "search", "p50 ms", "p95 ms", "queries/s", "recall@10", "of the first query")
	for _, x := range ways {
		if err := timeWay(ctx, s, w, queries, x, truth, keep); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

// timeWay measures single queries and the batch of all, and compares results.
func timeWay(ctx context.Context, s *plaid.Searcher, w io.Writer, queries plaid.Tokens, x way, truth [][]plaid.Hit, keep *saver) error {
	n := queries.Len()
	times, err := singleQueries(ctx, s, queries, x.o, 4*n, benchBudget)
	if err != nil {
		return err
	}
	var hits [][]plaid.Hit
	var stats []*plaid.Stats
	var batches []float64
	for begun := time.Now(); len(batches) < 40 && (len(batches) < 2 || time.Since(begun) < benchBudget); {
		start := time.Now()
		var err error
		if hits, stats, err = s.SearchBatch(ctx, queries, top, x.o); err != nil {
			return err
		}
		batches = append(batches, time.Since(start).Seconds())
	}
	if err := keep.hits(ctx, x.name, hits); err != nil {
		return err
	}
	batches = batches[1:]
	slices.Sort(batches)
	recall, err := agreementOf(hits, truth)
	if err != nil {
		return err
	}
	st := stats[0]
	if _, err = fmt.Fprintf(w, "  %-17s %9.3f %9.3f %11.0f %10.4f  %s, %d cells, %d candidates, %d exact: %s\n", x.name, 1e3*times[len(times)/2], 1e3*times[len(times)*95/100],
		float64(n)/batches[len(batches)/2], recall, st.Method, st.Cells, st.Candidates, st.Exact, st.Reason); err != nil {
		return err
	}
	return stageTimes(ctx, s, w, queries, x)
}

// stageTimes prints the device time of each stage of one query, launched one after another
// and not as a graph.
func stageTimes(ctx context.Context, s *plaid.Searcher, w io.Writer, queries plaid.Tokens, x way) error {
	x.o.Timings = true
	var stats *plaid.Stats
	for range 3 { // the first one prepares
		var err error
		if _, stats, err = s.Search(ctx, queries.Vectors[:queries.Offsets[1]*int64(queries.Dim)], top, x.o); err != nil {
			return err
		}
	}
	text := "   "
	for _, t := range stats.Stages {
		text += fmt.Sprintf(" %s %.1f µs", t.Name, float64(t.Time.Nanoseconds())/1e3)
	}
	if _, err := fmt.Fprintf(w, "%s; %d approximated, %d screened, %v in all\n", text, stats.Approximated, stats.Screened, stats.Elapsed); err != nil {
		return err
	}
	_, all, err := s.SearchBatch(ctx, queries, top, x.o)
	if err != nil {
		return err
	}
	text = fmt.Sprintf("    batches of %d:", all[0].Batch)
	for _, t := range all[0].Stages {
		text += fmt.Sprintf(" %s %.1f µs", t.Name, float64(t.Time.Nanoseconds())/1e3)
	}
	_, err = fmt.Fprintln(w, text)
	return err
}

// agreementOf is the share of the exhaustive first ten that was found. A score of a document
// in both that is not the same bits is an error.
func agreementOf(hits, truth [][]plaid.Hit) (float64, error) {
	found, all := 0, 0
	for q := range truth {
		want := map[int64]plaid.Hit{}
		for _, h := range truth[q] {
			want[h.ID] = h
		}
		all += len(want)
		for _, h := range hits[q] {
			t, ok := want[h.ID]
			if !ok {
				continue
			}
			found++
			if t.Fixed != h.Fixed {
				return 0, fmt.Errorf("query %d: document %d scores %v, exhaustively %v", q, h.ID, h.Score, t.Score)
			}
		}
	}
	return float64(found) / float64(max(all, 1)), nil
}

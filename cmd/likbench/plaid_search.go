package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
)

// openIndex opens a folder of any layout: the program's own, or a foreign one.
func openIndex(dir string) (format.Source, io.Closer, error) {
	s, err := store.Open(dir)
	if err == nil {
		return s, s, nil
	}
	if !errors.Is(err, store.ErrNoIndex) {
		return nil, nil, err
	}
	x, err := format.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	return x, x, nil
}

// searchFlags are the options of a search.
type searchFlags struct {
	o         plaid.SearchOptions
	k         int
	preset    string
	method    string
	filter    string
	threshold float64
}

func (f *searchFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.IntVarP(&f.k, "k", "k", 10, "results of a query")
	fs.StringVar(&f.preset, "preset", "auto", "auto, exact, compat-fastplaid or compat-plaid")
	fs.StringVar(&f.method, "method", "auto", "of preset auto: auto, scan or probe; of exact: auto, scan or bounds")
	fs.IntVar(&f.o.Probe, "probe", 0, "cells of each query token; default the preset's")
	fs.IntVar(&f.o.Candidates, "candidates", 0, "documents of the first round that go on; default the preset's")
	fs.IntVar(&f.o.Exact, "exact", 0, "documents scored exactly; default the preset's")
	fs.Float64Var(&f.threshold, "threshold", 0, "centroid score below which compat-plaid prunes cells; default by k")
	fs.StringVar(&f.filter, "filter", "", "file of the ids that may be returned, one a line")
}

func (f *searchFlags) options() (plaid.SearchOptions, error) {
	var err error
	if f.o.Preset, err = plaid.ParsePreset(f.preset); err != nil {
		return f.o, &usageError{err}
	}
	if f.o.Method, err = plaid.ParseMethod(f.method); err != nil {
		return f.o, usage("--method %q: %w", f.method, err)
	}
	f.o.Threshold = float32(f.threshold)
	if err := f.unused(); err != nil {
		return f.o, err
	}
	if err := f.ranges(); err != nil {
		return f.o, err
	}
	if f.filter != "" {
		if f.o.Filter, err = readIDs(f.filter); err != nil {
			return f.o, err
		}
	}
	return f.o, nil
}

// ranges refuses values that mean nothing, before an index is read for them.
func (f *searchFlags) ranges() error {
	if f.k < 1 || f.k > math.MaxInt32 {
		return usage("-k %d: want 1 to %d", f.k, math.MaxInt32)
	}
	for _, x := range []struct {
		name  string
		value int
	}{{"probe", f.o.Probe}, {"candidates", f.o.Candidates}, {"exact", f.o.Exact}} {
		if x.value < 0 {
			return usage("--%s %d: want at least 1, or 0 for the default", x.name, x.value)
		}
	}
	if t := f.o.Threshold; t-t != 0 {
		return usage("--threshold %v: want a number that float32 holds", f.threshold)
	}
	if m := f.o.Method; m == plaid.MethodBounds && f.o.Preset != plaid.Exact || m == plaid.MethodProbe && f.o.Preset != plaid.Auto {
		return usage("--method %v: preset %v has no such method", m, f.o.Preset)
	}
	return nil
}

// unused refuses flags that the preset or the method has no use for.
func (f *searchFlags) unused() error {
	why := ""
	switch {
	case f.o.Preset == plaid.Exact:
		why = "preset exact scores, or excludes with proof, every document"
	case f.o.Method == plaid.MethodScan:
		why = "a scan scores every document"
	}
	for _, x := range []struct {
		name  string
		given bool
	}{{"probe", f.o.Probe != 0}, {"candidates", f.o.Candidates != 0}, {"exact", f.o.Exact != 0}} {
		if x.given && why != "" {
			return usage("--%s: %s", x.name, why)
		}
	}
	if f.threshold != 0 && f.o.Preset != plaid.CompatPLAID {
		return usage("--threshold is about preset compat-plaid, not %v", f.o.Preset)
	}
	return nil
}

// readIDs reads one id a line; - is standard input.
func readIDs(path string) (ids []int64, err error) {
	r := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close() // read only
		r = f
	}
	ids = []int64{} // no lines are an empty set, which is not no set
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		text := strings.TrimSpace(s.Text())
		if text == "" {
			continue
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, usage("%s: line %d: %q is no id", path, n, text)
		}
		ids = append(ids, id)
	}
	return ids, s.Err()
}

// searched is what a search gave.
type searched struct {
	queries *tokens
	hits    [][]plaid.Hit
	stats   []*plaid.Stats
}

// searchIn runs queries of t against the index in a folder.
func searchIn(ctx context.Context, dev backend.Device, dir string, t *tokens, f *searchFlags) (res *searched, err error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	src, closer, err := openIndex(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if src.Dim() != t.dim {
		return nil, fmt.Errorf("queries have %d components, the documents of %s %d", t.dim, dir, src.Dim())
	}
	ix, err := plaid.Load(dev, src, plaid.LoadOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	s, err := ix.NewSearcher()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	vectors, err := t.all()
	if err != nil {
		return nil, err
	}
	res = &searched{queries: t}
	res.hits, res.stats, err = s.SearchBatch(ctx, plaid.Tokens{Vectors: vectors, Offsets: t.offsets, Dim: t.dim}, f.k, o)
	return res, err
}

func searchCommand() *cobra.Command {
	var in inputFlags
	var f searchFlags
	var asJSON, stats bool
	var query string
	cmd := &cobra.Command{
		Use:   "search DIR",
		Short: "Search an index of any layout",
		Args:  dirs("DIR"),
	}
	name := backendFlag(cmd)
	fs := cmd.Flags()
	in.add(cmd, "queries")
	f.add(cmd)
	fs.StringVar(&query, "query", "", "text of one query for the built-in encoder")
	fs.BoolVar(&asJSON, "json", false, "print JSON, a line for each query")
	fs.BoolVar(&stats, "stats", false, "print what each query took, and why")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		t, err := openQueries(&in, query)
		if err != nil {
			return err
		}
		return withDevice(c, *name, func(ctx context.Context, dev backend.Device) error {
			f.o.Timings = stats
			res, err := searchIn(ctx, dev, args[0], t, &f)
			if err != nil {
				return err
			}
			if asJSON {
				return res.writeJSON(c.OutOrStdout())
			}
			return res.write(c.OutOrStdout(), stats)
		})
	}
	return cmd
}

func openQueries(in *inputFlags, query string) (*tokens, error) {
	if query == "" {
		return in.open()
	}
	if in.vectors != "" || in.text != "" || in.embedded {
		return nil, usage("--query and another source of queries exclude one another")
	}
	if x := in.aboutFiles(); x != "" {
		return nil, usage("--%s is about --vectors", x)
	}
	return encodeTexts([]string{query}, true)
}

func (r *searched) write(w io.Writer, stats bool) error {
	for q, hits := range r.hits {
		for i, h := range hits {
			if _, err := fmt.Fprintf(w, "%d\t%d\t%d\t%v\n", q+1, i+1, h.ID, h.Score); err != nil {
				return err
			}
		}
		if stats {
			if _, err := fmt.Fprintf(w, "# query %d: %v\n", q+1, r.stats[q]); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonScore is a score that JSON can hold: infinities and NaN are words.
type jsonScore float32

// MarshalJSON implements json.Marshaler.
func (s jsonScore) MarshalJSON() ([]byte, error) {
	switch x := float64(s); {
	case math.IsNaN(x):
		return []byte(`"NaN"`), nil
	case math.IsInf(x, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(float32(s))
}

func (r *searched) writeJSON(w io.Writer) error {
	type hit struct {
		ID    int64     `json:"id"`
		Score jsonScore `json:"score"`
	}
	e := json.NewEncoder(w)
	for q, hits := range r.hits {
		out := []hit{}
		for _, h := range hits {
			out = append(out, hit{h.ID, jsonScore(h.Score)})
		}
		if err := e.Encode(struct {
			Query int          `json:"query"`
			Hits  []hit        `json:"hits"`
			Stats *plaid.Stats `json:"stats"`
		}{q + 1, out, r.stats[q]}); err != nil {
			return err
		}
	}
	return nil
}

func parseIDs(args []string) ([]int64, error) {
	var ids []int64
	for _, a := range args {
		id, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			return nil, usage("%q is no id", a)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

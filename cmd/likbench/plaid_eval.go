package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/benchsuite"
	"github.com/likbench/likbench/benchsuite/retrieval"
	"github.com/likbench/likbench/internal/cranfield"
)

func evalCommand() *cobra.Command {
	var in inputFlags
	var f searchFlags
	var qrels, runFile, docIDs, data string
	var trec bool
	var widths []int
	cmd := &cobra.Command{
		Use:   "eval [DIR]",
		Short: "Judge an index, or indexes of a collection in a folder",
		Long: `With DIR, searches all queries and evaluates the results with TREC qrels. Queries are numbered
from 1, documents named by their ids in the index plus 1, or by lines of --doc-ids. nDCG counts
every relevant document as 1; graded nDCG, where grades are above 1, as its grade, as trec_eval does.

With --data, builds indexes of several widths from a folder that holds a collection and checks
what they promise: cranfield-minilm64 (token vectors; manifest.json) and NPL (doc-text.trec,
query-text.trec, qrels), or the embedded collection by --data cranfield.`,
		Args: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (data != "") || len(args) > 1 {
				return usage("eval takes a DIR, or --data FOLDER")
			}
			return nil
		},
	}
	name := backendFlag(cmd)
	fs := cmd.Flags()
	in.add(cmd, "queries")
	f.add(cmd)
	f.k, fs.Lookup("k").DefValue = 100, "100"
	fs.StringVar(&qrels, "qrels", "", "TREC judgements; default those of the embedded collection with --cranfield")
	fs.StringVar(&runFile, "run", "", "write the results as a TREC run file")
	fs.StringVar(&docIDs, "doc-ids", "", "file of the names of documents in judgements, one a line")
	fs.BoolVar(&trec, "trec", false, "evaluate as trec_eval does, in float32 and skipping queries without judgements")
	fs.StringVar(&data, "data", "", "folder of a collection, or cranfield")
	fs.IntSliceVar(&widths, "widths", []int{1, 2, 4}, "bits of the indexes that --data builds")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if data != "" {
			if err := onlyData(c); err != nil {
				return err
			}
			return withDevice(c, *name, func(ctx context.Context, dev backend.Device) error { return assessData(ctx, c, dev, data, widths) })
		}
		if fs.Changed("widths") {
			return usage("--widths is about --data, not an index that exists")
		}
		t, err := in.open()
		if err != nil {
			return err
		}
		judgements, err := readJudgements(qrels, in.embedded)
		if err != nil {
			return err
		}
		return withDevice(c, *name, func(ctx context.Context, dev backend.Device) error {
			res, err := searchIn(ctx, dev, args[0], t, &f)
			if err != nil {
				return err
			}
			run, err := res.run(docIDs)
			if err != nil {
				return err
			}
			if runFile != "" {
				if err := writeRun(runFile, run); err != nil {
					return err
				}
			}
			return evaluate(c, judgements, run, f.k, trec)
		})
	}
	return cmd
}

// onlyData refuses flags that --data has no use for.
func onlyData(cmd *cobra.Command) error {
	for _, x := range []string{"k", "preset", "method", "probe", "candidates", "exact", "threshold", "filter", "qrels", "run", "doc-ids", "trec",
		"vectors", "offsets", "vectors-name", "offsets-name", "scale", "text", "cranfield"} {
		if cmd.Flags().Changed(x) {
			return usage("--%s is about an index that exists, not --data", x)
		}
	}
	return nil
}

func readJudgements(path string, embedded bool) (q retrieval.Qrels, err error) {
	if path == "" {
		if !embedded {
			return nil, usage("--qrels names the judgements")
		}
		data, err := cranfield.Load()
		if err != nil {
			return nil, err
		}
		return data.Qrels(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only
	return retrieval.ReadQrels(f, path)
}

// run names the results as judgements do.
func (r *searched) run(docIDs string) (retrieval.Run, error) {
	var names []string
	if docIDs != "" {
		var err error
		if names, err = readTexts(docIDs); err != nil {
			return nil, err
		}
	}
	run := retrieval.Run{}
	for q, hits := range r.hits {
		list := make([]retrieval.Scored, 0, len(hits))
		for _, h := range hits {
			name := strconv.FormatInt(h.ID+1, 10)
			if docIDs != "" {
				if h.ID >= int64(len(names)) {
					return nil, fmt.Errorf("%s: no line for document %d", docIDs, h.ID)
				}
				name = names[h.ID]
			}
			list = append(list, retrieval.Scored{Doc: name, Score: float64(h.Score)})
		}
		run[strconv.Itoa(q+1)] = list
	}
	return run, nil
}

// writeRun writes the file whole or not at all; what is no file, as /dev/stdout, is written to.
func writeRun(path string, run retrieval.Run) error {
	var b bytes.Buffer
	if err := retrieval.WriteRun(&b, run, "likbench"); err != nil {
		return err
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return os.WriteFile(path, b.Bytes(), 0o644)
	}
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file // a link stays one
	}
	return maybe.WriteFile(path, b.Bytes(), 0o644)
}

// evaluate prints what k results of a query show: nothing beyond the k-th.
func evaluate(c *cobra.Command, q retrieval.Qrels, run retrieval.Run, k int, trec bool) error {
	cutoffs, whole := []int{10, 100}, "MAP"
	if k < 100 {
		cutoffs, whole = []int{min(k, 10)}, fmt.Sprintf("MAP@%d", k)
	}
	rep, err := retrieval.Evaluate(q, run, retrieval.Options{Cutoffs: cutoffs, TREC: trec, SkipUnmatched: true})
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, at := range cutoffs {
		fmt.Fprintf(&b, "nDCG@%d %.6f  ", at, rep.Mean.NDCG[i])
	}
	if graded(q) {
		for i, at := range cutoffs {
			fmt.Fprintf(&b, "graded nDCG@%d %.6f  ", at, rep.Mean.NDCGGraded[i])
		}
	}
	for i, at := range cutoffs {
		fmt.Fprintf(&b, "Recall@%d %.6f  ", at, rep.Mean.Recall[i])
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%sMRR@%d %.6f  %s %.6f  over %d queries, %d without judgements or results\n",
		&b, cutoffs[0], rep.Mean.MRR[0], whole, rep.Mean.MAP, rep.Averaged, len(rep.Unmatched))
	return err
}

// graded reports whether judgements say more than relevant or not.
func graded(q retrieval.Qrels) bool {
	for _, of := range q {
		for _, grade := range of {
			if grade > 1 {
				return true
			}
		}
	}
	return false
}

// assessData builds indexes from a folder and prints what they keep. Gates that are not met
// are an error.
func assessData(ctx context.Context, c *cobra.Command, dev backend.Device, folder string, widths []int) error {
	for _, b := range widths {
		if b != 1 && b != 2 && b != 4 && b != 8 {
			return usage("--widths %d: want 1, 2, 4 or 8", b)
		}
	}
	j, err := openJudged(folder)
	if err != nil {
		return err
	}
	bar := newProgress(c.ErrOrStderr())
	defer bar.close()
	q, err := j.assess(ctx, dev, widths, func(stage string) { bar.update(0, 1, stage) })
	if err != nil {
		return err
	}
	bar.close()
	printIndexes(c.OutOrStdout(), q)
	if len(q.Failed) > 0 {
		return fmt.Errorf("%s: %s", j.name, strings.Join(q.Failed, "; "))
	}
	return nil
}

// openJudged reads a collection of one of the kinds that eval knows.
func openJudged(folder string) (*judged, error) {
	if folder == "cranfield" {
		return embeddedJudged()
	}
	if _, err := os.Stat(filepath.Join(folder, "manifest.json")); err == nil {
		return vectorsJudged(folder)
	}
	if _, err := os.Stat(filepath.Join(folder, "doc-text.trec")); err == nil {
		return nplJudged(folder)
	}
	return nil, fmt.Errorf("%s holds neither manifest.json with token vectors nor doc-text.trec", folder)
}

// embeddedJudged is the embedded collection: unit document vectors, weighted queries.
func embeddedJudged() (*judged, error) {
	e, err := embedded()
	if err != nil {
		return nil, err
	}
	data, model := e.data, e.model
	return &judged{name: "Cranfield", docs: encoded(model.Documents(cranfield.Cosine)), queries: encoded(model.Queries(cranfield.Cosine, data.Questions())),
		qrels: data.Qrels(), ids: data.IDs()}, nil
}

// indexes builds and searches indexes of the embedded collection: all widths in a full run,
// 2 bits otherwise. The reference backend takes a part of the collection, and says so.
func indexes(ctx context.Context, dev backend.Device, o *options, note func(string)) (*benchsuite.Indexes, error) {
	j, err := embeddedJudged()
	if err != nil {
		return nil, err
	}
	j.quick = o.selection.Quick
	widths := []int{2}
	switch {
	case dev.Info().Backend == "host":
		j = j.head(100, 20)
	case o.selection.Full:
		widths = []int{1, 2, 4}
	}
	x, err := j.assess(ctx, dev, widths, note)
	if err != nil {
		return nil, fmt.Errorf("indexes of %s: %w", j.name, err)
	}
	if j.partial {
		x.Failed = nil // the gates are about the whole collection
	}
	return x, nil
}

// head is the first documents and queries of a collection.
func (j *judged) head(docs, queries int) *judged {
	part := func(t *tokens, n int) *tokens {
		n = min(n, t.Len())
		return &tokens{dim: t.dim, offsets: t.offsets[:n+1], vectors: t.vectors[:t.offsets[n]*int64(t.dim)]}
	}
	return &judged{name: fmt.Sprintf("the first %d documents of %s", docs, j.name), docs: part(j.docs, docs), queries: part(j.queries, queries),
		qrels: j.qrels, ids: j.ids[:docs], partial: true}
}

// vectorsJudged reads token vectors of Cranfield, kept as int8 with one scale.
func vectorsJudged(folder string) (*judged, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var m struct {
		Collection string
		Scale      float64
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("%s: manifest.json: %w", folder, err)
	}
	if m.Collection != "cranfield" || m.Scale <= 0 {
		return nil, fmt.Errorf("%s: manifest.json: collection %q with scale %v, want cranfield and a positive scale", folder, m.Collection, m.Scale)
	}
	read := func(vectors, offsets string) (*tokens, error) {
		f := inputFlags{what: "documents", vectors: filepath.Join(folder, vectors), offsets: filepath.Join(folder, offsets), scale: m.Scale / 127}
		return f.open()
	}
	docs, err := read("docs.int8.npy", "doc_offsets.npy")
	if err != nil {
		return nil, err
	}
	queries, err := read("queries.int8.npy", "query_offsets.npy")
	if err != nil {
		return nil, err
	}
	data, err := cranfield.Load()
	if err != nil {
		return nil, err
	}
	if docs.Len() != len(data.Documents) || queries.Len() != len(data.Queries) {
		return nil, fmt.Errorf("%s: %d documents and %d queries, want %d and %d", folder, docs.Len(), queries.Len(), len(data.Documents), len(data.Queries))
	}
	return &judged{name: filepath.Base(folder), docs: docs, queries: queries, qrels: data.Qrels(), ids: data.IDs()}, nil
}

var (
	trecDocument = regexp.MustCompile(`(?s)<DOC>.*?<DOCNO>\s*(\S+?)\s*</DOCNO>(.*?)</DOC>`)
	trecTopic    = regexp.MustCompile(`(?s)<top>.*?<num>\s*(?:Number:)?\s*(\S+?)\s*(?:</num>)?\s*<title>(.*?)</?(?:title|desc|top)`)
)

// nplJudged reads the NPL collection and encodes it with the built-in encoder.
func nplJudged(folder string) (*judged, error) {
	read := func(name string, pattern *regexp.Regexp) (ids, texts []string, err error) {
		raw, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, nil, err
		}
		for _, m := range pattern.FindAllSubmatch(raw, -1) {
			ids, texts = append(ids, string(m[1])), append(texts, strings.ToLower(strings.TrimSpace(string(m[2]))))
		}
		if len(ids) == 0 {
			return nil, nil, fmt.Errorf("%s: no entries found", filepath.Join(folder, name))
		}
		return ids, texts, nil
	}
	ids, texts, err := read("doc-text.trec", trecDocument)
	if err != nil {
		return nil, err
	}
	numbers, questions, err := read("query-text.trec", trecTopic)
	if err != nil {
		return nil, err
	}
	all, err := readJudgements(filepath.Join(folder, "qrels"), false)
	if err != nil {
		return nil, err
	}
	qrels := retrieval.Qrels{}
	for i, n := range numbers { // queries are named by position here
		if q, ok := all[n]; ok {
			qrels[strconv.Itoa(i+1)] = q
		}
	}
	enc, err := cranfield.LoadEncoder()
	if err != nil {
		return nil, err
	}
	model := enc.Fit(texts)
	return &judged{name: "NPL", docs: encoded(model.Documents(cranfield.Cosine)), queries: encoded(model.Queries(cranfield.Cosine, questions)), qrels: qrels, ids: ids}, nil
}

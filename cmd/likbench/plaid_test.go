package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nlpodyssey/safetensors"
	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/benchsuite/retrieval"
	"github.com/likbench/likbench/internal/npy"
)

func writeNPY(t *testing.T, path, dtype string, dt backend.DType, x []float64, shape ...int) string {
	t.Helper()
	raw, err := npy.AppendHeader(nil, npy.NumPy, dtype, shape...)
	require.NoError(t, err)
	data := make([]byte, int64(len(x))*dt.Size())
	kernel.Encode(dt, data, x)
	require.NoError(t, os.WriteFile(path, append(raw, data...), 0o644))
	return path
}

// drawn are unit vectors of documents with these lengths.
func drawn(seed uint64, d int, lens ...int) (x, offsets []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	offsets = []float64{0}
	for _, n := range lens {
		for range n {
			row := make([]float64, d)
			var sum float64
			for i := range row {
				row[i] = r.NormFloat64()
				sum += row[i] * row[i]
			}
			for i := range row {
				row[i] /= math.Sqrt(sum)
			}
			x = append(x, row...)
		}
		offsets = append(offsets, offsets[len(offsets)-1]+float64(n))
	}
	return x, offsets
}

// vectorFiles writes documents and gives the flags that read them.
func vectorFiles(t *testing.T, dir, name string, seed uint64, lens ...int) []string {
	x, off := drawn(seed, 16, lens...)
	v := writeNPY(t, filepath.Join(dir, name+".npy"), "f4", backend.F32, x, len(x)/16, 16)
	o := writeNPY(t, filepath.Join(dir, name+"-off.npy"), "i8", backend.I64, off, len(off))
	return []string{"--vectors", v, "--offsets", o}
}

// ok runs a plaid command on the simd backend that has to succeed.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := call(t, append([]string{"plaid"}, args...)...)
	require.Equal(t, exitOK, code, "%v: %s", args, stderr)
	return stdout
}

func with(args []string, more ...string) []string {
	return append(append([]string{}, args...), more...)
}

// TestPlaidLife takes an index through every command.
func TestPlaidLife(t *testing.T) {
	t.Setenv("LIKBENCH_BACKEND", "simd")
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	docs := vectorFiles(t, dir, "docs", 1, 9, 0, 14, 7, 20, 3, 11, 6)
	queries := vectorFiles(t, dir, "docs", 1, 9, 0, 14, 7, 20, 3, 11, 6) // each document asks for itself
	require.Contains(t, ok(t, with(docs, "build", index, "--bits", "4")...), "8 documents (1 empty), 70 tokens")
	require.Contains(t, ok(t, "stat", index), "documents    8: 8 live, 0 deleted, 1 without tokens; next id 8")
	require.Equal(t, "clean\n", ok(t, "fsck", index))

	found := ok(t, with(queries, "search", index, "-k", "1")...)
	for _, id := range []int{0, 2, 3, 4, 5, 6, 7} {
		require.Contains(t, found, fmt.Sprintf("%d\t1\t%d\t", id+1, id))
	}
	require.Contains(t, found, "2\t1\t0\t0\n", "a query without tokens scores 0 everywhere")
	for _, preset := range []string{"exact", "compat-fastplaid", "compat-plaid"} {
		require.Equal(t, found, ok(t, with(queries, "search", index, "-k", "1", "--preset", preset)...), preset)
	}

	var line struct {
		Query int
		Hits  []struct {
			ID    int64
			Score float64
		}
		Stats struct{ Reason string }
	}
	asJSON := ok(t, with(queries, "search", index, "-k", "3", "--json")...)
	require.NoError(t, json.Unmarshal([]byte(asJSON[:strings.Index(asJSON, "\n")]), &line))
	require.Equal(t, 1, line.Query)
	require.Len(t, line.Hits, 3)
	require.NotEmpty(t, line.Stats.Reason)

	more := vectorFiles(t, dir, "more", 2, 5, 8)
	require.Contains(t, ok(t, with(more, "add", index)...), "2 documents (0 empty), 13 tokens added")
	ok(t, "delete", index, "2", "9")
	require.Contains(t, ok(t, "stat", index), "documents    10: 8 live, 2 deleted, 1 without tokens; next id 10")
	require.NotContains(t, ok(t, with(queries, "search", index)...), "\t2\t1.")
	before := ok(t, with(queries, "search", index)...)
	ok(t, "compact", index)
	require.Equal(t, before, ok(t, with(queries, "search", index)...), "ids stay")

	kept := filepath.Join(dir, "keep")
	require.NoError(t, os.WriteFile(kept, []byte("4\n\n7\n"), 0o644))
	require.Regexp(t, regexp.MustCompile(`^1\t1\t[47]\t`), ok(t, with(queries, "search", index, "--filter", kept)...))

	for _, layout := range []string{"fastplaid14", "fastplaid17", "nextplaid", "colbertv2"} {
		foreign := filepath.Join(dir, layout)
		require.Contains(t, ok(t, "convert", index, foreign, "--to", layout), " files, ")
		require.Contains(t, ok(t, "stat", foreign), "documents    8: ")
		require.Equal(t, "clean\n", ok(t, "fsck", foreign))
		back := filepath.Join(dir, layout+"-back")
		ok(t, "convert", foreign, back, "--to", "likbench")
		require.Equal(t, scoresOnly(before), scoresOnly(ok(t, with(queries, "search", back)...)), layout)
	}

	both := filepath.Join(dir, "both")
	require.Contains(t, ok(t, "merge", both, index, filepath.Join(dir, "fastplaid14-back")), "ids moved by")
	require.Contains(t, ok(t, "stat", both), "16 live")
	other := filepath.Join(dir, "other")
	ok(t, with(more, "build", other, "--bits", "4")...)
	code, _, stderr := call(t, "plaid", "merge", filepath.Join(dir, "wrong"), index, other)
	require.Equal(t, exitFailure, code)
	require.Contains(t, stderr, "codecs differ")
	require.NoDirExists(t, filepath.Join(dir, "wrong"))
	require.Contains(t, ok(t, "merge", filepath.Join(dir, "anew"), index, other, "--reencode"), "decoded and encoded again")
}

// scoresOnly leaves ids out: a conversion numbers documents anew.
func scoresOnly(found string) string {
	return regexp.MustCompile(`(?m)^(\d+\t\d+\t)\d+`).ReplaceAllString(found, "$1")
}

func TestPlaidEval(t *testing.T) {
	t.Setenv("LIKBENCH_BACKEND", "simd")
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	docs := vectorFiles(t, dir, "docs", 3, 9, 12, 14, 7)
	ok(t, with(docs, "build", index, "--bits", "8")...)
	var names, qrels strings.Builder
	for i := range 4 {
		fmt.Fprintf(&names, "doc%d\n", i)
		fmt.Fprintf(&qrels, "%d 0 doc%d 1\n", i+1, i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "names"), []byte(names.String()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "qrels"), []byte(qrels.String()), 0o644))
	out := filepath.Join(dir, "run")
	linked := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), out) == nil && os.WriteFile(out, nil, 0o600) == nil
	require.Contains(t, ok(t, with(docs, "eval", index, "--qrels", filepath.Join(dir, "qrels"), "--doc-ids", filepath.Join(dir, "names"), "--run", out)...),
		"nDCG@10 1.000000")
	for k, want := range map[string]string{
		"5":   "nDCG@5 1.000000  Recall@5 1.000000  MRR@5 1.000000  MAP@5 1.000000  over",
		"10":  "nDCG@10 1.000000  Recall@10 1.000000  MRR@10 1.000000  MAP@10 1.000000  over",
		"99":  "nDCG@10 1.000000  Recall@10 1.000000  MRR@10 1.000000  MAP@99 1.000000  over",
		"100": "nDCG@10 1.000000  nDCG@100 1.000000  Recall@10 1.000000  Recall@100 1.000000  MRR@10 1.000000  MAP 1.000000  over",
	} {
		require.Contains(t, ok(t, with(docs, "eval", index, "--qrels", filepath.Join(dir, "qrels"), "--doc-ids", filepath.Join(dir, "names"), "-k", k)...), want)
	}
	grades := filepath.Join(t.TempDir(), "grades") // what is found is relevant, and something else is more so
	require.NoError(t, os.WriteFile(grades, []byte("1 0 doc0 1\n1 0 doc1 2\n1 0 doc2 -1\n"), 0o644))
	graded := ok(t, with(docs, "eval", index, "--qrels", grades, "--doc-ids", filepath.Join(dir, "names"), "-k", "1", "--trec")...)
	require.Contains(t, graded, "nDCG@1 1.000000  graded nDCG@1 0.500000  Recall@1 0.500000")
	raw, err := os.ReadFile(out)
	require.NoError(t, err)
	if st, err := os.Lstat(out); linked {
		require.NoError(t, err)
		require.Equal(t, os.ModeSymlink, st.Mode().Type(), "a link stays one")
	}
	require.Contains(t, string(raw), "1 Q0 doc0 1 ")
	require.Error(t, writeRun(dir, retrieval.Run{}), "a folder")
	require.Error(t, writeRun(filepath.Join(dir, "none", "run"), retrieval.Run{}))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 6, "index, vectors, offsets, names, qrels, run")
}

// TestPlaidInputs: the same documents in every file that is read.
func TestPlaidInputs(t *testing.T) {
	t.Setenv("LIKBENCH_BACKEND", "simd")
	dir := t.TempDir()
	x, off := drawn(4, 16, 5, 5, 5)
	plain := filepath.Join(dir, "plain")
	v := writeNPY(t, filepath.Join(dir, "v.npy"), "f4", backend.F32, x, 15, 16)
	o := writeNPY(t, filepath.Join(dir, "o.npy"), "i4", backend.I32, off, 4)
	ok(t, "build", plain, "--vectors", v, "--offsets", o)
	want := ok(t, "search", plain, "--vectors", v, "--offsets", o)

	padded := writeNPY(t, filepath.Join(dir, "p.npy"), "f4", backend.F32, x, 3, 5, 16)
	require.Equal(t, want, ok(t, "search", plain, "--vectors", padded))

	file := filepath.Join(dir, "v.safetensors")
	f32, i64 := make([]byte, 4*len(x)), make([]byte, 8*len(off))
	kernel.Encode(backend.F32, f32, x)
	kernel.Encode(backend.I64, i64, off)
	raw, err := safetensors.Serialize(map[string]safetensors.TensorView{"vectors": tensor(t, safetensors.F32, []uint64{15, 16}, f32), "offsets": tensor(t, safetensors.I64, []uint64{4}, i64)}, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, raw, 0o644))
	require.Equal(t, want, ok(t, "search", plain, "--vectors", file))

	half := make([]float64, len(x)) // what int8 with a scale holds
	for i := range x {
		half[i] = math.Round(x[i] * 127)
	}
	quantised := writeNPY(t, filepath.Join(dir, "q.npy"), "i1", backend.I8, half, 15, 16)
	found := ok(t, "search", plain, "--vectors", quantised, "--offsets", o, "--scale", strconv.FormatFloat(1.0/127, 'g', -1, 64), "-k", "1")
	for i := range 3 {
		require.Contains(t, found, fmt.Sprintf("%d\t1\t%d\t", i+1, i))
	}

	lines := filepath.Join(dir, "lines.txt")
	require.NoError(t, os.WriteFile(lines, []byte("shock waves in air\n\nheat transfer of a flat plate\r\n"), 0o644))
	text := filepath.Join(dir, "text")
	require.Contains(t, ok(t, "build", text, "--text", lines), "3 documents (1 empty)")
	require.Contains(t, ok(t, "search", text, "--query", "heat of plates", "-k", "1"), "1\t1\t2\t")
}

func tensor(t *testing.T, dt safetensors.DType, shape []uint64, raw []byte) safetensors.TensorView {
	v, err := safetensors.NewTensorView(dt, shape, raw)
	require.NoError(t, err)
	return v
}

// TestPlaidRefuses: wrong input is one line that names it, and changes nothing.
func TestPlaidRefuses(t *testing.T) {
	t.Setenv("LIKBENCH_BACKEND", "simd")
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	docs := vectorFiles(t, dir, "docs", 5, 9, 12, 14)
	ok(t, with(docs, "build", index)...)
	at := func(name string) string { return filepath.Join(dir, name) }
	nan := make([]float64, 32)
	nan[21] = math.NaN()
	bad := writeNPY(t, at("nan.npy"), "f4", backend.F32, nan, 2, 16)
	two := writeNPY(t, at("two.npy"), "i8", backend.I64, []float64{0, 1, 2}, 3)
	down := writeNPY(t, at("down.npy"), "i8", backend.I64, []float64{0, 2, 1, 2}, 4)
	narrow := writeNPY(t, at("narrow.npy"), "f4", backend.F32, make([]float64, 16), 1, 2, 8)
	require.NoError(t, os.WriteFile(at("ids"), []byte("1\nx\n"), 0o644))
	require.NoError(t, os.WriteFile(at("unknown"), []byte("1\n77\n"), 0o644))
	require.NoError(t, os.WriteFile(at("empty.npy"), nil, 0o644))
	other := at("other")
	ok(t, "convert", index, other, "--to", "fastplaid17")
	whole, err := os.ReadFile(docs[1])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("cut.npy"), whole[:len(whole)-5], 0o644))
	require.NoError(t, os.WriteFile(at("long.npy"), append(whole, 0), 0o644))
	require.NoError(t, os.WriteFile(at("huge.safetensors"), []byte("\xff\xff\xff\xff\xff\xff\xff\x7f{}"), 0o644))
	for _, x := range []struct {
		code int
		text string
		args []string
	}{
		{exitUsage, "plaid needs a command", nil},
		{exitUsage, "build takes DIR", with(docs, "build")},
		{exitUsage, "name the documents by one of", []string{"build", at("new")}},
		{exitUsage, "name the queries by one of", with(docs, "search", index, "--cranfield")},
		{exitFailure, "index exists", with(docs, "build", index)},
		{exitFailure, "no index", with(docs, "search", at("none"))},
		{exitUsage, "-k 0", with(docs, "search", index, "-k", "0")},
		{exitUsage, "-k 99999999999: want 1 to 2147483647", with(docs, "search", index, "-k", "99999999999")},
		{exitUsage, "--method bounds: preset auto has no such method", with(docs, "search", index, "--method", "bounds")},
		{exitUsage, "--method probe: preset exact has no such method", with(docs, "search", index, "--method", "probe", "--preset", "exact")},
		{exitUsage, "--method bounds: preset compat-plaid has no such method", with(docs, "search", index, "--method", "bounds", "--preset", "compat-plaid")},
		{exitUsage, "--probe -2: want at least 1", with(docs, "search", index, "--probe", "-2")},
		{exitUsage, "--candidates -5: want at least 1", with(docs, "search", index, "--candidates", "-5")},
		{exitUsage, "--exact -1: want at least 1", with(docs, "search", index, "--exact", "-1")},
		{exitUsage, "--threshold NaN: want a number", with(docs, "search", index, "--preset", "compat-plaid", "--threshold", "nan")},
		{exitUsage, "--threshold 1e+39: want a number", with(docs, "search", index, "--preset", "compat-plaid", "--threshold", "1e39")},
		{exitUsage, "--threshold -Inf: want a number", with(docs, "search", at("none"), "--preset", "compat-plaid", "--threshold", "-inf")},
		{exitUsage, `preset "fast"`, with(docs, "search", index, "--preset", "fast")},
		{exitUsage, `--method "full"`, with(docs, "search", index, "--method", "full")},
		{exitFailure, "document 1, token 0, component 5", []string{"build", at("new"), "--vectors", bad, "--offsets", two}},
		{exitFailure, "query 1: token 0, component 5 is NaN", []string{"search", index, "--vectors", bad, "--offsets", two}},
		{exitFailure, "element 2 is 1, below the one before", []string{"search", index, "--vectors", bad, "--offsets", down}},
		{exitFailure, "queries have 8 components", []string{"search", index, "--vectors", narrow}},
		{exitUsage, `line 2: "x" is no id`, with(docs, "search", index, "--filter", at("ids"))},
		{exitFailure, "ids [77]", with(docs, "search", index, "--filter", at("unknown"))},
		{exitFailure, "77", []string{"delete", index, "1", "77"}},
		{exitUsage, `"-x" is no id`, []string{"delete", index, "--", "-x"}},
		{exitUsage, `--to "fast"`, []string{"convert", index, at("out"), "--to", "fast"}},
		{exitFailure, "index exists", []string{"convert", index, index, "--to", "likbench"}},
		{exitFailure, "empty.npy", []string{"search", index, "--vectors", at("empty.npy")}},
		{exitFailure, "header of 9223372036854775807 bytes", []string{"search", index, "--vectors", at("huge.safetensors")}},
		{exitUsage, "want a .npy, .npz or .safetensors file", []string{"search", index, "--vectors", at("ids")}},
		{exitUsage, "eval takes a DIR, or --data", []string{"eval"}},
		{exitUsage, "--widths 3", []string{"eval", "--data", "cranfield", "--widths", "3"}},
		{exitFailure, "holds neither", []string{"eval", "--data", dir}},
		{exitUsage, "--k is about an index", []string{"eval", "--data", dir, "-k", "3"}},
		{exitUsage, "--widths is about --data", with(docs, "eval", index, "--widths", "2")},
		{exitUsage, "--scale is about --vectors", []string{"search", index, "--cranfield", "--scale", "2"}},
		{exitUsage, "--offsets is about --vectors", []string{"build", at("new"), "--text", at("ids"), "--offsets", two}},
		{exitUsage, "--vectors-name is about --vectors", []string{"add", index, "--text", at("ids"), "--vectors-name", "x"}},
		{exitUsage, "--offsets-name is about --vectors", []string{"search", index, "--query", "air", "--offsets-name", "x"}},
		{exitUsage, "--offsets-name: ", []string{"search", index, "--vectors", narrow, "--offsets-name", "x"}},
		{exitUsage, "--threshold is about preset compat-plaid, not auto", with(docs, "search", index, "--threshold", "0.5")},
		{exitUsage, "--probe: preset exact", with(docs, "search", index, "--preset", "exact", "--probe", "2")},
		{exitUsage, "--candidates: preset exact", with(docs, "search", index, "--preset", "exact", "--candidates", "2")},
		{exitUsage, "--exact: a scan", with(docs, "search", index, "--method", "scan", "--exact", "2")},
		{exitUsage, "--chunk: layout likbench has no chunks", []string{"convert", index, at("new"), "--to", "likbench", "--chunk", "5"}},
		{exitUsage, "--tch: layout colbertv2", []string{"convert", index, at("new"), "--to", "colbertv2", "--tch"}},
		{exitUsage, "--backend is about --reencode", []string{"merge", at("new"), index, other, "--backend", "simd"}},
		{exitUsage, `bench "fast"`, []string{"bench", "fast"}},
		{exitUsage, "--save: 1m-drawn-nb2 is drawn", []string{"bench", "clustered", "--corpora", "1m-drawn-nb2", "--save", at("saved")}},
		{exitUsage, "--save: bench_decompress_maxsim", []string{"bench", "bench_decompress_maxsim", "--save", at("saved")}},
		{exitUsage, "bits", with(docs, "build", at("new"), "--bits", "3")},
		{exitFailure, "cut.npy: ends after 2235 bytes of data, 2240 wanted", []string{"build", at("new"), "--vectors", at("cut.npy"), "--offsets", docs[3]}},
		{exitFailure, "long.npy: goes on after 560 elements", []string{"build", at("new"), "--vectors", at("long.npy"), "--offsets", docs[3]}},
		{exitUsage, "--bits 0", with(docs, "build", at("new"), "--bits", "0")},
		{exitFailure, "line 1: not UTF-8 text", []string{"build", at("new"), "--text", docs[1]}},
		{exitFailure, "index exists", []string{"convert", index, index, "--to", "fastplaid17"}},
		{exitUsage, "--chunk -1", []string{"convert", index, at("new"), "--to", "likbench", "--chunk", "-1"}},
		{exitFailure, "no index of this program: convert", []string{"compact", other}},
		{exitFailure, "no index of this program: convert", []string{"delete", other, "1"}},
		{exitFailure, "no index of this program: convert", with(docs, "add", other)},
		{exitFailure, "no index of this program: convert", []string{"merge", at("new"), index, other}},
	} {
		t.Run(strings.Join(x.args, " "), func(t *testing.T) {
			code, _, stderr := call(t, append([]string{"plaid"}, x.args...)...)
			require.Equal(t, x.code, code, stderr)
			require.Contains(t, stderr, x.text)
		})
	}
	require.NoDirExists(t, at("new"))
	require.Equal(t, "clean\n", ok(t, "fsck", index))
	require.Contains(t, ok(t, "stat", index), "3 live")
}

// TestPlaidEvalData: --data takes no flag but its own.
func TestPlaidEvalData(t *testing.T) {
	_, help, _ := call(t, "plaid", "eval", "--help")
	flags := regexp.MustCompile(`(?m)^ .* --([a-z-]+)( (?:string|int|float))?`).FindAllStringSubmatch(help, -1)
	require.Greater(t, len(flags), 20, help)
	for _, f := range flags {
		switch f[1] {
		case "data", "widths", "backend", "help":
			continue
		}
		args := []string{"plaid", "eval", "--data", t.TempDir(), "--" + f[1]}
		if f[2] != "" {
			args = append(args, "1")
		}
		code, _, stderr := call(t, args...)
		require.Equal(t, exitUsage, code, "%v: %s", args, stderr)
		require.Contains(t, stderr, "--"+f[1]+" is about an index that exists")
	}
}

// TestPlaidFsck: one wrong byte is named; what is derivable is repaired.
func TestPlaidFsck(t *testing.T) {
	t.Setenv("LIKBENCH_BACKEND", "simd")
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	docs := vectorFiles(t, dir, "docs", 6, 9, 12, 14)
	ok(t, with(docs, "build", index)...)
	want := ok(t, with(docs, "search", index)...)
	files, err := filepath.Glob(filepath.Join(index, "lists*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	raw, err := os.ReadFile(files[0])
	require.NoError(t, err)
	raw[len(raw)-4] ^= 1
	require.NoError(t, os.WriteFile(files[0], raw, 0o644))
	code, stdout, _ := call(t, "plaid", "fsck", index)
	require.Equal(t, exitFailure, code)
	require.Contains(t, stdout, "problem (repairable)")
	require.Contains(t, stdout, filepath.Base(files[0]))
	require.Contains(t, ok(t, "fsck", index, "--repair"), "repaired: ")
	require.Equal(t, "clean\n", ok(t, "fsck", index))
	require.Equal(t, want, ok(t, with(docs, "search", index)...))
}

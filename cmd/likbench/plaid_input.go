package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/plaid/build"
)

// inputFlags name token vectors, of documents or of queries.
type inputFlags struct {
	vectors, offsets, text   string
	vectorsName, offsetsName string
	scale                    float64
	embedded                 bool
	what                     string                 // documents or queries
	changed                  func(flag string) bool // nil for none
}

func (f *inputFlags) add(c *cobra.Command, what string) {
	f.what = what
	fs := c.Flags()
	f.changed = fs.Changed
	fs.StringVar(&f.vectors, "vectors", "", "token vectors of the "+what+": a .npy, .npz or .safetensors file, tokens × components, or "+what+" × tokens × components")
	fs.StringVar(&f.offsets, "offsets", "", "file of the first token of each of the "+what+", and the number of tokens; default the file of the vectors, array offsets")
	fs.StringVar(&f.vectorsName, "vectors-name", "", "array of the vectors in a file of several; default vectors, tokens or embeddings")
	fs.StringVar(&f.offsetsName, "offsets-name", "", "array of the offsets in a file of several")
	fs.Float64Var(&f.scale, "scale", 1, "factor of every component, for vectors kept as integers")
	fs.StringVar(&f.text, "text", "", "text of the "+what+" for the built-in encoder: a file with one text a line, or .jsonl with a field text")
	fs.BoolVar(&f.embedded, "cranfield", false, "the embedded Cranfield collection, through the built-in encoder")
}

// tokens are documents or queries as vectors: a build.Collection.
type tokens struct {
	dim     int
	offsets []int64
	from    *array
	scale   float32
	vectors []float32 // in memory, instead of from
}

// open reads what the flags name; exactly one source has to be given.
func (f *inputFlags) open() (*tokens, error) {
	given := 0
	for _, set := range []bool{f.vectors != "", f.text != "", f.embedded} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, usage("name the %s by one of --vectors, --text and --cranfield", f.what)
	}
	if f.vectors == "" {
		if x := f.aboutFiles(); x != "" {
			return nil, usage("--%s is about --vectors", x)
		}
	}
	switch {
	case f.embedded:
		j, err := embeddedJudged()
		if err != nil {
			return nil, err
		}
		if f.what == "queries" {
			return j.queries, nil
		}
		return j.docs, nil
	case f.text != "":
		return textTokens(f.text, f.what == "queries")
	}
	if scale := float64(float32(f.scale)); scale == 0 || scale-scale != 0 {
		return nil, usage("--scale %v: want a number other than 0 that float32 holds", f.scale)
	}
	a, err := openArray(f.vectors, f.vectorsName, "vectors", "tokens", "embeddings")
	if err != nil {
		return nil, err
	}
	t := &tokens{from: a, scale: float32(f.scale)}
	if len(a.shape) == 3 && f.offsets == "" {
		if f.offsetsName != "" {
			return nil, usage("--offsets-name: %s has shape %v, all %s are equally long", a.file, a.shape, f.what)
		}
		return t, t.padded(a)
	}
	if len(a.shape) != 2 {
		return nil, fmt.Errorf("%s: shape %v, want tokens × components", a.file, a.shape)
	}
	return t, t.readOffsets(f, a)
}

// aboutFiles is a flag that was given and says something of the file of vectors.
func (f *inputFlags) aboutFiles() string {
	for _, x := range []string{"offsets", "vectors-name", "offsets-name", "scale"} {
		if f.changed != nil && f.changed(x) {
			return x
		}
	}
	return ""
}

// maxHollow bounds the documents of an array of equal lengths that holds no element.
const maxHollow = 1 << 20

// padded takes an array of equal lengths.
func (t *tokens) padded(a *array) error {
	// Nothing of a file is behind documents without tokens.
	if n, _ := a.elements(); n == 0 && a.shape[0] > maxHollow {
		return fmt.Errorf("%s: shape %v: %d entries without an element, at most %d", a.file, a.shape, a.shape[0], maxHollow)
	}
	t.dim, t.offsets = int(a.shape[2]), []int64{0}
	for i := range a.shape[0] {
		t.offsets = append(t.offsets, (i+1)*a.shape[1])
	}
	return nil
}

func (t *tokens) readOffsets(f *inputFlags, a *array) error {
	path, name := f.offsets, f.offsetsName
	if path == "" {
		if path = f.vectors; strings.EqualFold(filepath.Ext(path), ".npy") {
			return usage("%s has no offsets: name their file by --offsets", path)
		}
	}
	o, err := openArray(path, name, "offsets", "doc_offsets", "query_offsets")
	if err != nil {
		return err
	}
	if len(o.shape) != 1 { // pairs of first and last tokens would pass for offsets of twice as many
		return fmt.Errorf("%s: shape %v, want one offset more than there are %s", o.file, o.shape, f.what)
	}
	if t.offsets, err = o.ints(); err != nil {
		return err
	}
	t.dim = int(a.shape[1])
	if n := len(t.offsets); n == 0 || t.offsets[0] != 0 || t.offsets[n-1] != a.shape[0] {
		return fmt.Errorf("%s: offsets run over %d tokens of %s from 0: the first and the last have to be 0 and that", o.file, a.shape[0], a.file)
	}
	for i := 1; i < len(t.offsets); i++ {
		if t.offsets[i] < t.offsets[i-1] {
			return fmt.Errorf("%s: element %d is %d, below the one before", o.file, i, t.offsets[i])
		}
	}
	return nil
}

// Dim implements build.Collection.
func (t *tokens) Dim() int { return t.dim }

// Len is the number of documents or queries.
func (t *tokens) Len() int { return len(t.offsets) - 1 }

// Documents implements build.Collection.
func (t *tokens) Documents() iter.Seq2[[]float32, error] {
	if t.from == nil {
		return (&build.Arrays{Components: t.dim, Vectors: t.vectors, Offsets: t.offsets}).Documents()
	}
	return func(yield func([]float32, error) bool) {
		r, err := t.from.reader()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.r.Close() // read only: nothing can be lost
		var row []float32
		for i := 1; i < len(t.offsets); i++ {
			row, err = r.append(row[:0], int(t.offsets[i]-t.offsets[i-1])*t.dim)
			if t.scale != 1 {
				for j := range row {
					row[j] *= t.scale
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
		if err := r.end(); err != nil {
			yield(nil, err)
		}
	}
}

// all reads every vector into memory.
func (t *tokens) all() ([]float32, error) {
	if t.from == nil {
		return t.vectors, nil
	}
	out := make([]float32, 0, min(t.offsets[len(t.offsets)-1]*int64(t.dim), 16*pieceElements))
	for doc, err := range t.Documents() {
		if err != nil {
			return nil, err
		}
		out = append(out, doc...)
	}
	return out, nil
}

func encoded(t *cranfield.Tokens) *tokens {
	return &tokens{dim: t.Dim, offsets: t.Offsets, vectors: t.Vectors}
}

// textTokens encodes lines of text as unit vectors, without weights: those would need the
// statistics of a collection.
func textTokens(path string, queries bool) (*tokens, error) {
	texts, err := readTexts(path)
	if err != nil {
		return nil, err
	}
	return encodeTexts(texts, queries)
}

func encodeTexts(texts []string, queries bool) (*tokens, error) {
	enc, err := cranfield.LoadEncoder()
	if err != nil {
		return nil, err
	}
	model := enc.Fit(texts)
	if queries {
		return encoded(model.Queries(cranfield.Plain, texts)), nil
	}
	return encoded(model.Documents(cranfield.Plain)), nil
}

// readTexts reads one text a line, or the fields text of lines of JSON.
func readTexts(path string) (texts []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	asJSON := strings.EqualFold(filepath.Ext(path), ".jsonl")
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		if line == "" {
			return texts, nil
		}
		text := strings.TrimRight(line, "\r\n")
		if asJSON {
			var v struct{ Text *string }
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", path, n, err)
			}
			if v.Text == nil {
				return nil, fmt.Errorf("%s: line %d: no field text", path, n)
			}
			text = *v.Text
		}
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%s: line %d: not UTF-8 text", path, n)
		}
		texts = append(texts, text)
	}
}

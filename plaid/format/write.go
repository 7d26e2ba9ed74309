package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/internal/npy"
	"github.com/likbench/likbench/plaid/codec"
)

// WriteOptions are choices that no reader depends on.
type WriteOptions struct {
	// ChunkDocuments is the number of documents whose tokens share a file; 0 takes the
	// layout's own: 25,000, or 50,000 for NextPlaid.
	ChunkDocuments int
	// Tch spells .npy headers as fast-plaid's Rust side does, byte for byte, instead of as
	// NumPy. Every reader takes both.
	Tch bool
}

// Written says what Write has done.
type Written struct {
	Files []string
	Bytes int64
	// Rounded are the files whose floats lost precision: centroids kept in half by the
	// layout. Codes, residuals and tables are never changed.
	Rounded []string
}

// Write writes an index in a layout. The folder is made if there is none (its parent has to
// exist); one that holds an index fails with ErrExists, so nothing committed is lost.
// Until the last rename readers find no index in it. Inverted lists, counts and norms are
// made from codes, offsets and residuals, whatever the source stores.
//
// It fails with ErrUnsupported for WARP, with ErrRange or ErrCorrupt for a source that
// contradicts itself, and with the errors of reading it. What was written is then removed.
// A second writer in the folder fails with ErrLocked. The filter table, metadata.db, goes
// along between the .npy layouts; pickled or buffered embeddings do not.
func Write(dir string, flavour Flavour, s Source, o WriteOptions) (*Written, error) {
	return write(dir, flavour, s, o, nil)
}

func write(dir string, flavour Flavour, s Source, o WriteOptions, step func(op, path string) error) (*Written, error) {
	w := &writer{source: s, flavour: flavour, dialect: npy.NumPy, documents: len(s.Offsets()) - 1}
	if o.Tch {
		w.dialect = npy.Tch
	}
	if err := Guard(s, func() error { return w.check(o.ChunkDocuments) }); err != nil {
		return nil, err
	}
	if err := vacant(dir); err != nil {
		return nil, err
	}
	var err error
	if w.commit, err = begin(dir, step); err != nil {
		return nil, err
	}
	if err = vacant(dir); err == nil { // still, now that no other can write
		err = Guard(s, w.all)
	}
	if err == nil {
		err = w.clear()
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.abort()
		return nil, err
	}
	return &Written{Files: w.pending, Bytes: w.bytes, Rounded: w.rounded}, nil
}

type writer struct {
	*commit
	source    Source
	flavour   Flavour
	dialect   npy.Dialect
	documents int
	tokens    int64
	row       int
	chunks    []chunk
	lists     *Lists
	rounded   []string
}

// check looks at everything that can be seen without reading the payload.
func (w *writer) check(chunkDocuments int) (err error) {
	s := w.source
	if chunkDocuments < 0 {
		return fmt.Errorf("format: %d documents of a chunk: %w", chunkDocuments, ErrRange)
	}
	if w.flavour < FastPlaid14 || w.flavour > ColBERT {
		return fmt.Errorf("format: writing %s: %w", w.flavour, ErrUnsupported)
	}
	if w.row, err = codec.RowBytes(s.Dim(), s.Bits()); err != nil {
		return fmt.Errorf("format: source: %w", err)
	}
	table := codec.Table{Bits: s.Bits(), Cutoffs: s.Cutoffs(), Weights: s.Weights()}
	if s.Cutoffs() == nil {
		return fmt.Errorf("format: source has no cutoffs, which %s needs: %w", w.flavour, ErrUnsupported)
	}
	if err := table.Check(); err != nil {
		return fmt.Errorf("format: source: %w", err)
	}
	offsets := s.Offsets()
	if len(offsets) == 0 || offsets[0] != 0 {
		return fmt.Errorf("format: source: %d offsets, not from 0: %w", len(offsets), ErrRange)
	}
	for j := 1; j < len(offsets); j++ {
		if offsets[j] < offsets[j-1] {
			return fmt.Errorf("format: source: document %d from token %d to %d: %w", j-1, offsets[j-1], offsets[j], ErrRange)
		}
	}
	w.tokens = offsets[w.documents]
	if n := len(s.Centroids()); n != s.K()*s.Dim() || s.K() == 0 && w.tokens > 0 || s.K() > math.MaxInt32 || w.documents > math.MaxInt32 {
		return fmt.Errorf("format: source: %d values of %d centroids of %d, %d documents: %w", n, s.K(), s.Dim(), w.documents, ErrRange)
	}
	for i, v := range s.Centroids() {
		if v-v != 0 || !w.fits(v) {
			return fmt.Errorf("format: source: component %d of centroid %d is %v: %w", i%s.Dim(), i/s.Dim(), v, ErrRange)
		}
	}
	if n := len(s.AverageResidual()); n > 1 && n != s.Dim() {
		return fmt.Errorf("format: source: %d average residuals of %d components: %w", n, s.Dim(), ErrRange)
	}
	w.split(chunkDocuments)
	return nil
}

// fits reports whether a centroid's component survives where centroids are stored in half.
func (w *writer) fits(v float32) bool {
	return w.flavour == NextPlaid || math.Abs(float64(v)) < 65520 // rounds to infinity from there on
}

// split sets the chunks; an index without documents has one, which is empty.
func (w *writer) split(size int) {
	if size <= 0 {
		size = map[Flavour]int{NextPlaid: 50_000, ColBERT: min(25_000, 1+w.documents)}[w.flavour]
	}
	if size <= 0 {
		size = 25_000
	}
	offsets := w.source.Offsets()
	for first := 0; first < w.documents || first == 0; first += size {
		n := min(size, w.documents-first)
		w.chunks = append(w.chunks, chunk{documents: n, first: first, token: offsets[first], tokens: offsets[first+n] - offsets[first]})
	}
}

func (w *writer) all() (err error) {
	if w.lists, err = BuildLists(w.source); err != nil {
		return err
	}
	if w.flavour == ColBERT {
		return w.colBERT()
	}
	return w.plaid()
}

// plaid writes the .npy layouts.
func (w *writer) plaid() error {
	if err := w.plaidTables(); err != nil {
		return err
	}
	if w.flavour == FastPlaid17 {
		if err := w.merged(); err != nil {
			return err
		}
	}
	for i, c := range w.chunks {
		if err := w.plaidChunk(i, c); err != nil {
			return err
		}
	}
	return errors.Join(
		w.listFiles(),
		w.database(),
		w.text("plan.json", w.planText()),
		w.text(metadataName, w.metadata()))
}

// database carries the filter table over: its rows are numbered by document, as here.
func (w *writer) database() error {
	x, ok := w.source.(*Index)
	if !ok || x.database == nil {
		return nil
	}
	return w.file("metadata.db", func(b *bufio.Writer) error {
		_, err := io.Copy(b, io.NewSectionReader(x.database.f, 0, x.database.size))
		return err
	})
}

func (w *writer) plaidTables() error {
	s := w.source
	centroids := "f2"
	if w.flavour == NextPlaid {
		centroids = "f4"
	}
	average, threshold := w.measured()
	return errors.Join(
		w.floats("centroids.npy", centroids, []int{s.K(), s.Dim()}, s.Centroids()),
		w.floats("bucket_cutoffs.npy", "f4", []int{len(s.Cutoffs())}, s.Cutoffs()),
		w.floats("bucket_weights.npy", "f4", []int{len(s.Weights())}, s.Weights()),
		w.floats("avg_residual.npy", "f4", []int{len(average)}, average),
		w.floats("cluster_threshold.npy", "f4", []int{1}, []float32{threshold}))
}

// measured is the average residual for each component and the cluster threshold. Where the
// source has measured none, the weights stand in, which are equally frequent by definition.
func (w *writer) measured() ([]float32, float32) {
	s := w.source
	var absolute, square float64
	for _, v := range s.Weights() {
		absolute += math.Abs(float64(v)) / float64(len(s.Weights()))
		square += float64(v) * float64(v) / float64(len(s.Weights()))
	}
	average := make([]float32, s.Dim())
	for i := range average {
		switch given := s.AverageResidual(); {
		case len(given) == s.Dim():
			average[i] = given[i]
		case len(given) == 1:
			average[i] = given[0]
		default:
			average[i] = float32(absolute)
		}
	}
	threshold := s.ClusterThreshold()
	if threshold <= 0 {
		threshold = float32(math.Sqrt(square * float64(s.Dim())))
	}
	return average, threshold
}

// merged writes the payload in one, with room after the last document for the longest, as
// fast-plaid's loader lays it out.
func (w *writer) merged() error {
	offsets := w.source.Offsets()
	var longest, last int64
	for j := range w.documents {
		last = offsets[j+1] - offsets[j]
		longest = max(longest, last)
	}
	padding := longest - last
	rows := int(w.tokens + padding)
	all := chunk{tokens: w.tokens}
	dialect := w.dialect
	w.dialect = npy.Patchable
	defer func() { w.dialect = dialect }()
	return errors.Join(
		w.array("merged_codes.npy", "i8", []int{rows}, func(b *bufio.Writer) error {
			return errors.Join(w.codes(b, all, 8), zeros(b, 8*padding))
		}),
		w.array("merged_residuals.npy", "u1", []int{rows, w.row}, func(b *bufio.Writer) error {
			return errors.Join(w.residuals(b, all), zeros(b, int64(w.row)*padding))
		}),
		w.text("merged_codes.manifest.json", manifestText(w.chunks, "codes")),
		w.text("merged_residuals.manifest.json", manifestText(w.chunks, "residuals")))
}

func (w *writer) plaidChunk(i int, c chunk) error {
	name := fmt.Sprint(i)
	if err := errors.Join(
		w.text("doclens."+name+".json", w.lengthsText(c)),
		w.text(name+".metadata.json", w.chunkMetadata(c)),
	); err != nil || w.flavour == FastPlaid17 {
		return err
	}
	if err := errors.Join(
		w.array(name+".codes.npy", "i8", []int{int(c.tokens)}, func(b *bufio.Writer) error { return w.codes(b, c, 8) }),
		w.array(name+".residuals.npy", "u1", []int{int(c.tokens), w.row}, func(b *bufio.Writer) error { return w.residuals(b, c) }),
	); err != nil || w.flavour != NextPlaid {
		return err
	}
	return w.array(name+".inv_norms.npy", "f4", []int{int(c.tokens)}, func(b *bufio.Writer) error { return w.norms(b, c) })
}

// array writes a .npy file.
func (w *writer) array(name, dtype string, shape []int, fill func(b *bufio.Writer) error) error {
	return w.file(name, func(b *bufio.Writer) error {
		head, err := npy.AppendHeader(nil, w.dialect, dtype, shape...)
		if err != nil {
			return fail(name, err)
		}
		if _, err := b.Write(head); err != nil {
			return err
		}
		return fill(b)
	})
}

// floats writes a .npy file of floats.
func (w *writer) floats(name, dtype string, shape []int, values []float32) error {
	return w.array(name, dtype, shape, func(b *bufio.Writer) error { return w.writeFloats(b, name, dtype, values) })
}

// writeFloats writes values as f2 or f4, and notes the file if that rounds one.
func (w *writer) writeFloats(b *bufio.Writer, name, dtype string, values []float32) error {
	if dtype == "f4" {
		return inPieces(values, 4, func(dst []byte, part []float32) { num.F32.Encode32(dst, part) }, b)
	}
	for _, v := range values {
		if num.F16ToFloat32(num.F16FromFloat32(v)) != v {
			w.rounded = append(w.rounded, name)
			break
		}
	}
	return inPieces(values, 2, func(dst []byte, part []float32) { num.F16.Encode32(dst, part) }, b)
}

// codes writes the codes of a chunk, width bytes each.
func (w *writer) codes(b *bufio.Writer, c chunk, width int) error {
	block := make([]int32, min(c.tokens, codeBlock))
	return blocks(c.tokens, func(from, n int64) error {
		if err := w.source.ReadCodes(block[:n], c.token+from); err != nil {
			return err
		}
		return writeInts(b, block[:n], width)
	})
}

func (w *writer) residuals(b *bufio.Writer, c chunk) error {
	row := int64(w.row)
	block := make([]byte, row*min(c.tokens, codeBlock))
	return blocks(c.tokens, func(from, n int64) error {
		if err := w.source.ReadResiduals(block[:n*row], c.token+from); err != nil {
			return err
		}
		_, err := b.Write(block[:n*row])
		return err
	})
}

// norms writes the inverse norms that next-plaid would store.
func (w *writer) norms(b *bufio.Writer, c chunk) error {
	d, err := codec.NewDecoder(w.source.Centroids(), w.source.Dim(), w.source.Bits(), w.source.Weights())
	if err != nil {
		return err
	}
	row := int64(w.row)
	n := min(c.tokens, codeBlock)
	codes, rows, norms, scratch := make([]int32, n), make([]byte, row*n), make([]float32, n), make([]float32, w.source.Dim())
	return blocks(c.tokens, func(from, n int64) error {
		if err := errors.Join(w.source.ReadCodes(codes[:n], c.token+from), w.source.ReadResiduals(rows[:n*row], c.token+from)); err != nil {
			return err
		}
		for i := range n {
			if norms[i], err = d.InvNorm(scratch, int64(codes[i]), rows[i*row:(i+1)*row]); err != nil {
				return err
			}
		}
		return w.writeFloats(b, "", "f4", norms[:n])
	})
}

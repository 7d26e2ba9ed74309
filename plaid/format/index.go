package format

import (
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/likbench/likbench/plaid/codec"
)

// Flavour is the layout of an index folder.
type Flavour uint8

const (
	FastPlaid14 Flavour = iota + 1
	FastPlaid17
	NextPlaid
	ColBERT
	WARP
)

var flavourNames = [...]string{"", "fastplaid14", "fastplaid17", "nextplaid", "colbertv2", "warp"}

func (f Flavour) String() string {
	if f < FastPlaid14 || f > WARP {
		return fmt.Sprintf("flavour %d", uint8(f))
	}
	return flavourNames[f]
}

// ParseFlavour is the inverse of String; it fails with ErrUnsupported.
func ParseFlavour(name string) (Flavour, error) {
	for f := FastPlaid14; f <= WARP; f++ {
		if f.String() == name {
			return f, nil
		}
	}
	return 0, fmt.Errorf("format: flavour %q, want one of %q: %w", name, flavourNames[1:], ErrUnsupported)
}

// Index is an open index. It does not change, whatever happens to the folder; goroutines may
// share it. Its files stay open until Close.
type Index struct {
	dir       string
	flavour   Flavour
	frozen    bool
	meta      *object
	dim       int
	bits      int
	row       int // bytes of a token's residuals
	k         int
	chunks    []chunk
	offsets   []int64
	centroid  []float32
	cutoffs   []float32
	weights   []float32
	average   []float32
	radius    float32 // cluster threshold
	hasNorms  bool
	segments  []segment
	lists     *lists
	grouped   []int32      // WARP: where the tokens, in document order, lie
	starts    []int64      // WARP: first place of each centroid, K+1
	spare     *segment     // merged files beside complete chunk files
	stale     bool         // whose manifest is of other chunks
	manifests [2]*manifest // of merged codes and residuals
	warnings  []error
	counts    []error // of the warnings, those about numbers that can be counted again
	counted   bool    // metadata.json has num_documents or num_embeddings
	disputed  error   // the first of counts that is about how much the index holds
	lacking   error   // the first of these that is larger than what the arrays have
	unmerged  error   // where the manifest of a merged payload and document lengths disagree
	damage    []error // of derivable files, when opened to be checked
	lenient   bool
	database  *file // the filter table, for whoever converts the index
	files     []*file
	closed    atomic.Bool
}

// chunk is a run of documents that share files.
type chunk struct {
	documents int   // of the chunk
	first     int   // document
	token     int64 // first token
	tokens    int64
}

// segment is a run of tokens in one set of arrays.
type segment struct {
	from, rows       int64 // tokens of the index
	codes, residuals *tensor
	norms            *tensor // nil where there are none
}

// lists are the inverted lists: documents by centroid.
type lists struct {
	ids     *tensor
	offsets []int64 // K+1
	stored  int     // those that have a length; others are empty
}

// Dir is the folder the index was opened from.
func (x *Index) Dir() string { return x.dir }

// Flavour is the layout found.
func (x *Index) Flavour() Flavour { return x.flavour }

// Dim is the number of components of a token, a multiple of 8.
func (x *Index) Dim() int { return x.dim }

// Bits is the number of residual bits a component: 1, 2, 4 or 8.
func (x *Index) Bits() int { return x.bits }

// RowBytes is the size of a token's residuals, Dim·Bits/8.
func (x *Index) RowBytes() int { return x.row }

// K is the number of centroids.
func (x *Index) K() int { return x.k }

// Documents is the number of documents, empty ones included.
func (x *Index) Documents() int { return len(x.offsets) - 1 }

// Tokens is the number of tokens of all documents.
func (x *Index) Tokens() int64 { return x.offsets[len(x.offsets)-1] }

// Offsets has one entry more than there are documents: document j is tokens Offsets[j] to
// Offsets[j+1]. The slice is shared and not to be modified.
func (x *Index) Offsets() []int64 { return x.offsets }

// Centroids are K×Dim, row-major, widened from half where the file holds half. The slice is
// shared and not to be modified, as are those of the following methods.
func (x *Index) Centroids() []float32 { return x.centroid }

// Cutoffs are the 2^Bits − 1 cut points between buckets; nil for WARP, which keeps none.
func (x *Index) Cutoffs() []float32 { return x.cutoffs }

// Weights are the 2^Bits values of buckets.
func (x *Index) Weights() []float32 { return x.weights }

// AverageResidual is the mean absolute residual, of each component or one for all, as the
// builder measured it; nil where the index has none.
func (x *Index) AverageResidual() []float32 { return x.average }

// ClusterThreshold is the norm of residuals beyond which an update adds centroids; 0 where
// the index has none.
func (x *Index) ClusterThreshold() float32 { return x.radius }

// Frozen reports that the owner marked the index as not to be written.
func (x *Index) Frozen() bool { return x.frozen }

// Normalized reports that decoded vectors are to be normalised: all but WARP's.
func (x *Index) Normalized() bool { return x.flavour != WARP }

// Warnings are what is odd about the index without making it wrong: counts that disagree
// with the arrays, unknown keys, files that are not read. Each is an [*Error].
func (x *Index) Warnings() []error { return x.warnings }

// Bytes is the size of the files that are read.
func (x *Index) Bytes() int64 {
	var n int64
	for _, f := range x.files {
		n += f.size
	}
	return n
}

// Close closes the files, once. Reading afterwards fails with ErrClosed.
func (x *Index) Close() error {
	var err error
	if x.closed.Swap(true) {
		return nil
	}
	for _, f := range x.files {
		err = errors.Join(err, f.f.Close())
	}
	return err
}

// Decoder rebuilds the index's vectors.
func (x *Index) Decoder() (*codec.Decoder, error) {
	return codec.NewDecoder(x.centroid, x.dim, x.bits, x.weights)
}

// ReadCodes reads the codes of len(dst) tokens, from the given one on. Each is below K: one
// that is not fails with ErrCorrupt, naming file and element, and dst is then undefined.
// Tokens outside the index fail with ErrRange.
func (x *Index) ReadCodes(dst []int32, from int64) error {
	if x.grouped != nil {
		return x.readGroupedCodes(dst, from)
	}
	return x.tokens(int64(len(dst)), from, func(s *segment, at, rows, done int64) error {
		return s.codes.bounded(dst[done:done+rows], at, int64(x.k), "code")
	})
}

// ReadResiduals reads the residual bytes of len(dst)/RowBytes tokens, from the given one on,
// in the writers' bit order. A length that is no multiple of RowBytes, or tokens outside the
// index, fail with ErrRange.
func (x *Index) ReadResiduals(dst []byte, from int64) error {
	row := int64(x.row)
	if int64(len(dst))%row != 0 {
		return fmt.Errorf("format: %d bytes of residuals, rows have %d: %w", len(dst), row, ErrRange)
	}
	if x.grouped != nil {
		return x.readGroupedResiduals(dst, from)
	}
	return x.tokens(int64(len(dst))/row, from, func(s *segment, at, rows, done int64) error {
		return s.residuals.readAt(dst[done*row:(done+rows)*row], s.residuals.at+at*row)
	})
}

// HasInvNorms reports stored inverse norms.
func (x *Index) HasInvNorms() bool { return x.hasNorms }

// ReadInvNorms reads the stored 1/‖v‖ of len(dst) tokens, from the given one on; a value that
// is not finite fails with ErrCorrupt. Without stored norms it fails with ErrMissing.
func (x *Index) ReadInvNorms(dst []float32, from int64) error {
	if !x.hasNorms {
		return fmt.Errorf("format: %s: inverse norms: %w", x.dir, ErrMissing)
	}
	return x.tokens(int64(len(dst)), from, func(s *segment, at, rows, done int64) error {
		return s.readNorms(dst[done:done+rows], at)
	})
}

// readNorms reads norms from the segment's row at on.
func (s *segment) readNorms(dst []float32, at int64) error {
	part := *s.norms
	part.shape, part.at = []int{len(dst)}, s.norms.at+at*int64(part.item())
	values, err := part.floats()
	if e := (*Error)(nil); errors.As(err, &e) && e.Element >= 0 {
		e.Element += at
	}
	copy(dst, values)
	return err
}

// tokens calls read for the parts of n tokens from from on: rows of a segment, at being
// their first one's place in it and done the number of tokens before them.
func (x *Index) tokens(n, from int64, read func(s *segment, at, rows, done int64) error) error {
	if from < 0 || n > x.Tokens()-from {
		return fmt.Errorf("format: %s: tokens %d to %d of %d: %w", x.dir, from, from+n, x.Tokens(), ErrRange)
	}
	first := sort.Search(len(x.segments), func(i int) bool { return x.segments[i].from+x.segments[i].rows > from })
	for done := int64(0); done < n; first++ {
		s := &x.segments[first]
		at := from + done - s.from
		rows := min(s.rows-at, n-done)
		if err := read(s, at, rows, done); err != nil {
			return err
		}
		done += rows
	}
	return nil
}

// HasLists reports stored inverted lists; [BuildLists] makes them where there are none.
func (x *Index) HasLists() bool { return x.lists != nil }

// ListOffsets has K+1 entries: list c has ListOffsets[c+1] − ListOffsets[c] documents. It is
// nil without lists.
func (x *Index) ListOffsets() []int64 {
	if x.lists == nil {
		return nil
	}
	return x.lists.offsets
}

// ReadLists appends the documents of lists c to c+n−1, one list after another, to dst, each
// list ascending. A document out of range, or a list out of order, fails with ErrCorrupt;
// lists outside the index fail with ErrRange, and lists that are not stored with ErrMissing.
func (x *Index) ReadLists(dst []int32, c, n int) ([]int32, error) {
	switch {
	case x.lists == nil:
		return nil, fmt.Errorf("format: %s: inverted lists: %w", x.dir, ErrMissing)
	case c < 0 || n < 0 || n > x.k-c:
		return nil, fmt.Errorf("format: %s: lists %d to %d of %d: %w", x.dir, c, c+n, x.k, ErrRange)
	}
	from, to := x.lists.offsets[c], x.lists.offsets[c+n]
	before := len(dst)
	dst = append(dst, make([]int32, to-from)...)
	ids := dst[before:]
	if err := x.lists.ids.bounded(ids, from, int64(x.Documents()), "document"); err != nil {
		return nil, err
	}
	for ; n > 0; c, n = c+1, n-1 {
		for i := x.lists.offsets[c] + 1; i < x.lists.offsets[c+1]; i++ {
			if ids[i-from] <= ids[i-from-1] {
				return nil, corruptAt(x.lists.ids.path, i, "document %d after %d in the list of centroid %d", ids[i-from], ids[i-from-1], c)
			}
		}
	}
	return dst, nil
}

func (x *Index) warn(path, text string, args ...any) {
	x.warnings = append(x.warnings, &Error{File: path, Byte: -1, Element: -1, Err: fmt.Errorf(text, args...)})
}

// miscounted is a warning about a number that the arrays decide.
func (x *Index) miscounted(path, text string, args ...any) {
	x.warn(path, text, args...)
	x.counts = append(x.counts, x.warnings[len(x.warnings)-1])
}

// derivable passes an error on, or keeps it where the file can be rebuilt and the index was
// opened to be checked.
func (x *Index) derivable(err error) error {
	if err == nil || !x.lenient || errors.Is(err, ErrClosed) {
		return err
	}
	x.damage = append(x.damage, err)
	return nil
}

package format

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/likbench/likbench/plaid/codec"
)

const metadataName = "metadata.json"

// attempts is how often Open starts again because metadata.json was replaced meanwhile.
const attempts = 3

// Open opens the index in a folder, of whichever layout. It fails with an [*Error] that
// names the file, wrapping ErrNoIndex, ErrMissing, ErrCorrupt, ErrUnsupported, ErrUnsafe or
// ErrChanged; an incomplete index is never opened as a smaller one: chunk files beyond
// num_chunks are passed over only where metadata.json counts no more than the rest has.
func Open(dir string) (*Index, error) { return open(dir, false, func() {}) }

// open calls during after the files were opened and before it looks whether they still
// belong together.
func open(dir string, lenient bool, during func()) (*Index, error) {
	var err error
	for range attempts {
		x := &Index{dir: dir, lenient: lenient}
		err = x.open()
		during()
		again, readErr := readSmall(dir, metadataName, maxObject)
		if err == nil && readErr == nil && bytes.Equal(again, x.meta.text) {
			return x, nil
		}
		err = errors.Join(err, x.Close())
		if x.meta == nil || readErr != nil || bytes.Equal(again, x.meta.text) {
			if err == nil {
				err = readErr
			}
			return nil, err
		}
		if err == nil { // whole, yet not the index that is there now
			err = &Error{File: filepath.Join(dir, metadataName), Byte: -1, Element: -1,
				Err: because(ErrChanged, "replaced %d times while the index was opened", attempts)}
		}
	}
	return nil, err
}

func (x *Index) open() error {
	meta, err := readObject(x.dir, metadataName)
	if errors.Is(err, ErrMissing) {
		return x.absent(err)
	}
	if err != nil {
		return err
	}
	x.meta = meta
	switch {
	case x.exists("codes.compacted.pt") || x.exists("sizes.compacted.pt"):
		return x.openWARP()
	case x.exists("centroids.pt") || meta.has("config"):
		return x.openColBERT()
	}
	return x.openPlaid()
}

// absent says why a folder without metadata.json is no index.
func (x *Index) absent(err error) error {
	info, statErr := os.Stat(x.dir)
	switch {
	case statErr != nil:
		return fail(x.dir, fmt.Errorf("%w: %w", ErrNoIndex, statErr))
	case !info.IsDir():
		return &Error{File: x.dir, Byte: -1, Element: -1, Err: because(ErrNoIndex, "not a folder")}
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return &Error{File: filepath.Join(x.dir, metadataName), Byte: -1, Element: -1, Err: fmt.Errorf("%w: %w", ErrNoIndex, err)}
}

func (x *Index) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(x.dir, name))
	return err == nil
}

func (x *Index) path(name string) string { return filepath.Join(x.dir, name) }

// array opens a .npy file of the index, which keeps it open.
func (x *Index) array(name, kinds string, rank int) (*tensor, error) {
	t, err := openArray(x.dir, name)
	if err != nil {
		return nil, err
	}
	x.files = append(x.files, t.file)
	return t, t.want(kinds, rank)
}

// setCodec sets dimensions and tables from the arrays, and checks them against one another.
func (x *Index) setCodec(bits int64, centroids, cutoffs, weights *tensor) (err error) {
	if err := codec.CheckBits(int(min(bits, math.MaxInt32))); err != nil {
		return fail(x.path(metadataName), fmt.Errorf("nbits: %w: %w", err, ErrUnsupported))
	}
	x.bits, x.k, x.dim = int(bits), centroids.shape[0], centroids.shape[1]
	if x.row, err = codec.RowBytes(x.dim, x.bits); err != nil {
		return fail(centroids.path, fmt.Errorf("%w: %w", err, ErrUnsupported))
	}
	if x.k > math.MaxInt32 {
		return corrupt(centroids.path, "%d centroids, limit %d", x.k, math.MaxInt32)
	}
	if x.centroid, err = centroids.floats(); err != nil {
		return err
	}
	for _, part := range []struct {
		from *tensor
		into *[]float32
		want int
	}{{cutoffs, &x.cutoffs, 1<<x.bits - 1}, {weights, &x.weights, 1 << x.bits}} {
		if part.from == nil {
			continue
		}
		if part.from.len() != int64(part.want) {
			return corrupt(part.from.path, "%d values for %d bits, want %d", part.from.len(), x.bits, part.want)
		}
		if *part.into, err = part.from.floats(); err != nil {
			return err
		}
	}
	return nil
}

// readDoclens reads doclens.{i}.json of every chunk and sets chunks and offsets.
func (x *Index) readDoclens(chunks int64) error {
	x.offsets = []int64{0}
	var lengths []int64
	for i := range chunks {
		name := "doclens." + strconv.FormatInt(i, 10) + ".json"
		var err error
		if lengths, err = readLengths(x.dir, name, lengths[:0]); err != nil {
			return err
		}
		c := chunk{documents: len(lengths), first: x.Documents(), token: x.Tokens()}
		for j, n := range lengths {
			if n > math.MaxInt64/2-x.Tokens() {
				return corruptAt(x.path(name), int64(j), "%d tokens after %d", n, x.Tokens())
			}
			x.offsets = append(x.offsets, x.Tokens()+n)
		}
		c.tokens = x.Tokens() - c.token
		x.chunks = append(x.chunks, c)
	}
	if x.Documents() > math.MaxInt32 {
		return corrupt(x.path(metadataName), "%d documents, limit %d", x.Documents(), math.MaxInt32)
	}
	if x.k == 0 && x.Tokens() > 0 {
		return corrupt(x.path(metadataName), "%d tokens and no centroids", x.Tokens())
	}
	return nil
}

// payload checks one chunk's arrays against the number of tokens they are for.
func (x *Index) payload(codes, residuals *tensor, rows int64, exact bool) error {
	for _, t := range []*tensor{codes, residuals} {
		if t.rows() < rows || exact && t.rows() != rows {
			return corrupt(t.path, "%d rows, document lengths sum to %d", t.rows(), rows)
		}
	}
	if codes.item() < 4 {
		return corrupt(codes.path, "codes of type %s, want i4 or i8", codes.dtype)
	}
	if residuals.dtype != "u1" || residuals.shape[1] != x.row {
		return corrupt(residuals.path, "residuals of type %s, %d bytes a token, want u1 and %d for %d components of %d bits",
			residuals.dtype, residuals.shape[1], x.row, x.dim, x.bits)
	}
	return nil
}

// setLists checks list lengths against the list and sets their offsets. Lengths beyond K are
// legal if they are 0, missing ones are 0, and so is an excess of ids.
func (x *Index) setLists(ids, lengths *tensor) error {
	if ids.item() < 4 {
		return corrupt(ids.path, "documents of type %s, want i4 or i8", ids.dtype)
	}
	l := &lists{ids: ids, offsets: make([]int64, x.k+1), stored: int(min(lengths.len(), int64(x.k)))}
	part := make([]int64, min(lengths.len(), codeBlock))
	sum, beyond := int64(0), false
	if err := blocks(lengths.len(), func(from, n int64) error {
		if err := lengths.integers(part[:n], from); err != nil || beyond {
			return err
		}
		for i, length := range part[:n] {
			c := from + int64(i)
			if length < 0 || length > ids.len()-sum {
				return corruptAt(lengths.path, c, "list of %d documents after %d of %d", length, sum, ids.len())
			}
			sum += length
			if c < int64(x.k) {
				l.offsets[c+1] = sum
			} else if length > 0 {
				x.miscounted(lengths.path, "list of %d documents for centroid %d of %d", length, c, x.k)
				beyond = true
				return nil
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for c := lengths.len(); c < int64(x.k); c++ {
		l.offsets[c+1] = l.offsets[c]
	}
	x.lists = l
	return nil
}

// compareCount warns where metadata.json and the arrays disagree.
func (x *Index) compareCount(o *object, key string, have int64) error {
	size := o == x.meta && (key == "num_documents" || key == "num_embeddings")
	n, err := o.count(key)
	if err != nil {
		if size && x.disputed == nil {
			x.disputed = err
		}
		return x.derivable(err)
	}
	if size && n >= 0 {
		x.counted = true
	}
	if n >= 0 && n != have {
		x.miscounted(o.path, "%s is %d, the arrays have %d", key, n, have)
		last := x.counts[len(x.counts)-1]
		if size && x.disputed == nil {
			x.disputed = last
		}
		if size && n > have && x.lacking == nil {
			x.lacking = last
		}
	}
	return nil
}

// compareAverage warns where metadata.json and the arrays disagree about the mean length. It
// disputes how much there is only where nothing else says it: the sums of writers drift.
func (x *Index) compareAverage() {
	if !x.meta.has("avg_doclen") {
		return
	}
	text := string(x.meta.keys["avg_doclen"])
	average, err := strconv.ParseFloat(text, 64)
	want := float64(x.Tokens()) / float64(max(x.Documents(), 1))
	// Writers add up lengths in float64 or in float32.
	if err != nil || !(math.Abs(average-want) <= 1e-5*max(want, 1)) {
		x.miscounted(x.meta.path, "avg_doclen is %.40s, the arrays have %v", text, want)
		if !x.counted && x.disputed == nil {
			x.disputed = x.counts[len(x.counts)-1]
		}
	}
}

// complete refuses an index that is more than what num_chunks says: a wrong digit there makes
// it a smaller one than the counts say, and a repair of these would make that last. An update
// that ended before metadata.json was written leaves chunk files beyond num_chunks, too, which
// readers ignore, but has made the last chunk before them a larger one, if any.
func (x *Index) complete() error {
	if err := x.mergedWhole(); err != nil {
		return err
	}
	beyond, err := x.Leftovers()
	switch {
	case err != nil || len(beyond) == 0:
		return err
	case x.lacking != nil:
		return corrupt(x.meta.path, "num_chunks is %d, %s is there and %s", len(x.chunks), beyond[0], reason(x.lacking))
	case !x.counted:
		return corrupt(x.meta.path, "num_chunks is %d, %s is there and neither num_documents nor num_embeddings says which is right", len(x.chunks), beyond[0])
	}
	return nil
}

// mergedWhole compares document lengths with a merged payload, which may be longer than they
// say: of lengths, num_embeddings and the manifest, two have to agree.
func (x *Index) mergedWhole() error {
	if x.disputed == nil || x.unmerged == nil || len(x.segments) != 1 || x.segments[0].codes.rows() == x.Tokens() {
		return nil
	}
	return corrupt(x.segments[0].codes.path, "%d rows, document lengths sum to %d, %s, and %v", x.segments[0].codes.rows(), x.Tokens(), reason(x.disputed), x.unmerged)
}

// reason is what an error says without its file.
func reason(err error) string {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// optional opens a file that may be absent: found is false then.
func (x *Index) optional(name string, read func() error) error {
	if !x.exists(name) {
		return nil
	}
	if err := read(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

package store

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

// Compact writes an index anew without the documents that are deleted, and with one file of
// inverted lists, and commits that as a generation, whose number it returns. Ids stay, and
// those of deleted documents are not given again; positions move up. Readers keep the files
// that they have open. It holds one block of documents at a time. An index that is compact
// already stays as it is. Errors are those of OpenWriter and Commit, and ErrCorrupt.
func Compact(dir string) (uint64, error) { return compact(dir, system{}) }

func compact(dir string, d disk) (generation uint64, err error) {
	w, err := openWriter(dir, d, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	w.mu.Lock()
	err = w.compact()
	w.mu.Unlock()
	if err != nil {
		return w.base.generation, err
	}
	return w.Commit()
}

// compact makes next a copy of base without its deleted documents.
func (w *Writer) compact() error {
	if w.base.deleted == 0 {
		if len(w.base.segments()) > 1 {
			w.next.drop(fileLists, 0)
			w.dirty = true
		}
		return nil
	}
	s, err := openManifest(w.dir, w.base, OpenOptions{})
	if err != nil {
		return err
	}
	m := w.next
	m.drop(fileLists, 0)
	m.drop(fileTombstones, 0)
	m.documents, m.tokens, m.deleted, m.nextID = 0, 0, 0, 0
	w.touched, w.dirty, w.words, w.page = true, true, nil, idPage{}
	for _, k := range grown {
		m.drop(k, 0)
		m.add(m.fresh(k))
		if err == nil {
			err = w.make(k)
		}
	}
	if err == nil {
		err = w.put(fileOffsets, asBytes([]int64{0}))
	}
	if err == nil {
		err = w.take(s, 0)
	}
	m.nextID = w.base.nextID
	return errors.Join(err, s.Close())
}

const (
	runTokens    = 1 << 16 // tokens copied at a time, unless one document has more
	runDocuments = 1 << 14
)

// take appends the live documents of a snapshot with their ids moved up.
func (w *Writer) take(s *Snapshot, shift int64) error {
	return s.Guard(func() error {
		return s.runs(func(from, to int) error {
			b := s.block(from, to)
			if shift != 0 {
				b.IDs = append([]int64(nil), b.IDs...)
				for i := range b.IDs {
					b.IDs[i] += shift
				}
			}
			if err := w.append(b); err != nil {
				// The input is a file: its checks name the place in the block only.
				if e := (*InputError)(nil); errors.As(err, &e) {
					return corrupt(s.dir, "documents %d to %d: %v", from, to, err)
				}
				return err
			}
			return nil
		})
	})
}

// runs visits the live documents in order, in runs of neighbours of bounded size.
func (s *Snapshot) runs(visit func(from, to int) error) error {
	offsets, words := s.Offsets(), s.Deleted()
	n := s.Documents()
	deleted := func(j int) bool { return words != nil && words[j/32]>>(j%32)&1 == 1 }
	for from := 0; from < n; {
		if deleted(from) {
			from++
			continue
		}
		to := from
		for to < n && !deleted(to) && to-from < runDocuments {
			if offsets[to+1] < offsets[to] || offsets[to+1] > s.m.tokens {
				return corruptElement(s.path(fileOffsets), int64(to+1), "offset %d after %d, %d tokens", offsets[to+1], offsets[to], s.m.tokens)
			}
			if to > from && offsets[to+1]-offsets[from] > runTokens {
				break
			}
			to++
		}
		if err := visit(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// block is a run of documents in place.
func (s *Snapshot) block(from, to int) Block {
	offsets, row := s.Offsets(), s.m.row()
	b := Block{Lens: make([]int64, to-from), IDs: s.IDs()[from:to]}
	for i := range b.Lens {
		b.Lens[i] = offsets[from+i+1] - offsets[from+i]
	}
	at, end := offsets[from], offsets[to]
	b.Codes, b.InvNorms, b.Residuals = s.Codes()[at:end], s.InvNorms()[at:end], s.Residuals()[at*row:end*row]
	return b
}

// CodecError says where the codecs of two indexes differ; it is ErrCodec. Whoever wants them
// in one index decodes one and encodes it again.
type CodecError struct {
	Index   string // the folder that does not fit
	Field   string // of Codec
	Element int64  // the first that differs, −1 where lengths do
}

func (e *CodecError) Error() string {
	if e.Element < 0 {
		return fmt.Sprintf("store: %s: %s: %v", e.Index, e.Field, ErrCodec)
	}
	return fmt.Sprintf("store: %s: %s[%d]: %v", e.Index, e.Field, e.Element, ErrCodec)
}

func (e *CodecError) Unwrap() error { return ErrCodec }

// sameCodec compares bit by bit.
func sameCodec(dir string, a, b format.Source) error {
	if a.Dim() != b.Dim() {
		return &CodecError{dir, "Dim", -1}
	}
	if a.Bits() != b.Bits() {
		return &CodecError{dir, "Bits", -1}
	}
	for _, f := range []struct {
		name string
		a, b []float32
	}{
		{"Cutoffs", a.Cutoffs(), b.Cutoffs()}, {"Weights", a.Weights(), b.Weights()}, {"Centroids", a.Centroids(), b.Centroids()},
	} {
		if len(f.a) != len(f.b) {
			return &CodecError{dir, f.name, -1}
		}
		for i, v := range f.a {
			if math.Float32bits(v) != math.Float32bits(f.b[i]) {
				return &CodecError{dir, f.name, int64(i)}
			}
		}
	}
	return nil
}

// AppendIndex appends the live documents of another index with the same codec: codes,
// residuals and norms as they are. Its ids are kept where they are above all of this index,
// and otherwise all moved up by NextID: by how much is returned. It fails with a *CodecError,
// with ErrCorrupt for a snapshot that contradicts itself, or with the errors of Append; part
// of the documents is then appended, and the writer is best closed.
func (w *Writer) AppendIndex(s *Snapshot) (shift int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	cells, err := loadCells(w.dir, w.next, false)
	if err != nil {
		return 0, err
	}
	mine := &Snapshot{m: w.next, regions: make([]region, len(w.next.files))}
	mine.regions[0] = cells // centroids are the first kind
	err = s.Guard(func() error {
		if s.Documents() > 0 && s.IDs()[0] < w.next.nextID {
			shift = w.next.nextID
		}
		return sameCodec(s.dir, mine, s)
	})
	if err = errors.Join(err, cells.release()); err != nil {
		return 0, err
	}
	if s.NextID() > math.MaxInt64-shift {
		return 0, input("IDs", -1, ErrRange, "ids below %d moved up by %d", s.NextID(), shift)
	}
	if err := w.take(s, shift); err != nil {
		return shift, err
	}
	// Ids of documents deleted at the end are not given again either.
	if n := s.NextID() + shift; n > w.next.nextID {
		w.next.nextID, w.dirty = n, true
	}
	return shift, nil
}

// Merge makes an index of the live documents of others, in the given order, as if they had
// been appended to one; shifts says by how much the ids of each moved (see AppendIndex). The
// codecs have to be the same, bit by bit: a *CodecError names the first that differs from
// the first source. The target folder is made as Create does, and is empty until all is in
// it; after a failure nothing is left of it.
func Merge(dst string, sources ...string) (shifts []int64, err error) {
	return merge(dst, sources, system{})
}

func merge(dst string, sources []string, d disk) (shifts []int64, err error) {
	if len(sources) == 0 {
		return nil, input("sources", -1, ErrRange, "none to merge")
	}
	open := make([]*Snapshot, len(sources))
	defer func() {
		for _, s := range open {
			if s != nil {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	for i, dir := range sources {
		if open[i], err = Open(dir); err != nil {
			return nil, err
		}
		if err := open[0].Guard(func() error {
			return open[i].Guard(func() error { return sameCodec(dir, open[0], open[i]) })
		}); err != nil {
			return nil, err
		}
	}
	c, err := codecOf(open[0])
	if err != nil {
		return nil, err
	}
	w, err := create(dst, c, Options{BlockBytes: int(open[0].m.block)}, d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, s := range open {
		shift, err := w.AppendIndex(s)
		if err != nil {
			return nil, err
		}
		shifts = append(shifts, shift)
	}
	_, err = w.Commit()
	return shifts, err
}

// codecOf is what the codes of a source mean, with centroids of its own: whoever writes them
// has files and locks to give back, and is not to be stopped by a fault in the source.
func codecOf(s format.Source) (c Codec, err error) {
	err = format.Guard(s, func() error {
		c = Codec{s.Dim(), s.Bits(), slices.Clone(s.Centroids()), s.Cutoffs(), s.Weights(), s.AverageResidual(), s.ClusterThreshold()}
		return nil
	})
	return c, err
}

// offsetsOf are a source's offsets, read once.
func offsetsOf(s format.Source) (offsets []int64, err error) {
	err = format.Guard(s, func() error { offsets = slices.Clone(s.Offsets()); return nil })
	if err == nil && len(offsets) == 0 {
		err = input("Offsets", -1, codec.ErrLength, "none, a source without documents has one")
	}
	for j := 1; j < len(offsets) && err == nil; j++ {
		if offsets[j] < offsets[j-1] {
			err = input("Offsets", int64(j), codec.ErrLength, "%d after %d", offsets[j], offsets[j-1])
		}
	}
	return offsets, err
}

// Import makes an index of one in another layout, or in memory: codes and residual bytes as
// they are, norms computed, ids from 0. The folder is as for Create. It fails with the
// errors of Create, of Append, and of reading the source, which a snapshot's Guard covers;
// nothing is left then.
func Import(dst string, s format.Source, o Options) (err error) {
	c, err := codecOf(s)
	if err != nil {
		return err
	}
	offsets, err := offsetsOf(s)
	if err != nil {
		return err
	}
	w, err := Create(dst, c, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	row, err := codec.RowBytes(s.Dim(), s.Bits())
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for from := 0; from < len(offsets)-1; {
		to := from + 1
		for to < len(offsets)-1 && to-from < runDocuments && offsets[to+1]-offsets[from] <= runTokens {
			to++
		}
		b := Block{}
		for j := from; j < to; j++ {
			b.Lens = append(b.Lens, offsets[j+1]-offsets[j])
		}
		n := offsets[to] - offsets[from]
		b.Codes, b.Residuals = make([]int32, n), make([]byte, n*int64(row))
		if err := errors.Join(s.ReadCodes(b.Codes, offsets[from]), s.ReadResiduals(b.Residuals, offsets[from])); err != nil {
			return err
		}
		if err := w.Append(b); err != nil {
			return err
		}
		from = to
	}
	_, err = w.Commit()
	return err
}

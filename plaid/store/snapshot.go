package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

// Snapshot is one generation of an index. It never changes, whatever the folder does;
// goroutines may share it. It is a [format.Source], deleted documents included: see Compacted for
// one without.
//
// Slices are mappings of files, but for centroids that are float16 on disk. They are not to be written, which would end the process, nor
// used after Close, when the methods that give them give nil. On disk they are what a writer
// checked; Check finds where that is no longer so, and whoever reads a folder of unknown
// origin without it has to expect codes, offsets and documents out of range. ReadCodes checks
// what it reads.
type Snapshot struct {
	dir      string
	m        *manifest
	regions  []region // of m.files
	segments []entry

	mu     sync.RWMutex // Close against methods that copy
	closed bool

	joining       sync.Mutex
	listOffsets   []int64 // once they are joined
	listDocuments []int32
}

var _ format.Source = (*Snapshot)(nil)

// OpenOptions are choices of a reader.
type OpenOptions struct {
	// Copied reads files into memory instead of mapping them: for file systems that others
	// cut files short on, where a mapping ends the process (see Guard).
	Copied bool
}

// Open opens the newest generation in a folder. It takes no lock and writes nothing. Beyond
// the manifest it reads centroids only. It fails with an *Error that names the file, wrapping
// ErrNoIndex, ErrMissing, ErrCorrupt or ErrUnsupported.
func Open(dir string) (*Snapshot, error) { return OpenWith(dir, OpenOptions{}) }

// OpenWith is Open with options.
func OpenWith(dir string, o OpenOptions) (*Snapshot, error) {
	if err := checkMachine(dir); err != nil {
		return nil, err
	}
	m, err := newest(dir)
	for err == nil {
		var s *Snapshot
		if s, err = openManifest(dir, m, o); err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		// A file may be gone because a later generation has replaced it.
		missing, old := err, m.generation
		if m, err = newest(dir); err == nil && m.generation == old {
			return nil, missing
		}
	}
	return nil, err
}

// openManifest opens the files of a generation.
func openManifest(dir string, m *manifest, o OpenOptions) (*Snapshot, error) {
	s := &Snapshot{dir: dir, m: m, regions: make([]region, len(m.files)), segments: m.segments()}
	for i := range m.files {
		var r region
		var err error
		if m.files[i].kind == fileCentroids {
			r, err = loadCells(dir, m, o.Copied)
		} else {
			r, err = load(dir, &m.files[i], o.Copied)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.regions[i] = r
	}
	if err := s.Guard(s.check); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// check looks at what costs nothing: ends of arrays, and centroids, which a search reads
// first of all.
func (s *Snapshot) check() error {
	if at := notFinite(s.Centroids()); at >= 0 {
		return corruptElement(s.path(fileCentroids), int64(at), "%v", s.Centroids()[at])
	}
	offsets := s.Offsets()
	if n := len(offsets) - 1; offsets[0] != 0 {
		return corruptElement(s.path(fileOffsets), 0, "first offset %d", offsets[0])
	} else if offsets[n] != s.m.tokens {
		return corruptElement(s.path(fileOffsets), int64(n), "last offset %d, %d tokens", offsets[n], s.m.tokens)
	}
	return nil
}

// path is that of the only file of a kind.
func (s *Snapshot) path(k kind) string { return filepath.Join(s.dir, s.m.file(k).name()) }

// data is the content of the only file of a kind; nil where there is none.
func (s *Snapshot) data(k kind) []byte {
	for i := range s.m.files {
		if s.m.files[i].kind == k {
			return s.regions[i].data
		}
	}
	return nil
}

// Close unmaps the files, once: no slice may be in use any longer.
func (s *Snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for i := range s.regions {
		errs = append(errs, s.regions[i].release())
	}
	return errors.Join(errs...)
}

// Dir is the folder.
func (s *Snapshot) Dir() string { return s.dir }

// Generation is the number of the commit, from 1.
func (s *Snapshot) Generation() uint64 { return s.m.generation }

// Dim is the number of components of a token, a multiple of 8.
func (s *Snapshot) Dim() int { return s.m.dim }

// Bits is the number of residual bits a component: 1, 2, 4 or 8.
func (s *Snapshot) Bits() int { return s.m.bits }

// K is the number of centroids.
func (s *Snapshot) K() int { return int(s.m.k) }

// Documents is the number of documents, empty and deleted ones included.
func (s *Snapshot) Documents() int { return int(s.m.documents) }

// Live is the number of documents that are not deleted.
func (s *Snapshot) Live() int { return int(s.m.documents - s.m.deleted) }

// Tokens is the number of tokens of all documents.
func (s *Snapshot) Tokens() int64 { return s.m.tokens }

// RowBytes is the size of a token's residuals, Dim·Bits/8.
func (s *Snapshot) RowBytes() int { return int(s.m.row()) }

// NextID is above every id that was ever given.
func (s *Snapshot) NextID() int64 { return s.m.nextID }

// Bytes is the size of the generation on disk.
func (s *Snapshot) Bytes() int64 {
	n := int64(len(s.m.encode()))
	for _, e := range s.m.files {
		n += e.length
	}
	return n
}

// Segments is the number of files that hold inverted lists: with one, Lists copies nothing.
func (s *Snapshot) Segments() int { return len(s.segments) }

// Centroids are K×Dim, row-major.
func (s *Snapshot) Centroids() []float32 { return as[float32](s.data(fileCentroids)) }

// Cutoffs are the 2^Bits − 1 cut points between buckets.
func (s *Snapshot) Cutoffs() []float32 { return s.m.cutoffs }

// Weights are the 2^Bits values of buckets.
func (s *Snapshot) Weights() []float32 { return s.m.weights }

// AverageResidual is of each component, one for all, or empty.
func (s *Snapshot) AverageResidual() []float32 { return s.m.average }

// ClusterThreshold is the norm of residuals beyond which an update would add centroids.
func (s *Snapshot) ClusterThreshold() float32 { return s.m.threshold }

// Offsets has one entry more than there are documents: document j is tokens Offsets[j] to
// Offsets[j+1].
func (s *Snapshot) Offsets() []int64 { return as[int64](s.data(fileOffsets)) }

// Codes has the centroid of each token.
func (s *Snapshot) Codes() []int32 { return as[int32](s.data(fileCodes)) }

// Residuals has RowBytes bytes for each token, in the writers' bit order.
func (s *Snapshot) Residuals() []byte { return s.data(fileResiduals) }

// InvNorms has 1/‖v‖ of each token's raw vector v.
func (s *Snapshot) InvNorms() []float32 { return as[float32](s.data(fileInvNorms)) }

// IDs has the id of each document, ascending.
func (s *Snapshot) IDs() []int64 { return as[int64](s.data(fileIDs)) }

// Deleted has bit j%32 of word j/32 set where document j is deleted: ⌈Documents/32⌉ words,
// or nil where none is.
func (s *Snapshot) Deleted() []int32 {
	if s.m.deleted == 0 {
		return nil
	}
	return as[int32](s.data(fileTombstones))
}

// Lists are the inverted lists: documents[offsets[c]:offsets[c+1]] are the positions of the
// documents that own a token of centroid c, ascending, deleted ones included. Several files
// are joined in memory at the first call; later ones, and those with one file, copy nothing.
// A closed snapshot has none.
func (s *Snapshot) Lists() (offsets []int64, documents []int32) {
	if s.isClosed() {
		return nil, nil
	}
	s.joining.Lock()
	defer s.joining.Unlock()
	if s.listOffsets != nil {
		return s.listOffsets, s.listDocuments
	}
	l := lister{k: s.m.k}
	for i := range s.m.files {
		if e := &s.m.files[i]; e.kind == fileLists {
			o, d := splitLists(s.regions[i].data, s.m.k)
			l.offsets, l.segments = append(l.offsets, o), append(l.segments, d)
		}
	}
	if len(l.segments) == 1 {
		s.listOffsets, s.listDocuments = l.offsets[0], l.segments[0]
	} else {
		s.listOffsets, s.listDocuments = l.merge()
	}
	return s.listOffsets, s.listDocuments
}

// splitLists takes a list file apart.
func splitLists(data []byte, k int64) (offsets []int64, documents []int32) {
	return as[int64](data[:8*(k+1)]), as[int32](data[listsAt(k):])
}

// Decoder rebuilds the index's vectors.
func (s *Snapshot) Decoder() (*codec.Decoder, error) {
	if s.isClosed() {
		return nil, fail(s.dir, ErrClosed)
	}
	return codec.NewDecoder(s.Centroids(), s.m.dim, s.m.bits, s.m.weights)
}

// ReadCodes copies the codes of len(dst) tokens, from the given one on. One that is not below
// K fails with ErrCorrupt, tokens outside the index with ErrRange.
func (s *Snapshot) ReadCodes(dst []int32, from int64) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.span(from, int64(len(dst))); err != nil {
		return err
	}
	if err := s.guard(func() error { copy(dst, s.Codes()[from:]); return nil }); err != nil {
		return err
	}
	if at := outside(dst, s.m.k); at >= 0 {
		return corruptElement(s.path(fileCodes), from+int64(at), "code %d of %d", dst[at], s.m.k)
	}
	return nil
}

// ReadResiduals copies the residual bytes of len(dst)/RowBytes tokens, from the given one on.
// A length that is no multiple of RowBytes, or tokens outside the index, fail with ErrRange.
func (s *Snapshot) ReadResiduals(dst []byte, from int64) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	row := s.m.row()
	if int64(len(dst))%row != 0 {
		return fmt.Errorf("store: %s: %d bytes of residuals, a token has %d: %w", s.dir, len(dst), row, ErrRange)
	}
	if err := s.span(from, int64(len(dst))/row); err != nil {
		return err
	}
	return s.guard(func() error { copy(dst, s.Residuals()[from*row:]); return nil })
}

func (s *Snapshot) span(from, n int64) error {
	switch {
	case s.closed:
		return fail(s.dir, ErrClosed)
	case from < 0 || n > s.m.tokens-from:
		return fmt.Errorf("store: %s: tokens %d to %d of %d: %w", s.dir, from, from+n, s.m.tokens, ErrRange)
	}
	return nil
}

// Guard runs f and turns a fault in a mapping into an error wrapping ErrChanged: somebody cut
// a file of the index short, which no writer of ours does, or its medium failed. It covers
// what f does on the calling goroutine. f is then stopped where it was, with its deferred
// calls run. Faults elsewhere pass on. On a closed snapshot f is not run: ErrClosed.
func (s *Snapshot) Guard(f func() error) error {
	if s.isClosed() {
		return fail(s.dir, ErrClosed)
	}
	return s.guard(f)
}

func (s *Snapshot) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// guard is Guard for those who hold mu.
func (s *Snapshot) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			name, at, ok := s.faulted(r)
			if !ok {
				panic(r)
			}
			err = wrong(filepath.Join(s.dir, name), at, because(ErrChanged, "cannot be read"))
		}
	}()
	return f()
}

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/likbench/likbench/internal/filelock"
)

// Options are choices that are fixed when an index is made.
type Options struct {
	// BlockBytes is how much of a file one checksum covers, a power of two from 64 to 2³⁰;
	// 0 takes 1 MiB.
	BlockBytes int
}

// Writer adds to an index. Its methods may be called from several goroutines, and run one
// after another.
type Writer struct {
	mu      sync.Mutex
	dir     string
	disk    disk
	lock    *filelock.Lock
	made    bool      // the folder is ours to remove
	base    *manifest // the committed generation, nil before the first
	next    *manifest // what the next commit will be
	open    map[kind]file
	words   []int32 // tombstones of next, once they are needed
	marked  bool    // words differ from those of base
	dirty   bool    // next differs from base
	touched bool    // there may be bytes on disk that base does not name
	behind  bool    // the folder is to be synced once more
	budget  int64   // list entries held at a time
	norms   *normer // made when a block comes without norms
	broken  error
	closed  bool
	page    idPage
}

// Create makes an index that holds no documents. The folder is made if there is none; its
// parent has to exist. Nothing is visible to readers before the first commit, and Close
// without one removes what was written.
//
// It fails with ErrExists, ErrLocked, an *InputError, or an *Error of the system.
func Create(dir string, c Codec, o Options) (*Writer, error) { return create(dir, c, o, system{}) }

func create(dir string, c Codec, o Options, d disk) (*Writer, error) {
	block := int64(o.BlockBytes)
	if block == 0 {
		block = defaultBlock
	}
	if block < minBlock || block > maxBlock || block&(block-1) != 0 {
		return nil, input("BlockBytes", -1, ErrRange, "%d, want a power of two from %d to %d", block, minBlock, maxBlock)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &manifest{
		dim: c.Dim, bits: c.Bits, k: int64(len(c.Centroids) / c.Dim), serial: 1, block: block, threshold: c.Threshold,
		cutoffs: append([]float32(nil), c.Cutoffs...), weights: append([]float32(nil), c.Weights...),
		average: append([]float32(nil), c.AverageResidual...),
	}
	w, err := begin(dir, d, true)
	if err != nil {
		return nil, err
	}
	w.next = m
	if err := w.fill(c.Centroids); err != nil {
		return nil, errors.Join(err, w.shut())
	}
	return w, nil
}

// fill makes the files of an empty index.
func (w *Writer) fill(cells []float32) error {
	w.dirty, w.touched = true, true
	raw := asBytes(cells)
	if w.next.k < halfBelow*int64(w.next.dim) {
		if halves := narrow(cells); halves != nil {
			w.next.half, raw = true, asBytes(halves)
		}
	}
	if err := w.whole(w.next, fileCentroids, raw); err != nil {
		return err
	}
	for _, k := range grown {
		w.next.add(w.next.fresh(k))
		if err := w.make(k); err != nil {
			return err
		}
	}
	return w.put(fileOffsets, asBytes([]int64{0}))
}

// OpenWriter opens an index to be added to. What a writer left that was killed, or closed
// without commit, is removed. It fails with ErrNoIndex, ErrLocked, or an *Error that names
// the file, wrapping ErrMissing, ErrCorrupt or what the system said. Content is not read:
// that is Check's work.
func OpenWriter(dir string) (*Writer, error) { return openWriter(dir, system{}, nil) }

// openWriter opens an index; files of the kinds in skip are not looked at.
func openWriter(dir string, d disk, skip map[kind]bool) (*Writer, error) {
	if _, err := list(dir); err != nil { // the lock would be the first file in a folder that has none of ours
		return nil, err
	}
	w, err := begin(dir, d, false)
	if err != nil {
		return nil, err
	}
	if err := w.resume(skip); err != nil {
		return nil, errors.Join(err, w.shut())
	}
	return w, nil
}

// resume opens the files of the newest generation, cuts them to it, and removes all others.
func (w *Writer) resume(skip map[kind]bool) error {
	l, err := list(w.dir)
	if err != nil {
		return err
	}
	if l.newest == 0 {
		return fail(w.dir, ErrNoIndex)
	}
	m, err := readManifest(w.dir, l.newest)
	if err != nil {
		return err
	}
	for i := range m.files {
		e := &m.files[i]
		if skip[e.kind] {
			continue
		}
		path := w.path(e)
		if link, err := os.Lstat(path); err == nil && !link.Mode().IsRegular() {
			// What stands behind a link may be another index, of a later generation, whose files this would cut.
			return fail(path, because(ErrUnsupported, "%s, which is read, but not written to", link.Mode().Type()))
		}
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return wrong(path, -1, fmt.Errorf("%w: %w", ErrMissing, err))
		case err != nil:
			return fail(path, err)
		case info.Size() < e.length:
			return corruptByte(path, info.Size(), "ends here, %d bytes wanted", e.length)
		}
	}
	for _, k := range grown {
		if skip[k] {
			continue
		}
		e := m.file(k)
		f, err := w.disk.open(w.path(e))
		if err != nil {
			return fail(w.path(e), err)
		}
		w.open[k] = f
		if err := truncate(f, e.length); err != nil {
			return fail(w.path(e), err)
		}
	}
	w.base, w.next = m, m.clone()
	return w.sweep(l)
}

// begin takes the folder, which is made where fresh is set and there is none.
func begin(dir string, d disk, fresh bool) (*Writer, error) {
	w := &Writer{dir: dir, disk: d, open: map[kind]file{}, budget: defaultBudget}
	if err := checkMachine(dir); err != nil {
		return nil, err
	}
	if fresh {
		switch err := d.mkdir(dir); {
		case err == nil:
			w.made = true
		case !errors.Is(err, fs.ErrExist):
			return nil, fail(dir, err)
		}
	}
	var err error
	if w.lock, err = lock(dir); err != nil {
		if w.made && !errors.Is(err, ErrLocked) {
			_ = d.remove(dir)
		}
		return nil, err
	}
	if fresh {
		if err := w.vacate(); err != nil {
			return nil, errors.Join(err, w.shut())
		}
	}
	return w, nil
}

// foreign is the file that makes a folder an index of another layout.
const foreign = "metadata.json"

// vacate refuses a folder that holds an index, and removes what a killed Create left.
func (w *Writer) vacate() error {
	l, err := list(w.dir)
	if err != nil {
		return err
	}
	name := foreign
	if l.newest > 0 {
		name = manifestName(l.newest)
	} else if _, err := os.Lstat(filepath.Join(w.dir, foreign)); errors.Is(err, fs.ErrNotExist) {
		return w.sweep(l)
	}
	return wrong(filepath.Join(w.dir, name), -1, because(ErrExists, "not overwritten"))
}

// sweep removes the files that the committed generation does not name.
func (w *Writer) sweep(l *listing) error {
	for _, name := range l.leftovers(w.base) {
		path := filepath.Join(w.dir, name)
		if err := w.disk.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !inUse(err) {
			return fail(path, err)
		}
	}
	return nil
}

func (w *Writer) path(e *entry) string { return filepath.Join(w.dir, e.name()) }

// make creates the file of a kind that grows.
func (w *Writer) make(k kind) error {
	e := w.next.file(k)
	f, err := w.disk.create(w.path(e))
	if err != nil {
		return fail(w.path(e), err)
	}
	if old := w.open[k]; old != nil {
		_ = old.Close() // its content is no longer wanted
	}
	w.open[k] = f
	return nil
}

// put appends to the file of a kind that grows.
func (w *Writer) put(k kind, p []byte) error {
	e := w.next.file(k)
	w.touched = true
	if err := writeAt(w.open[k], p, e.length); err != nil {
		return fail(w.path(e), err)
	}
	e.extend(p, w.next.block)
	return nil
}

// whole writes a file of its own, synced, from parts, and adds it to a generation.
func (w *Writer) whole(m *manifest, k kind, parts ...[]byte) error {
	e := m.fresh(k)
	err := w.emit(&e, func(put func(p []byte) error) error {
		for _, p := range parts {
			if err := put(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		m.add(e)
	}
	return err
}

// emit writes the file of an entry, synced.
func (w *Writer) emit(e *entry, write func(put func(p []byte) error) error) (err error) {
	path := w.path(e)
	f, err := w.disk.create(path)
	if err != nil {
		return fail(path, err)
	}
	defer func() { err = errors.Join(err, fail(path, f.Close())) }()
	err = write(func(p []byte) error {
		if err := writeAt(f, p, e.length); err != nil {
			return err
		}
		e.extend(p, w.next.block)
		return nil
	})
	if err != nil {
		return fail(path, err)
	}
	return fail(path, f.Sync())
}

// writeAt is WriteAt without the call where there is nothing to write.
func writeAt(f file, p []byte, at int64) error {
	if len(p) == 0 {
		return nil
	}
	_, err := f.WriteAt(p, at)
	return err
}

// usable is nil while the writer is open and whole.
func (w *Writer) usable() error {
	switch {
	case w.closed:
		return fail(w.dir, ErrClosed)
	case w.broken != nil:
		return fail(w.dir, fmt.Errorf("%w: %w", ErrBroken, w.broken))
	}
	return nil
}

// Documents is the number of documents, deleted ones included, with those not yet committed.
func (w *Writer) Documents() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next.documents
}

// NextID is the id that the next document gets if it brings none, and the least it may bring.
func (w *Writer) NextID() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next.nextID
}

// Close drops what was not committed and gives up the folder, once. An index that was never
// committed is removed. Whatever it returns, the writer is closed; what could not be removed
// is left to the next one.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	return w.shut()
}

func (w *Writer) shut() error {
	w.closed = true
	l, err := list(w.dir)
	errs := []error{err}
	// Only what no manifest names is taken back.
	drop := w.touched && err == nil && l.newest == w.generation()
	for _, k := range grown {
		f := w.open[k]
		if f == nil {
			continue
		}
		if drop && w.base != nil && w.next.file(k).serial == w.base.file(k).serial {
			e := w.base.file(k)
			errs = append(errs, fail(w.path(e), truncate(f, e.length)))
		}
		errs = append(errs, fail(w.dir, f.Close()))
	}
	if drop {
		errs = append(errs, w.sweep(l))
	}
	errs = append(errs, w.norms.release())
	w.lock.Release()
	if w.made && err == nil && l.newest == 0 {
		errs = append(errs, fail(w.dir, w.disk.remove(w.dir)))
	}
	return errors.Join(errs...)
}

// generation is the committed one, 0 before the first.
func (w *Writer) generation() uint64 {
	if w.base == nil {
		return 0
	}
	return w.base.generation
}

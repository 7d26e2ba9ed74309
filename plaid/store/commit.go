package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Commit makes what was appended and deleted a generation, and returns its number: readers
// that open the folder from now on see it, those before keep theirs. With nothing to commit
// the last generation stays. Generations count from 1.
//
// A failure leaves the last generation as it is, and Commit may be called again, but for two:
// after ErrBroken the writer is to be closed; ErrNotDurable says that the new generation is
// in place, and calling again makes it durable.
func (w *Writer) Commit() (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return w.generation(), err
	}
	if err := w.commit(); err != nil {
		return w.generation(), err
	}
	return w.generation(), nil
}

func (w *Writer) commit() error {
	if w.behind {
		if err := w.settle(); err != nil {
			return err
		}
	}
	if !w.dirty && w.base != nil {
		return nil
	}
	m := w.next.clone() // a failed commit is done again from the start
	m.generation = w.generation() + 1
	w.touched = true
	if err := w.seal(m); err != nil {
		return err
	}
	if err := w.mark(m); err != nil {
		return err
	}
	for _, k := range grown {
		if e := m.file(k); w.base == nil || e.length != w.base.file(k).length || e.serial != w.base.file(k).serial {
			if err := w.open[k].Sync(); err != nil {
				w.broken = err
				return fail(w.path(e), err)
			}
		}
	}
	if err := w.publish(m); err != nil {
		return err
	}
	w.base, w.next = m, m.clone()
	w.dirty, w.marked = false, false
	if err := w.settle(); err != nil {
		return err
	}
	w.tidy()
	return nil
}

// mark writes the tombstones, if there are any and they changed or are too few.
func (w *Writer) mark(m *manifest) error {
	if m.deleted == 0 {
		return nil
	}
	words := (m.documents + 31) / 32
	if old := m.file(fileTombstones); old != nil && !w.marked && old.length == 4*words {
		return nil
	}
	if err := w.loadWords(); err != nil {
		return err
	}
	m.drop(fileTombstones, 0)
	return w.whole(m, fileTombstones, asBytes(w.words[:words]))
}

// publish puts a manifest in place. All that it names is on disk, and so are the names.
func (w *Writer) publish(m *manifest) error {
	if err := w.disk.syncDir(w.dir); err != nil {
		return fail(w.dir, err)
	}
	if parent := filepath.Dir(w.dir); w.made && w.base == nil {
		if err := w.disk.syncDir(parent); err != nil {
			return fail(parent, err)
		}
	}
	from, to := filepath.Join(w.dir, temporary), filepath.Join(w.dir, manifestName(m.generation))
	text := m.encode()
	if len(text) > manifestLimit {
		return fail(to, because(ErrRange, "manifest of %d bytes, limit %d", len(text), manifestLimit))
	}
	f, err := w.disk.create(from)
	if err != nil {
		return fail(from, err)
	}
	if err := errors.Join(writeAt(f, text, 0), f.Sync(), f.Close()); err != nil {
		return fail(from, err)
	}
	if err := w.disk.rename(from, to); err != nil {
		// Network file systems may rename and lose the answer. The generation is then in
		// place, and its files are not to be written over.
		if _, stat := os.Lstat(to); stat == nil {
			w.broken = err
		}
		return fail(to, err)
	}
	return nil
}

// settle makes the rename durable.
func (w *Writer) settle() error {
	w.behind = true
	if err := w.disk.syncDir(w.dir); err != nil {
		return wrong(w.dir, -1, fmt.Errorf("%w: %w", ErrNotDurable, err))
	}
	w.behind = false
	return nil
}

// tidy removes what the new generation no longer names. Readers keep what they have open.
// Failing changes nothing for anyone; the next writer tries again.
func (w *Writer) tidy() {
	if l, err := list(w.dir); err == nil && w.sweep(l) == nil {
		w.touched = false
	}
}

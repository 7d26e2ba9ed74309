package store

import (
	"cmp"
	"io"
	"slices"
	"sort"
)

// Delete marks documents in the next generation. Deleting one twice, in one call or several,
// is the same as once; an id that the index does not hold (any longer, after Compact) fails
// with an *InputError wrapping ErrUnknownID, and nothing is deleted.
func (w *Writer) Delete(ids []int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	// In ascending order neighbours share a page.
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	positions := make([]int64, len(ids))
	for _, i := range order {
		p, err := w.page.find(w.open[fileIDs], w.next.documents, ids[i])
		if err != nil {
			return fail(w.path(w.next.file(fileIDs)), err)
		}
		positions[i] = p
	}
	if i := slices.Index(positions, -1); i >= 0 {
		return input("ids", int64(i), ErrUnknownID, "%d", ids[i])
	}
	if err := w.loadWords(); err != nil {
		return err
	}
	for _, p := range positions {
		if bit := int32(1) << (p % 32); w.words[p/32]&bit == 0 {
			w.words[p/32] |= bit
			w.next.deleted++
			w.marked, w.dirty = true, true
		}
	}
	return nil
}

// loadWords makes words hold a bit for each document.
func (w *Writer) loadWords() error {
	if w.words == nil && w.base != nil {
		if e := w.base.file(fileTombstones); e != nil {
			path := w.path(e)
			f, err := openRegular(path)
			if err != nil {
				return err
			}
			defer f.Close()
			words := make([]int32, e.length/4)
			if _, err := io.ReadFull(io.NewSectionReader(f, 0, e.length), asBytes(words)); err != nil {
				return fail(path, err)
			}
			w.words = words
		}
	}
	if n := int((w.next.documents + 31) / 32); n > len(w.words) {
		w.words = append(w.words, make([]int32, n-len(w.words))...)
	}
	return nil
}

// idPage finds documents by id in the file of ids, which ascend, keeping the page of the
// last search.
type idPage struct {
	from int64 // of the first id in ids
	ids  []int64
}

const pageIDs = 4096

// find is the position of an id, or −1.
func (p *idPage) find(f io.ReaderAt, documents, id int64) (int64, error) {
	if len(p.ids) == 0 || id < p.ids[0] || id > p.ids[len(p.ids)-1] {
		if err := p.turn(f, documents, id); err != nil {
			return 0, err
		}
	}
	if i, found := slices.BinarySearch(p.ids, id); found {
		return p.from + int64(i), nil
	}
	return -1, nil
}

// turn reads the page that would hold an id: the last one that does not start above it.
func (p *idPage) turn(f io.ReaderAt, documents, id int64) error {
	p.ids = p.ids[:0]
	pages := int((documents + pageIDs - 1) / pageIDs)
	var failed error
	first := make([]int64, 1)
	n := sort.Search(pages, func(i int) bool {
		if _, err := f.ReadAt(asBytes(first), int64(i)*pageIDs*8); err != nil && failed == nil {
			failed = err
		}
		return first[0] > id
	})
	if failed != nil || n == 0 {
		return failed
	}
	p.from = int64(n-1) * pageIDs
	page := slices.Grow(p.ids, pageIDs)[:min(pageIDs, documents-p.from)]
	if _, err := f.ReadAt(asBytes(page), p.from*8); err != nil {
		return err
	}
	p.ids = page
	return nil
}

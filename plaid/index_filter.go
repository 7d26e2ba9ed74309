package plaid

import (
	"fmt"
	"slices"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid/format"
)

// stored is what a snapshot of package store has beyond a Source. Its arrays lie in mappings,
// so they are read inside Guard.
type stored interface {
	IDs() []int64     // one a document, ascending
	Deleted() []int32 // bit j%32 of word j/32 is set where document j is deleted; nil = none
	Codes() []int32
	Residuals() []byte
	InvNorms() []float32 // canonical
	Lists() (offsets []int64, documents []int32)
	Guard(f func() error) error
}

// listsOf are the inverted lists: those of our own store as they are, else made from codes,
// so that a foreign list that lacks a document cannot hide it.
func listsOf(src format.Source) (*format.Lists, error) {
	if st, ok := src.(stored); ok {
		l := &format.Lists{}
		l.Offsets, l.Documents = st.Lists()
		return l, nil
	}
	return format.BuildLists(src)
}

// takeIDs takes over ids and tombstones and lists what may be returned.
func (ix *Index) takeIDs(src format.Source) error {
	n := ix.Len()
	var dead []int32
	if st, ok := src.(stored); ok {
		ids := st.IDs()
		if len(ids) != n {
			return fmt.Errorf("plaid: index: %d ids for %d documents: %w", len(ids), n, backend.ErrArgument)
		}
		for j := 1; j < n; j++ {
			if ids[j] <= ids[j-1] {
				return fmt.Errorf("plaid: index: document %d has id %d after %d: ids ascend: %w", j, ids[j], ids[j-1], backend.ErrArgument)
			}
		}
		ix.ids, dead = slices.Clone(ids), st.Deleted()
	}
	ix.words = make([]uint32, (n+31)/32)
	ix.docs = make([]int32, 0, n)
	for j := range n {
		deleted := j/32 < len(dead) && dead[j/32]>>(j%32)&1 != 0
		if !deleted && ix.offsets[j+1] > ix.offsets[j] {
			ix.words[j/32] |= 1 << (j % 32)
			ix.docs = append(ix.docs, int32(j))
			ix.liveTokens += ix.offsets[j+1] - ix.offsets[j]
		}
	}
	return nil
}

// id is a document's name.
func (ix *Index) id(document int32) int64 {
	if ix.ids == nil {
		return int64(document)
	}
	return ix.ids[document]
}

// find is the document of an id, false for none.
func (ix *Index) find(id int64) (int32, bool) {
	if ix.ids == nil {
		return int32(id), id >= 0 && id < int64(ix.Len())
	}
	at, ok := slices.BinarySearch(ix.ids, id)
	return int32(at), ok
}

// selection is the documents that a call may return.
type selection struct {
	all    bool // that the index has
	docs   []int32
	words  []uint32
	tokens int64 // of docs
}

// choose resolves a filter: nil is none. Ids may repeat and be in any order; deleted and
// empty documents are left out; others fail with *IDError.
func (s *selection) choose(ix *Index, filter []int64) error {
	if filter == nil {
		s.all, s.docs, s.words = true, ix.docs, ix.words
		s.tokens = ix.liveTokens
		return nil
	}
	var bad IDError
	if s.all || len(s.words) != len(ix.words) { // words of all are the index's own
		s.words, s.docs = make([]uint32, len(ix.words)), nil
	}
	s.all, s.docs, s.tokens = false, s.docs[:0], 0
	clear(s.words)
	for _, id := range filter {
		j, ok := ix.find(id)
		if !ok {
			if bad.Count++; len(bad.IDs) < 10 {
				bad.IDs = append(bad.IDs, id)
			}
			continue
		}
		bit := uint32(1) << (j % 32)
		if ix.words[j/32]&bit == 0 || s.words[j/32]&bit != 0 {
			continue
		}
		s.words[j/32] |= bit
		s.docs = append(s.docs, j)
		s.tokens += ix.offsets[j+1] - ix.offsets[j]
	}
	if bad.Count > 0 {
		return &bad
	}
	slices.Sort(s.docs)
	return nil
}

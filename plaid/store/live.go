package store

import (
	"fmt"
	"sort"

	"github.com/likbench/likbench/plaid/format"
)

// Compacted is the snapshot without its deleted documents, as Compact would leave it: what
// layouts without tombstones can be written of. It is the snapshot itself where nothing is
// deleted, and otherwise has offsets of its own, 8 bytes a document. It ends with the snapshot.
// Its documents are counted from 0 and have no other ids.
// Offsets that descend fail with ErrCorrupt, a closed snapshot with ErrClosed.
func (s *Snapshot) Compacted() (format.Source, error) {
	if s.isClosed() {
		return nil, fail(s.dir, ErrClosed)
	}
	if s.m.deleted == 0 {
		return s, nil
	}
	l := &live{mapping: s, s: s, offsets: make([]int64, 1, s.Live()+1)}
	err := s.Guard(func() error {
		return s.runs(func(from, to int) error {
			old, at := s.Offsets(), l.offsets[len(l.offsets)-1]
			l.starts, l.moved = append(l.starts, at), append(l.moved, old[from]-at)
			for j := from; j < to; j++ {
				l.offsets = append(l.offsets, at+old[j+1]-old[from])
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// mapping is what a view has of a snapshot: nothing that counts deleted documents.
type mapping interface {
	format.Source
	Guard(f func() error) error
}

// live is a snapshot seen without its deleted documents.
type live struct {
	mapping
	s       *Snapshot
	offsets []int64
	starts  []int64 // first token of each run
	moved   []int64 // how much further back it is in the snapshot
}

func (l *live) Offsets() []int64 { return l.offsets }

// ReadCodes is as of Snapshot, with tokens counted anew.
func (l *live) ReadCodes(dst []int32, from int64) error {
	return l.each(from, int64(len(dst)), func(at, n, done int64) error {
		return l.s.ReadCodes(dst[done:done+n], at)
	})
}

// ReadResiduals is as of Snapshot, with tokens counted anew.
func (l *live) ReadResiduals(dst []byte, from int64) error {
	row := l.s.m.row()
	if int64(len(dst))%row != 0 {
		return fmt.Errorf("store: %s: %d bytes of residuals, a token has %d: %w", l.s.dir, len(dst), row, ErrRange)
	}
	return l.each(from, int64(len(dst))/row, func(at, n, done int64) error {
		return l.s.ReadResiduals(dst[done*row:(done+n)*row], at)
	})
}

// each visits the parts of n tokens from from on that are neighbours in the snapshot: n of
// them at at, done before.
func (l *live) each(from, n int64, visit func(at, n, done int64) error) error {
	total := l.offsets[len(l.offsets)-1]
	if from < 0 || n > total-from {
		return fmt.Errorf("store: %s: tokens %d to %d of %d: %w", l.s.dir, from, from+n, total, ErrRange)
	}
	run := sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > from }) - 1
	for done := int64(0); done < n; run++ {
		end := total
		if run+1 < len(l.starts) {
			end = l.starts[run+1]
		}
		part := min(end-from-done, n-done)
		if err := visit(from+done+l.moved[run], part, done); err != nil {
			return err
		}
		done += part
	}
	return nil
}

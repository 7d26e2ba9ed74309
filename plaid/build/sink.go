package build

import (
	"errors"
	"io/fs"

	"github.com/likbench/likbench/plaid/store"
)

// indexSink makes an index in a folder. Chunks wait in the building area, but for the last
// one: once that is there nothing is left to be resumed.
type indexSink struct {
	b    *builder
	dir  string
	c    *Codec
	next int // chunk
	w    *store.Writer
}

func (s *indexSink) begin(c *Codec) error {
	s.c = c
	return nil
}

func (s *indexSink) row() int { return s.c.Dim * s.c.Bits / 8 }

// resume counts the chunks that are whole. One that is not, as after a loss of power, is
// made again, with all that follow.
func (s *indexSink) resume() (int64, error) {
	for part := range s.b.chunks(0) {
		_, err := s.b.area.chunk(s.next, part, s.row())
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrCorrupt) || s.next == s.b.stats.Chunks-1 {
			return part.first, nil
		}
		if err != nil {
			return 0, err
		}
		s.next++
		s.b.stats.Resumed++
	}
	return int64(len(s.b.census.lens)), nil
}

func (s *indexSink) put(c *chunk) error {
	i := s.next
	s.next++
	if s.next < s.b.stats.Chunks {
		return s.b.area.saveChunk(i, c)
	}
	if err := s.gather(); err != nil {
		return err
	}
	return s.append(c)
}

// gather starts the index and appends the chunks that waited.
func (s *indexSink) gather() (err error) {
	s.b.enter(Write)
	if s.w, err = store.Create(s.dir, *s.c, store.Options{}); err != nil {
		return err
	}
	i := 0
	for part := range s.b.chunks(0) {
		if i == s.b.stats.Chunks-1 {
			break
		}
		c, err := s.b.area.chunk(i, part, s.row())
		if err != nil {
			return err
		}
		if err := s.append(c); err != nil {
			return err
		}
		i++
	}
	return nil
}

func (s *indexSink) append(c *chunk) error {
	if err := s.w.Append(blockOf(s.b.c, c)); err != nil {
		return err
	}
	s.b.report(Progress{Stage: Write, Documents: c.first + int64(len(c.lens)), OfDocuments: int64(len(s.b.census.lens))})
	return nil
}

func blockOf(from Collection, c *chunk) store.Block {
	b := store.Block{Lens: make([]int64, len(c.lens)), Codes: c.codes, Residuals: c.residuals, InvNorms: c.inv}
	for i, n := range c.lens {
		b.Lens[i] = int64(n)
	}
	b.IDs = idsOf(from, c.first, len(c.lens))
	return b
}

// idsOf are the documents' own ids, or nil.
func idsOf(c Collection, first int64, n int) []int64 {
	named, ok := c.(Named)
	if !ok {
		return nil
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = named.ID(first + int64(i))
	}
	return ids
}

func (s *indexSink) commit() error {
	if s.w == nil { // no documents
		if err := s.gather(); err != nil {
			return err
		}
	}
	if err := s.b.area.stop("before", "commit"); err != nil {
		return err
	}
	if _, err := s.w.Commit(); err != nil {
		return err
	}
	return s.b.area.stop("after", "commit")
}

func (s *indexSink) close() error {
	if s.w == nil {
		return nil
	}
	return s.w.Close()
}

package plaid

import (
	"errors"
	"slices"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
)

const (
	// settleRoom is how many documents of all queries of a group are scored together where
	// the screen left something open.
	settleRoom = 4096
	// settleWhole is the scores of a screen that come down at once, those of proven queries
	// among them, rather than one query's after another's.
	settleWhole = 1 << 18
)

// opened is a query of the group whose first k the screen left open.
type opened struct {
	e        int
	kth      float64 // the k-th exact score so far, −Inf for fewer than k
	from, to int     // the query's documents in Searcher.left
	picked   canon.Selector[canon.Fixed, int64]
}

// collect brings the results down. Where the screen kept too few documents to prove the first
// k of a query, all those that its bound does not exclude are scored.
func (s *Searcher) collect() error {
	r, v := &s.run, &s.v
	if err := s.stream.Download(raw(s.out[:(v.size-v.download)/8]), s.work, v.download); err != nil {
		return err
	}
	if err := s.stream.Sync(); err != nil {
		return err
	}
	if err := s.mark("download"); err != nil {
		return err
	}
	s.kths = slices.Grow(s.kths[:0], len(r.group))[:len(r.group)]
	const perResult = 16 // of reading a score, in components of a query
	eachQuery(len(r.group), perResult*len(r.group)*int(r.sh.last), func(w, e int) { s.kths[e] = s.readers[w].read(s, e) })
	s.open = s.open[:0]
	var err error
	for w := range s.readers {
		if err == nil {
			err = s.readers[w].err
		}
		s.readers[w].err = nil
	}
	if err != nil {
		return err
	}
	for e, kth := range s.kths {
		if kth == kth {
			s.doubt(e, kth)
		}
	}
	if err := s.settle(); err != nil {
		return err
	}
	times, err := s.stages()
	for _, i := range r.group {
		r.c.stats[i].Stages = times
	}
	return err
}

// doubt notes that query e, whose k-th score so far is kth, is open.
func (s *Searcher) doubt(e int, kth float64) {
	n := len(s.open)
	if n == cap(s.open) {
		s.open = append(s.open, opened{})
	}
	s.open = s.open[:n+1] // what it had picked before is room to be used again
	s.open[n].e, s.open[n].kth = e, kth
}

// settle answers the queries that are open: the screen's scores are still on the device, and
// every document that may reach the k-th exact score is scored, in one round.
func (s *Searcher) settle() error {
	if len(s.open) == 0 {
		return nil
	}
	r, v := &s.run, &s.v
	if err := s.leave(); err != nil {
		return err
	}
	most, width := 0, int(r.sh.settle)
	for i := range s.open {
		o := &s.open[i]
		o.picked.Reset(r.c.k)
		most = max(most, o.to-o.from)
	}
	docs := s.scratch(r.sh.nq * r.sh.settle)
	fixed := make([]canon.Fixed, len(docs))
	for at := 0; at < most; at += width {
		for j := range docs {
			docs[j] = -1
		}
		for _, o := range s.open {
			copy(docs[o.e*width:(o.e+1)*width], s.left[min(o.from+at, o.to):o.to])
		}
		if err := s.stream.Upload(v.left.Buf, v.left.Off, raw(docs)); err != nil {
			return err
		}
		if err := launch(s, &s.steps.settle, kernels.ResidualMaxSim, fillSettle, "settle"); err != nil {
			return err
		}
		if err := errors.Join(s.stream.Download(raw(fixed), v.leftFixed.Buf, v.leftFixed.Off), s.stream.Sync()); err != nil {
			return err
		}
		for i := range s.open {
			o := &s.open[i]
			if err := s.ix.push(&o.picked, docs[o.e*width:(o.e+1)*width], fixed[o.e*width:(o.e+1)*width]); err != nil {
				return err
			}
		}
	}
	for i := range s.open {
		o := &s.open[i]
		s.merge = o.picked.AppendTo(s.merge[:0])
		query := r.group[o.e]
		r.c.hits[query] = hitsOf(s.merge, r.scales[o.e])
		s.describe(&s.readers[0], o.e, r.c.stats[query], o.to-o.from)
	}
	return nil
}

// leave lists, for each query that is open, the documents that the screen does not exclude.
func (s *Searcher) leave() error {
	r, v := &s.run, &s.v
	s.left = s.left[:0]
	rows, list := int64(1), r.sh.list // that come down together
	if r.sh.nq*list <= s.whole {
		rows = r.sh.nq
	}
	scores, docs := s.floating(rows*list), s.sel.docs
	if r.p.method == MethodProbe {
		docs = s.scratch(rows * list)
	}
	for i := range s.open {
		o := &s.open[i]
		row := int64(o.e) % rows
		if first := int64(o.e) - row; rows == 1 || i == 0 {
			if err := s.stream.Download(raw(scores), v.screen.Buf, v.screen.Off+first*list*4); err != nil {
				return err
			}
			if r.p.method == MethodProbe {
				if err := s.stream.Download(raw(docs), v.keepDoc.Buf, v.keepDoc.Off+first*list*4); err != nil {
					return err
				}
			}
		}
		own := docs
		if r.p.method == MethodProbe {
			own = docs[row*list : (row+1)*list]
		}
		o.from = len(s.left)
		for j, x := range scores[row*list : (row+1)*list] {
			if document := own[j]; document >= 0 && !(o.kth > float64(x)+r.slack[o.e]) {
				s.left = append(s.left, document)
			}
		}
		o.to = len(s.left)
	}
	return nil
}

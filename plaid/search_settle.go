package plaid

import (
	"errors"
	"slices"

	"github.com/likbench/likbench/backend"
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
	// settlePortion is the scores that a goroutine compares at a time.
	settlePortion = 1 << 14
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
	const perResult = 64 // of reading a score, in components of a query
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
	s.fixed = slices.Grow(s.fixed[:0], len(docs))[:len(docs)]
	fixed := s.fixed
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
	r := &s.run
	s.left = s.left[:0]
	if rows := r.sh.nq; rows*r.sh.list <= s.whole {
		return s.sift(s.open, 0, rows)
	}
	for i := range s.open {
		if err := s.sift(s.open[i:i+1], int64(s.open[i].e), 1); err != nil {
			return err
		}
	}
	return nil
}

// portion is the places from to to of the screen's list for a query, and where the goroutine w
// put the documents among them that are left.
type portion struct {
	o, from, to int
	w, at, end  int
}

// sift is leave for queries whose scores are among so many rows from first on: these come down
// together.
func (s *Searcher) sift(open []opened, first, rows int64) error {
	scores, docs, err := s.bring(first, rows)
	if err != nil {
		return err
	}
	list := int(s.run.sh.list)
	s.portions = s.portions[:0]
	for i := range open {
		for at := 0; at < list; at += s.portion {
			s.portions = append(s.portions, portion{o: i, from: at, to: min(at+s.portion, list)})
		}
	}
	for w := range s.readers {
		s.readers[w].left = s.readers[w].left[:0]
	}
	const perScore = 2 // of comparing a score, in components of a query
	eachQuery(len(s.portions), perScore*len(open)*list, func(w, i int) {
		p := &s.portions[i]
		o, to := &open[p.o], s.readers[w].left
		row := (o.e - int(first)) * list
		own, slack := docs, s.run.slack[o.e]
		if len(docs) > list {
			own = docs[row : row+list]
		}
		p.w, p.at = w, len(to)
		for j, x := range scores[row+p.from : row+p.to] {
			if document := own[p.from+j]; document >= 0 && !(o.kth > float64(x)+slack) {
				to = append(to, document)
			}
		}
		p.end, s.readers[w].left = len(to), to
	})
	for i := range open {
		open[i].from, open[i].to = len(s.left), len(s.left)
	}
	for _, p := range s.portions {
		o := &open[p.o]
		if p.from == 0 {
			o.from = len(s.left)
		}
		s.left = append(s.left, s.readers[p.w].left[p.at:p.end]...)
		o.to = len(s.left)
	}
	return nil
}

// bring downloads rows of the screen's scores from first on, and the documents that they are
// of: as many, or one row that serves all.
func (s *Searcher) bring(first, rows int64) (scores []float32, docs []int32, err error) {
	v, list := &s.v, s.run.sh.list
	n := rows * list
	screen := backend.NewView(v.screen.Buf, v.screen.Off+first*list*4, backend.F32, rows, list)
	if s.run.p.method != MethodProbe {
		if err := s.roomLeft(n * 4); err != nil {
			return nil, nil, err
		}
		scores, docs = part[float32](s.blocks.left.words, screen.Off, &screen), s.sel.docs
		return scores, docs, s.stream.Download(raw(scores), screen.Buf, screen.Off)
	}
	kept := backend.NewView(v.keepDoc.Buf, v.keepDoc.Off+first*list*4, backend.I32, rows, list)
	if first == 0 && rows == s.run.sh.nq { // the one lies behind the other
		size := screen.Off + n*4 - kept.Off
		if err := s.roomLeft(size); err != nil {
			return nil, nil, err
		}
		w := s.blocks.left.words
		return part[float32](w, kept.Off, &screen), part[int32](w, kept.Off, &kept), s.stream.Download(raw(w)[:size], kept.Buf, kept.Off)
	}
	docs = s.scratch(n)
	scores = s.floating(n)
	return scores, docs, errors.Join(s.stream.Download(raw(scores), screen.Buf, screen.Off), s.stream.Download(raw(docs), kept.Buf, kept.Off))
}

// roomLeft makes room for so many bytes of scores and documents that come down.
func (s *Searcher) roomLeft(bytes int64) error {
	if int64(len(s.blocks.left.words))*8 >= bytes {
		return nil
	}
	pin, _ := s.ix.dev.(backend.PinnedAllocator)
	return s.blocks.left.renew(pin, (bytes+bytes/4+7)&^7)
}

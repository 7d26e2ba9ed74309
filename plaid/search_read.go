package plaid

import (
	"fmt"
	"math"

	"github.com/likbench/likbench/backend/canon"
)

// reader is what a goroutine needs to read results.
type reader struct {
	picked canon.Selector[canon.Fixed, int64]
	merge  []canon.Result[canon.Fixed, int64]
	cells  []uint64 // a bit for each
	err    error    // the first one
	left   []int32  // see sift
}

// read makes hits and statistics of query e of the group, and returns NaN, unless the screen
// left its first k open: then it returns the k-th score so far.
func (w *reader) read(s *Searcher, e int) float64 {
	r, v, last := &s.run, &s.v, int(s.run.sh.last)
	row := part[int32](s.out, v.download, &v.lastDoc)[e*last : (e+1)*last]
	if r.p.method != MethodProbe && r.screen == ScreenNone {
		row = s.sel.docs
	}
	w.picked.Reset(r.c.k)
	if err := s.ix.push(&w.picked, row, part[canon.Fixed](s.out, v.download, &v.fixed)[e*last:(e+1)*last]); err != nil {
		w.err = err
		return math.NaN()
	}
	w.merge = w.picked.AppendTo(w.merge[:0])
	if r.screen != ScreenNone {
		kth := r.floor
		if len(w.merge) == r.c.k {
			kth = max(kth, r.scales[e].Float(w.merge[r.c.k-1].Score))
		}
		// No document that the screen left out scores more, give or take the slack; there is
		// none where places are left over.
		least := part[float32](s.out, v.download, &v.lastVal)[(e+1)*last-1]
		if !(least < -maxFloat) && !(kth > float64(least)+r.slack[e]) {
			return kth
		}
	}
	i := r.group[e]
	r.c.hits[i] = hitsOf(w.merge, r.scales[e])
	s.describe(w, e, r.c.stats[i], last)
	return math.NaN()
}

// push offers documents, those below 0 excepted, with their canonical scores.
func (ix *Index) push(to *canon.Selector[canon.Fixed, int64], docs []int32, fixed []canon.Fixed) error {
	n := ix.Len()
	for j, f := range fixed {
		switch document := docs[j]; {
		case int(document) >= n:
			return fmt.Errorf("plaid: the device returned document %d of %d", document, n)
		case document >= 0:
			to.Push(f, ix.id(document))
		}
	}
	return nil
}

func hitsOf(results []canon.Result[canon.Fixed, int64], sc canon.Scale) []Hit {
	hits := make([]Hit, len(results))
	for i, m := range results {
		hits[i] = Hit{ID: m.ID, Score: scoreOf(m.Score, sc), Fixed: m.Score}
	}
	return hits
}

// distinct counts the cells of a query among k.
func (w *reader) distinct(k int, cells []int32) (n int) {
	if need := (k + 63) / 64; len(w.cells) < need {
		w.cells = make([]uint64, need)
	}
	clear(w.cells)
	for _, c := range cells {
		if c >= 0 && int(c) < k {
			word, bit := &w.cells[c/64], uint(c%64)
			n += int(^*word >> bit & 1)
			*word |= 1 << bit
		}
	}
	return n
}

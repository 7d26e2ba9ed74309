package canon

import "slices"

// Score is a type that results are ranked by.
type Score interface {
	float32 | float64 | Fixed
}

// ID is a type that results are named by.
type ID interface {
	int | int32 | int64 | uint32 | uint64
}

// Less reports whether result a comes before result b: by score, descending, then
// by id, ascending. NaN scores come last, −0 and +0 are equal. With distinct ids
// the order is total.
func Less[S Score, I ID](scoreA S, idA I, scoreB S, idB I) bool {
	if scoreA > scoreB {
		return true
	}
	if scoreA < scoreB {
		return false
	}
	if a, b := scoreA != scoreA, scoreB != scoreB; a != b {
		return b
	}
	return idA < idB
}

// Result is a score and whose it is.
type Result[S Score, I ID] struct {
	Score S
	ID    I
}

func compare[S Score, I ID](a, b Result[S, I]) int {
	switch {
	case Less(a.Score, a.ID, b.Score, b.ID):
		return -1
	case Less(b.Score, b.ID, a.Score, a.ID):
		return 1
	}
	return 0
}

// Selector keeps the first k of the results pushed into it, in any order. The zero
// value keeps none; [Selector.Reset] sets k. One goroutine at a time.
type Selector[S Score, I ID] struct {
	k    int
	heap []Result[S, I] // the last in order at the root
}

// Reset empties the selector and makes it keep k results; a negative k counts as
// 0. Memory grows with the results kept, not with k, and is reused.
func (s *Selector[S, I]) Reset(k int) {
	s.k, s.heap = max(k, 0), s.heap[:0]
}

// Push offers a result.
func (s *Selector[S, I]) Push(score S, id I) {
	if len(s.heap) < s.k {
		s.heap = append(s.heap, Result[S, I]{score, id})
		s.up(len(s.heap) - 1)
		return
	}
	if s.k == 0 || !Less(score, id, s.heap[0].Score, s.heap[0].ID) {
		return
	}
	s.heap[0] = Result[S, I]{score, id}
	s.down()
}

// Admits reports whether a result would be kept if pushed now, so that a caller
// can leave out work for one that is bounded by (score, id).
func (s *Selector[S, I]) Admits(score S, id I) bool {
	return len(s.heap) < s.k || s.k > 0 && Less(score, id, s.heap[0].Score, s.heap[0].ID)
}

// Len returns the number of results kept.
func (s *Selector[S, I]) Len() int { return len(s.heap) }

// AppendTo appends the kept results to dst, in order, and empties the selector.
func (s *Selector[S, I]) AppendTo(dst []Result[S, I]) []Result[S, I] {
	slices.SortFunc(s.heap, compare)
	dst = append(dst, s.heap...)
	s.heap = s.heap[:0]
	return dst
}

func (s *Selector[S, I]) after(i, j int) bool {
	return Less(s.heap[j].Score, s.heap[j].ID, s.heap[i].Score, s.heap[i].ID)
}

func (s *Selector[S, I]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !s.after(i, parent) {
			return
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

func (s *Selector[S, I]) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.after(child+1, child) {
			child++
		}
		if !s.after(child, i) {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}

// Sort puts results into canonical order.
func Sort[S Score, I ID](results []Result[S, I]) { slices.SortFunc(results, compare) }

// TopK appends the first k results to dst, in order; the id of a score is its
// index. Fewer than k scores give fewer results.
func TopK[S Score](dst []Result[S, int], scores []S, k int) []Result[S, int] {
	var s Selector[S, int]
	s.Reset(k)
	s.heap = make([]Result[S, int], 0, min(max(k, 0), len(scores)))
	for i, score := range scores {
		s.Push(score, i)
	}
	return s.AppendTo(dst)
}

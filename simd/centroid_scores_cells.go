package simd

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/likbench/likbench/backend"
)

// cellOutput is the outputs of the centroid scores; those that are absent are nil.
type cellOutput struct {
	score, cellScore        []float32
	halves                  []uint16
	cell                    []int32
	scoreStride, halfStride int64
	results                 int64 // p
}

func cellOutputOf(score, half, cell, cellScore *backend.View) cellOutput {
	o := cellOutput{score: Slice[float32](score), halves: Slice[uint16](half), cell: Slice[int32](cell), cellScore: Slice[float32](cellScore),
		results: cellsOf(cell, cellScore)}
	if !score.Absent() {
		o.scoreStride = score.RowStride()
	}
	if !half.Absent() {
		o.halfStride = half.RowStride()
	}
	return o
}

func (o *cellOutput) cells() int64 { return o.results }

// cellsOf is the cells wanted of each token, 0 where neither operand is there.
func cellsOf(cell, cellScore *backend.View) int64 {
	for _, v := range []*backend.View{cell, cellScore} {
		if !v.Absent() {
			return v.Dims[1]
		}
	}
	return 0
}

const (
	// cellInsert is the largest number of cells whose list is kept in order: its last entry is a
	// bound at all times, and to move half a list costs less than to select now and then.
	cellInsert = 32
	// cellSlack is what a longer list holds beyond twice the cells, so that few select all the time.
	cellSlack = 32
)

// cellCapacity is the entries of a token's list: all centroids for more cells than lists are for.
func cellCapacity(k, p int64) int64 {
	switch {
	case p <= cellInsert:
		return p
	case p > topkScan:
		return k
	}
	return min(k, 2*p+cellSlack)
}

// begin empties the lists of n tokens, from lo on. A bound that is NaN lets everything in;
// what another range has found to be too little for the cells is left out.
func (w *scores) begin(lo int64, n int) {
	clear(w.length)
	for j := range w.bound {
		w.bound[j] = float32(math.Inf(1)) // lanes without a token, and tokens that want no cells
		if j >= n || w.p == 0 {
			continue
		}
		w.bound[j] = canonicalNaN
		if w.splits == 1 {
			continue
		}
		if least := topkScore(uint64(atomic.LoadUint32(&w.least[lo+int64(j)])) << 32); least > negInf32 { // not NaN
			w.bound[j] = math.Nextafter32(least, negInf32) // an equal score may have a lower index
		}
	}
	if w.insert == nil || w.p == 0 || w.p > cellInsert {
		return
	}
	for at := int64(0); at < int64(n); at += w.full {
		w.slotted[at] = true
		value, index := w.slots(at)
		lanes := w.panelOf(int64(n) - at)
		for s := range w.p {
			copy(value[s*lanes:], w.bound[at:at+lanes])
		}
		for i := range index {
			index[i] = -1
		}
	}
}

// slots are the lists of a panel by lanes.
func (w *scores) slots(token int64) (value []float32, index []int32) {
	return w.slotValue[token*w.p:][:w.full*w.p], w.slotIndex[token*w.p:][:w.full*w.p]
}

// unslot moves the lists of a panel out of its slots.
func (w *scores) unslot(token, count, lanes int64) {
	w.slotted[token] = false
	value, index := w.slots(token)
	for j := range count {
		list := w.list[(token+j)*w.capacity:][:w.p]
		n := int64(0)
		for ; n < w.p && index[n*lanes+j] >= 0; n++ {
			list[n] = topkKey(value[n*lanes+j], int(index[n*lanes+j]))
		}
		w.length[token+j] = int(n)
		if n == w.p {
			w.bound[token+j] = topkScore(list[n-1])
		}
	}
}

// scan offers a chunk's products to the lists, and gives every NaN its canonical bits. Once
// the bounds have risen few rows have a lane above its own.
func (w *scores) scan(out []float32, token, count, lanes, c, rows int64) {
	bound := w.bound[token:][:lanes]
	t := int64(0)
	if w.slotted[token] {
		value, index := w.slots(token)
		t = int64(w.insert(&out[0], int(rows), int(lanes), int(c), &value[0], &index[0], int(w.p)))
		if t == rows {
			return
		}
		w.unslot(token, count, lanes) // a NaN: one by one from here on
	}
	for ; t < rows; t++ {
		skip, hits := w.above(&out[t*lanes], int(rows-t), int(lanes), &bound[0])
		t += int64(skip)
		if t >= rows {
			return
		}
		row := out[t*lanes:][:lanes]
		for ; hits != 0; hits &= hits - 1 {
			j := bits.TrailingZeros32(hits)
			v := row[j]
			if v != v {
				row[j] = canonicalNaN
			}
			if int64(j) < count && (v > bound[j] || bound[j] != bound[j]) {
				w.push(token+int64(j), v, c+t)
			}
		}
	}
}

// push adds a score to a token's list. A longer list is cut when it is full.
func (w *scores) push(token int64, v float32, c int64) {
	list := w.list[token*w.capacity:][:w.capacity]
	n, p := w.length[token], int(w.p)
	key := topkKey(v, int(c))
	if p > cellInsert {
		list[n] = key
		n++
		if n == len(list) {
			w.bound[token] = topkScore(topkCut(list, w.spare, p))
			n = p
		}
		w.length[token] = n
		return
	}
	switch {
	case n < p:
		n++
		w.length[token] = n
	case key > list[p-1]: // both are NaN
		return
	}
	i := n - 1
	for ; i > 0 && list[i-1] > key; i-- {
		list[i] = list[i-1]
	}
	list[i] = key
	if n == p {
		w.bound[token] = topkScore(list[p-1])
	}
}

// topkScore is the score of a key; a zero may have had either sign.
func topkScore(key uint64) float32 {
	b := uint32(key >> 32)
	if b < 1<<31 {
		b ^= 1<<31 - 1
	}
	if b == math.MaxUint32 {
		return canonicalNaN
	}
	return math.Float32frombits(b)
}

// leave writes the cells of a group's tokens, or leaves a range's best for Finish.
func (w *scores) leave(lo, hi, split int64) {
	if w.p == 0 {
		return
	}
	for at := lo; at < hi; at += w.full {
		if w.slotted[at-lo] {
			w.unslot(at-lo, min(w.full, hi-at), w.panelOf(hi-at))
		}
	}
	for i := lo; i < hi; i++ {
		list := w.list[(i-lo)*w.capacity:][:w.length[i-lo]]
		last := uint64(topkNone)
		switch {
		case len(list) > int(w.p):
			last = topkCut(list, w.spare, int(w.p))
			list = list[:w.p]
		case len(list) == int(w.p):
			last = slices.Max(list)
		}
		if w.splits == 1 {
			topkSort(list, w.spare)
			w.write(i, list)
			continue
		}
		part := w.parts[(i*w.splits+split)*w.top:][:w.top]
		for j := copy(part, list); j < len(part); j++ {
			part[j] = topkNone
		}
		for least := &w.least[i]; ; {
			had := atomic.LoadUint32(least)
			if uint32(last>>32) >= had || atomic.CompareAndSwapUint32(least, had, uint32(last>>32)) {
				break
			}
		}
	}
}

// merge picks each token's cells from those of the ranges.
func (w *scores) merge() {
	if w.splits == 1 || w.p == 0 {
		return
	}
	row := w.splits * w.top
	for i := range w.tq {
		all := w.parts[i*row:][:row]
		// A range that has as many cells as are wanted bounds the last of them.
		bound := uint64(topkNone)
		if w.top == w.p {
			for s := range w.splits {
				last := uint64(0)
				for _, key := range all[s*w.top:][:w.top] {
					last = max(last, key)
				}
				bound = min(bound, last)
			}
		}
		n := 0
		for _, key := range all {
			all[n] = key
			n += 1 - less(bound, key)
		}
		best := all[:n]
		topkSelect(best, int(w.p))
		best = best[:w.p]
		slices.Sort(best)
		w.write(i, best)
	}
}

// write fills a token's cells from keys in order.
func (w *scores) write(token int64, best []uint64) {
	for j, key := range best {
		at := token*w.p + int64(j)
		c := int64(uint32(key))
		if w.cell != nil {
			w.cell[at] = int32(c)
		}
		if w.cellScore != nil {
			v := topkScore(key)
			if v == 0 {
				v = w.exact(token, c)
			}
			w.cellScore[at] = v
		}
	}
}

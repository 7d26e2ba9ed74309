package codec

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"sort"

	"github.com/likbench/likbench/backend/canon"
)

// ErrTable reports cut points or weights that are no table: a wrong count, a value that is
// not finite, or values that descend.
var ErrTable = errors.New("no table of buckets")

// Table says which residuals share a bucket and what the bucket stands for.
type Table struct {
	Bits    int
	Cutoffs []float32 // 2^Bits − 1, ascending; equal neighbours are legal
	Weights []float32 // 2^Bits, ascending
}

// NewTable makes the table of a sample of residuals: the cut points are the quantiles at
// i/2^bits, the weights those at (i+½)/2^bits, over all components together, rounded once
// from float64. The sample is read three times and never held; neither its order nor its
// grouping matters. A sample whose values are all equal, or fewer than there are buckets,
// gives equal cut points, which work: such a value takes the lowest of the buckets it could.
// It fails with ErrBits, and with canon.ErrQuantile for an empty sample or a value that is
// not finite.
func NewTable(bits int, sample iter.Seq[[]float32]) (*Table, error) {
	if err := CheckBits(bits); err != nil {
		return nil, err
	}
	n := 1 << bits
	levels := make([]float64, 0, 2*n-1)
	for i := 1; i < n; i++ {
		levels = append(levels, float64(i)/float64(n))
	}
	for i := range n {
		levels = append(levels, (float64(i)+0.5)/float64(n))
	}
	values := make([]float64, len(levels))
	if err := Quantiles(values, sample, levels); err != nil {
		return nil, err
	}
	t := &Table{Bits: bits, Cutoffs: make([]float32, n-1), Weights: make([]float32, n)}
	for i := range t.Cutoffs {
		t.Cutoffs[i] = float32(values[i])
	}
	for i := range t.Weights {
		t.Weights[i] = float32(values[n-1+i])
	}
	return t, nil
}

// Check returns ErrBits or ErrTable unless t is a table; it names the first wrong entry.
func (t *Table) Check() error {
	if err := CheckBits(t.Bits); err != nil {
		return err
	}
	for _, part := range []struct {
		name   string
		values []float32
		want   int
	}{{"cutoff", t.Cutoffs, 1<<t.Bits - 1}, {"weight", t.Weights, 1 << t.Bits}} {
		if len(part.values) != part.want {
			return fmt.Errorf("codec: %d %ss for %d bits, want %d: %w", len(part.values), part.name, t.Bits, part.want, ErrTable)
		}
		for i, v := range part.values {
			if v-v != 0 || i > 0 && v < part.values[i-1] {
				return fmt.Errorf("codec: %s %d is %v after %v: %w", part.name, i, v, part.values[max(i-1, 0)], ErrTable)
			}
		}
	}
	return nil
}

// Bucket is the number of cut points below r: a residual equal to a cut point takes the
// lower bucket.
func (t *Table) Bucket(r float32) uint8 {
	return uint8(sort.Search(len(t.Cutoffs), func(i int) bool { return !(t.Cutoffs[i] < r) }))
}

// Encode writes the residuals of token against centroid to row: the difference in float32,
// its bucket, packed. Both vectors have dim components, row RowBytes(dim, t.Bits). It fails
// with ErrLength.
func (t *Table) Encode(row []byte, token, centroid []float32) error {
	per := 8 / t.Bits
	if len(token) != len(centroid) || len(token) != len(row)*per {
		return fmt.Errorf("codec: token of %d, centroid of %d for %d bytes of %d: %w", len(token), len(centroid), len(row), per, ErrLength)
	}
	for i := range row {
		var b uint8
		for k := i * per; k < (i+1)*per; k++ {
			b = b<<t.Bits | Reverse(t.Bucket(token[k]-centroid[k]), t.Bits)
		}
		row[i] = b
	}
	return nil
}

// The selection of Quantiles looks at 11, 11 and 10 bits of each value's key.
const (
	highBits = 11
	midBits  = 11
	lowBits  = 10
)

// key orders float32 as unsigned integers; −0 has the key of +0.
func key(v float32) uint32 {
	b := math.Float32bits(v + 0)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

func unkey(k uint32) float64 {
	if k>>31 != 0 {
		return float64(math.Float32frombits(k &^ (1 << 31)))
	}
	return float64(math.Float32frombits(^k))
}

// Quantiles writes the quantile of the values at each level to dst, with the results of
// canon.Quantiles bit for bit, but holding counts instead of values: three readings of the
// stream find the exact order statistics, with at most 16 KiB for each of them. values must
// give the same values each time it is ranged over, in any order and grouping.
//
// It fails with canon.ErrQuantile for a level outside [0, 1] or NaN, for no values, for a
// value that is not finite, and for a stream that changes.
func Quantiles(dst []float64, values iter.Seq[[]float32], levels []float64) error {
	for _, q := range levels {
		if !(q >= 0 && q <= 1) {
			return fmt.Errorf("codec: quantile at level %v: %w", q, canon.ErrQuantile)
		}
	}
	s, err := newSelection(values)
	if err != nil {
		return err
	}
	ranks := make(map[int64]float64, 2*len(levels))
	for _, q := range levels {
		low := s.rank(q)
		ranks[low], ranks[min(low+1, s.n-1)] = 0, 0
	}
	if err := s.find(ranks, values); err != nil {
		return err
	}
	dst = dst[:len(levels)]
	for i, q := range levels {
		low := s.rank(q)
		x, y := ranks[low], ranks[min(low+1, s.n-1)]
		// As in canon.Quantiles: the conversion keeps the compiler from fusing.
		dst[i] = x + float64((float64(q*float64(s.n-1))-float64(low))*(y-x))
	}
	return nil
}

// selection counts values by the high bits of their keys.
type selection struct {
	n    int64
	high [1 << highBits]int64
}

func newSelection(values iter.Seq[[]float32]) (*selection, error) {
	s := &selection{}
	for part := range values {
		for i, v := range part {
			if v-v != 0 {
				return nil, fmt.Errorf("codec: quantile with value %d being %v: %w", s.n+int64(i), v, canon.ErrQuantile)
			}
			s.high[key(v)>>(midBits+lowBits)]++
		}
		s.n += int64(len(part))
	}
	if s.n == 0 {
		return nil, fmt.Errorf("codec: quantile of 0 values: %w", canon.ErrQuantile)
	}
	return s, nil
}

func (s *selection) rank(q float64) int64 {
	return min(int64(float64(q*float64(s.n-1))), s.n-1)
}

// place is an order statistic on its way: the bits of its key so far, its rank among the
// values that share them, and the number of that group.
type place struct {
	prefix uint32
	rank   int64
	group  int
}

// find sets the value of each rank.
func (s *selection) find(ranks map[int64]float64, values iter.Seq[[]float32]) error {
	at := make(map[int64]place, len(ranks))
	for r := range ranks {
		at[r] = place{rank: r}
	}
	high, groups := split(at, s.high[:], highBits)
	counts := make([]int64, groups<<midBits)
	err := s.again(values, func(k uint32) {
		if g := high[k>>(midBits+lowBits)]; g != 0 {
			counts[uint32(g-1)<<midBits|k>>lowBits&(1<<midBits-1)]++
		}
	})
	if err != nil {
		return err
	}
	mid, groups := split(at, counts, midBits)
	counts = make([]int64, groups<<lowBits)
	err = s.again(values, func(k uint32) {
		if g := high[k>>(midBits+lowBits)]; g != 0 {
			if g = mid[uint32(g-1)<<midBits|k>>lowBits&(1<<midBits-1)]; g != 0 {
				counts[uint32(g-1)<<lowBits|k&(1<<lowBits-1)]++
			}
		}
	})
	if err != nil {
		return err
	}
	split(at, counts, lowBits)
	for r, p := range at {
		if p.rank < 0 {
			return fmt.Errorf("codec: quantile of values that changed while they were read: %w", canon.ErrQuantile)
		}
		ranks[r] = unkey(p.prefix)
	}
	return nil
}

// again reads the values once more.
func (s *selection) again(values iter.Seq[[]float32], visit func(key uint32)) error {
	var n int64
	for part := range values {
		n += int64(len(part))
		for _, v := range part {
			visit(key(v))
		}
	}
	if n != s.n {
		return fmt.Errorf("codec: quantile of %d values, then of %d: %w", s.n, n, canon.ErrQuantile)
	}
	return nil
}

// split moves each place on by the next bits of its key, given how often each value of them
// occurs in each group. A rank that no value has becomes −1. child[group<<width|bits] is the
// number of the group those bits make, plus one, if some rank is in it.
func split(at map[int64]place, counts []int64, width uint) (child []int32, groups int) {
	child = make([]int32, len(counts))
	for r, p := range at {
		if p.rank < 0 {
			continue
		}
		bins := counts[p.group<<width : (p.group+1)<<width]
		bin := 0
		for ; bin < len(bins) && p.rank >= bins[bin]; bin++ {
			p.rank -= bins[bin]
		}
		if bin == len(bins) {
			at[r] = place{rank: -1}
			continue
		}
		next := &child[p.group<<width|bin]
		if *next == 0 {
			groups++
			*next = int32(groups)
		}
		at[r] = place{prefix: p.prefix<<width | uint32(bin), rank: p.rank, group: int(*next) - 1}
	}
	return child, groups
}

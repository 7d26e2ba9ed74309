package codec

import (
	"fmt"
	"iter"
	"math"

	"github.com/likbench/likbench/backend/canon"
)

// fitBins are the equal intervals that FitTable tells values apart by.
const fitBins = 4096

// FitTable makes the table that rebuilds a sample of residuals with the least squared
// error: the optimal scalar quantiser over a histogram of 4,096 intervals, found by dynamic
// programming (Bruce, Optimum quantization, 1965). The weight of a bucket is the mean of
// its residuals, a cut point is halfway between two weights. Where residuals are alike,
// as those of tokens that are centroids, quantiles would spend all buckets on them.
//
// The sample is read twice and never held; neither its order nor its grouping matters.
// Fewer different values than buckets give equal weights, which work. It fails with
// ErrBits, and with canon.ErrQuantile for an empty sample or a value that is not finite.
func FitTable(bits int, sample iter.Seq[[]float32]) (*Table, error) {
	if err := CheckBits(bits); err != nil {
		return nil, err
	}
	h, err := newHistogram(sample)
	if err != nil {
		return nil, err
	}
	t := &Table{Bits: bits, Cutoffs: make([]float32, 1<<bits-1), Weights: h.means(h.split(1 << bits))}
	for len(t.Weights) < 1<<bits {
		t.Weights = append(t.Weights, t.Weights[len(t.Weights)-1])
	}
	for i := range t.Cutoffs {
		t.Cutoffs[i] = float32((float64(t.Weights[i]) + float64(t.Weights[i+1])) / 2)
	}
	return t, nil
}

// histogram are counts and exact sums of the values in intervals, as prefixes: entry i is
// of all intervals before i. Empty intervals are left out.
type histogram struct {
	count []int64
	sum   []int64 // in steps of scale
	scale canon.Scale
}

func newHistogram(sample iter.Seq[[]float32]) (*histogram, error) {
	n, lo, hi := int64(0), math.Inf(1), math.Inf(-1)
	for values := range sample {
		for _, v := range values {
			x := float64(v)
			if x-x != 0 {
				return nil, fmt.Errorf("codec: value %d is %v: %w", n, v, canon.ErrQuantile)
			}
			lo, hi = min(lo, x), max(hi, x)
			n++
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("codec: no values: %w", canon.ErrQuantile)
	}
	scale, err := canon.NewScale(n, max(math.Abs(lo), math.Abs(hi)))
	if err != nil {
		return nil, err
	}
	var count, sum [fitBins]int64
	per := 0.0
	if hi > lo {
		per = fitBins / (hi - lo)
	}
	for values := range sample {
		for _, v := range values {
			at := max(min(int((float64(v)-lo)*per), fitBins-1), 0)
			steps, err := scale.Fixed(float64(v))
			if err != nil {
				return nil, fmt.Errorf("codec: the sample changed while it was read: %w", canon.ErrQuantile)
			}
			count[at]++
			sum[at] += int64(steps)
		}
	}
	h := &histogram{count: []int64{0}, sum: []int64{0}, scale: scale}
	for i, c := range count {
		if c > 0 {
			last := len(h.count) - 1
			h.count, h.sum = append(h.count, h.count[last]+c), append(h.sum, h.sum[last]+sum[i])
		}
	}
	return h, nil
}

func (h *histogram) intervals() int { return len(h.count) - 1 }

// gain is what one bucket for the intervals from i to below j takes off the squared error,
// (Σx)²/n, in squared steps.
func (h *histogram) gain(i, j int) float64 {
	s := float64(h.sum[j] - h.sum[i])
	return float64(s * float64(s/float64(h.count[j]-h.count[i]))) // conversions: a fused sum would differ by machine
}

// split finds the ends of the buckets of the largest gain, at most n of them.
func (h *histogram) split(n int) []int {
	m := h.intervals()
	n = min(n, m)
	best := make([]float64, m+1) // of the first i intervals in k buckets
	next := make([]float64, m+1)
	from := make([][]int32, n+1) // where the last of k buckets begins
	for j := 1; j <= m; j++ {
		best[j] = h.gain(0, j)
	}
	for k := 2; k <= n; k++ {
		from[k] = make([]int32, m+1)
		h.layer(k, k, m, k-1, m-1, best, next, from[k])
		best, next = next, best
	}
	ends := make([]int, n)
	for k, j := n, m; k >= 1; k-- {
		ends[k-1] = j
		if k > 1 {
			j = int(from[k][j])
		}
	}
	return ends
}

// layer fills k buckets for the first lo to hi intervals; the last bucket begins from a to
// b. It does not move back as intervals are added, so that halving the range suffices.
func (h *histogram) layer(k, lo, hi, a, b int, best, next []float64, from []int32) {
	if lo > hi {
		return
	}
	mid := (lo + hi) / 2
	at, top := -1, math.Inf(-1)
	for i := max(a, k-1); i <= min(b, mid-1); i++ {
		if g := best[i] + h.gain(i, mid); g > top {
			at, top = i, g
		}
	}
	next[mid], from[mid] = top, int32(at)
	h.layer(k, lo, mid-1, a, at, best, next, from)
	h.layer(k, mid+1, hi, at, b, best, next, from)
}

// means are the weights of buckets with these ends.
func (h *histogram) means(ends []int) []float32 {
	var out []float32
	start := 0
	for _, end := range ends {
		mean := h.scale.Float(canon.Fixed(h.sum[end]-h.sum[start])) / float64(h.count[end]-h.count[start])
		out = append(out, float32(mean))
		start = end
	}
	return out
}

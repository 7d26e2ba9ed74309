package simd

import (
	"math/bits"
	"slices"
)

// topkSelect moves the k smallest of distinct keys to the front, the largest of them to
// position k-1. Quickselect around the median of three; input that defeats it is sorted.
func topkSelect(x []uint64, k int) {
	if k <= 0 || k > len(x) {
		return
	}
	lo, hi, want := 0, len(x)-1, k-1
	for budget := 3 * bits.Len(uint(len(x))); lo < hi; budget-- {
		if hi-lo < 16 || budget == 0 {
			slices.Sort(x[lo : hi+1])
			return
		}
		mid := lo + (hi-lo)/2
		if x[mid] < x[lo] {
			x[mid], x[lo] = x[lo], x[mid]
		}
		if x[hi] < x[lo] {
			x[hi], x[lo] = x[lo], x[hi]
		}
		if x[hi] < x[mid] {
			x[hi], x[mid] = x[mid], x[hi]
		}
		pivot := x[mid]
		i, j := lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case want <= j:
			hi = j
		case want >= i:
			lo = i
		default:
			return
		}
	}
}

// topkCut moves the k smallest of distinct keys to the front, in the order they stand in,
// and returns the largest of them. spare is as long as they are.
func topkCut(x, spare []uint64, k int) uint64 {
	last := topkRank(x, spare, k)
	n := 0
	for _, v := range x {
		x[n] = v
		n += 1 - less(last, v)
		if n == k {
			break
		}
	}
	return last
}

// topkDigit bits tell keys apart at a time: 2048 counters are a quarter of a level 1 cache.
const topkDigit = 11

// topkRank is the k-th smallest of distinct keys. It counts digits from the top and goes on
// with the keys of the digit that the k-th has, until they are few; x keeps its keys.
func topkRank(x, spare []uint64, k int) uint64 {
	from := x
	for shift := 64 - topkDigit; shift >= 32-topkDigit && len(from) > topkRadix; shift -= topkDigit {
		var count [1 << topkDigit]int32
		for _, v := range from {
			count[v>>shift&(1<<topkDigit-1)]++
		}
		d := 0
		for ; int(count[d]) < k; d++ {
			k -= int(count[d])
		}
		n := 0
		for _, v := range from {
			spare[n] = v
			n += less(v>>shift&(1<<topkDigit-1)^uint64(d), 1)
		}
		from = spare[:n]
	}
	rest := spare[:len(from)]
	copy(rest, from)
	topkSelect(rest, k)
	return rest[k-1]
}

// less is 1 or 0, without a branch that half of random keys would mispredict.
func less(a, b uint64) int {
	_, borrow := bits.Sub64(a, b, 0)
	return int(borrow)
}

// topkRadix is the length from which a radix sort wins over comparisons.
const topkRadix = 256

// topkSort sorts keys that stand by index: by their scores, stably. spare is as long as they are.
func topkSort(x, spare []uint64) {
	if len(x) < topkRadix {
		slices.Sort(x)
		return
	}
	var count [4][256]int32
	for _, v := range x {
		count[0][v>>32&255]++
		count[1][v>>40&255]++
		count[2][v>>48&255]++
		count[3][v>>56]++
	}
	from, to := x, spare[:len(x)]
	for digit := range count {
		c, shift := &count[digit], 32+8*digit
		if int(c[from[0]>>shift&255]) == len(from) {
			continue // all share it
		}
		sum := int32(0)
		for d, n := range c {
			c[d], sum = sum, sum+n
		}
		for _, v := range from {
			d := v >> shift & 255
			to[c[d]] = v
			c[d]++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

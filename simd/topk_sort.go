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

// topkRadix is the length from which a radix sort wins over comparisons.
const topkRadix = 512

// topkSort sorts keys; spare is as long as they are.
func topkSort(x, spare []uint64) {
	if len(x) < topkRadix {
		slices.Sort(x)
		return
	}
	from, to := x, spare[:len(x)]
	for shift := 0; shift < 64; shift += 8 {
		var count [256]int
		for _, v := range from {
			count[v>>shift&255]++
		}
		if count[from[0]>>shift&255] == len(from) {
			continue // a digit that all share: high bytes of indices, mostly
		}
		sum := 0
		for d, c := range count {
			count[d], sum = sum, sum+c
		}
		for _, v := range from {
			d := v >> shift & 255
			to[count[d]] = v
			count[d]++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

package wordpiece

import "sort"

//go:generate go run ./gen ../../internal/golden/testdata/tokenizer/codepoints.json classes.go

// class is what the reference does with a code point.
type class uint8

const (
	keep        class = iota
	drop              // nothing is left of it, and its neighbours join
	space             // ends a word
	isolate           // a CJK ideograph, a word of its own
	stripMark         // removed as an accent, unless case is kept
	punctuation       // a word of its own
)

// span is a range of code points, ends included, with a class other than keep.
type span struct {
	first, last rune
	class       class
}

var asciiClass = func() (table [128]class) {
	for r := range table {
		table[r] = search(rune(r))
	}
	return table
}()

func classOf(r rune) class {
	if r < 128 {
		return asciiClass[r]
	}
	return search(r)
}

func search(r rune) class {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].last >= r })
	if i < len(spans) && spans[i].first <= r {
		return spans[i].class
	}
	return keep
}

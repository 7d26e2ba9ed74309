package retrieval

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// BM25Params are the constants of [BM25].
type BM25Params struct {
	K1, B   float64
	Epsilon float64 // share of the mean idf that replaces a negative idf
}

// DefaultBM25 are the constants of rank-bm25's BM25Okapi.
var DefaultBM25 = BM25Params{K1: 1.5, B: 0.75, Epsilon: 0.25}

// BM25 scores documents by Okapi's formula, as rank-bm25's BM25Okapi does: with n
// of N documents containing term t,
//
//	idf(t)      = ln(N − n + .5) − ln(n + .5)
//	score(q, d) = Σ over t in q, with repeats, idf(t) · f·(k1 + 1) / (f + k1·(1 − b + b·len(d)/mean len))
//
// where a negative idf is replaced by Epsilon times the mean idf over the
// vocabulary, itself negative where most terms are frequent. Source: Robertson and
// Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
//
// T is the type of a term: a word, or a piece id. A BM25 never changes and is safe
// for concurrent use.
type BM25[T comparable] struct {
	params   BM25Params
	postings map[T][]posting
	idf      map[T]float64
	meanIDF  float64   // before the replacement
	norm     []float64 // k1·(1 − b + b·len/mean) of each document
}

type posting struct {
	doc   int32
	often int32
}

// NewBM25 takes the statistics of documents, given as lists of terms.
func NewBM25[T comparable](docs [][]T, p BM25Params) *BM25[T] {
	m := &BM25[T]{params: p, postings: map[T][]posting{}, idf: map[T]float64{}, norm: make([]float64, len(docs))}
	var order []T // terms by first appearance, so that sums have one order
	total := 0
	for i, doc := range docs {
		total += len(doc)
		for _, term := range doc {
			list := m.postings[term]
			if list == nil {
				order = append(order, term)
			}
			if n := len(list); n > 0 && list[n-1].doc == int32(i) {
				list[n-1].often++
				continue
			}
			m.postings[term] = append(list, posting{int32(i), 1})
		}
	}
	for i, doc := range docs {
		m.norm[i] = p.K1 * (1 - p.B + p.B*float64(len(doc))*float64(len(docs))/float64(max(total, 1)))
	}
	sum := 0.0
	for _, term := range order {
		n := float64(len(m.postings[term]))
		idf := math.Log(float64(len(docs))-n+0.5) - math.Log(n+0.5)
		m.idf[term] = idf
		sum += idf
	}
	if len(order) > 0 {
		m.meanIDF = sum / float64(len(order))
	}
	for _, term := range order {
		if m.idf[term] < 0 {
			m.idf[term] = p.Epsilon * m.meanIDF
		}
	}
	return m
}

// Len is the number of documents.
func (m *BM25[T]) Len() int { return len(m.norm) }

// IDF returns the idf of a term as it is used, and whether any document has it.
func (m *BM25[T]) IDF(term T) (float64, bool) {
	idf, ok := m.idf[term]
	return idf, ok
}

// MeanIDF is the mean idf over the vocabulary before negative ones are replaced.
func (m *BM25[T]) MeanIDF() float64 { return m.meanIDF }

// Scores writes the score of every document for a query into dst, which it grows as
// needed and returns. Terms that no document has add nothing.
func (m *BM25[T]) Scores(dst []float64, query []T) []float64 {
	dst = append(dst[:0], m.norm...)
	clear(dst)
	for _, term := range query {
		idf := m.idf[term]
		for _, p := range m.postings[term] {
			f := float64(p.often)
			dst[p.doc] += idf * f * (m.params.K1 + 1) / (f + m.norm[p.doc])
		}
	}
	return dst
}

// Words cuts text into the terms of the text baselines: compatibility composed
// (NFKC), case-folded, maximal runs of letters and numbers. No stop words, no
// stemming.
func Words(text string) []string {
	folded := cases.Fold().String(norm.NFKC.String(text))
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

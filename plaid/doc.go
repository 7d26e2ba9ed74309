// Package plaid is late-interaction retrieval on any backend: it knows kernels, and no
// backend by name.
//
// A [Corpus] holds the token vectors of documents on a device, once; each goroutine scores
// through a [Scorer] of its own, into slices of the caller:
//
//	dev, _, err := backend.Select("auto")
//	corpus, err := plaid.NewCorpus(dev, plaid.Tokens{Vectors: v, Offsets: off, Dim: 128}, plaid.Options{})
//	s, err := corpus.NewScorer(plaid.Limits{Queries: 1, Tokens: 32, K: 10})
//	err = s.TopK(query, 10, ids, scores)
//
// Scores follow docs/semantics.md: a document without tokens scores −∞ and ranks after
// every other, equal scores are in order of document, NaN ranks last.
package plaid

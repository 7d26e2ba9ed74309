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
// An [Index] holds a compressed index on a device, of any layout that package format opens
// or from package store, and a [Searcher] answers queries from it:
//
//	src, err := store.Open(dir)
//	ix, err := plaid.Load(dev, src, plaid.LoadOptions{})
//	s, err := ix.NewSearcher()
//	hits, stats, err := s.Search(ctx, query, 10, plaid.SearchOptions{})
//
// What it returns are documents in the order of their canonical scores (package canon): the
// score of a document is that of its reconstructed tokens, centroid plus residual, times the
// inverse norm, and its bits are the same on every backend, in every batch and by every way
// to reach it. Which documents are reached is a [Preset]'s: Auto probes the best cells or
// scans, Exact proves that no document was missed, two others select as fast-plaid and
// ColBERT do. [Stats] say which way was taken, why, and what it took.
//
// Scores follow docs/semantics.md: a document without tokens scores −∞ and ranks after
// every other, equal scores are in order of document, NaN ranks last.
package plaid

package canon

import (
	"errors"
	"fmt"
	"math"
)

// ErrShape reports slices whose lengths do not fit together.
var ErrShape = errors.New("lengths do not match")

// Query is a late-interaction query ready to score documents: for each of its
// active tokens the largest canonical dot product with an active document token,
// summed in fixed point. It does not change after [NewQuery], so goroutines may
// share it.
type Query struct {
	token []float32 // active tokens only, row-major
	index []int32   // of the active tokens in the caller's query
	all   int       // tokens of the caller's query
	dim   int
	scale Scale
}

// NewQuery copies the active tokens of a query, len(tokens)/dim rows of dim
// components. mask has one byte a token, 0 for an inactive one; nil makes all
// active. docNorm is an upper bound of the L2 norm of every active document token
// in the collection, as from [MaxNorm]; with the query's own largest norm it bounds
// the dot products, and so the step of the sum depends on query and collection only.
//
// It fails with [ErrShape] for dim < 1 or slices that do not fit, and with
// [ErrScale] where docNorm, or the norm of an active token, is not finite: such a
// query has no scale, and its scores would be NaN or infinite.
func NewQuery(tokens []float32, mask []byte, dim int, docNorm float64) (*Query, error) {
	n, err := rows("query", tokens, mask, dim)
	if err != nil {
		return nil, err
	}
	q := &Query{all: n, dim: dim}
	for i := range n {
		if mask == nil || mask[i] != 0 {
			q.token = append(q.token, tokens[i*dim:(i+1)*dim]...)
			q.index = append(q.index, int32(i))
		}
	}
	m := MaxNorm(q.token, dim) * docNorm
	// Rounding inflates a chain by at most (1+u)^dim, u = 2^−24, and each of its
	// steps may add half of the smallest subnormal. Twice that also covers the
	// float64 roundings of the norms.
	m = float64(m*(1+float64(dim)*0x1p-23)) + float64(dim)*0x1p-149
	q.scale, err = NewScale(int64(len(q.index)), m)
	if err != nil {
		return nil, fmt.Errorf("canon: query of %d tokens: %w", n, err)
	}
	return q, nil
}

// rows returns the number of tokens, checking lengths.
func rows(what string, tokens []float32, mask []byte, dim int) (int, error) {
	if dim < 1 || len(tokens)%dim != 0 {
		return 0, fmt.Errorf("canon: %s of %d values with %d components: %w", what, len(tokens), dim, ErrShape)
	}
	n := len(tokens) / dim
	if mask != nil && len(mask) != n {
		return 0, fmt.Errorf("canon: mask of %d for a %s of %d tokens: %w", len(mask), what, n, ErrShape)
	}
	return n, nil
}

// Scale returns the scale of the query's scores.
func (q *Query) Scale() Scale { return q.scale }

// Score returns the canonical score of a document of len(doc)/dim tokens, with a
// mask as in [NewQuery]. A query without active tokens scores 0; otherwise a
// document without active tokens scores [NegInf], and a NaN dot product of active
// tokens gives [NaN]. Ties go to the lowest document token, −0 and +0 are equal.
//
// winner, unless nil, has one element a query token (inactive ones included) and
// receives the index of the winning document token, −1 where there is none, and
// the lowest NaN token where the maximum is NaN.
//
// It fails with [ErrShape], and with [ErrRange] where a dot product exceeds what
// docNorm promised. It allocates nothing.
func (q *Query) Score(doc []float32, mask []byte, winner []int32) (Fixed, error) {
	n, err := rows("document", doc, mask, q.dim)
	if err != nil {
		return 0, err
	}
	if winner != nil && len(winner) != q.all {
		return 0, fmt.Errorf("canon: %d winners for a query of %d tokens: %w", len(winner), q.all, ErrShape)
	}
	for i := range winner {
		winner[i] = -1
	}
	raceRead(doc)
	sum := q.scale.Sum()
	var state chains
	var best [chunk]maximum
	for from := 0; from < len(q.index); from += chunk {
		active := min(chunk, len(q.index)-from)
		for i := range best[:active] {
			best[i] = maximum{at: -1}
		}
		for j := 0; j < n; j += lanes {
			width := min(lanes, n-j)
			state.run(q.token[from*q.dim:], active, doc[j*q.dim:], width, q.dim)
			for i := range best[:active] {
				best[i].take(state[i*lanes:i*lanes+width], mask, j)
			}
		}
		for i, b := range best[:active] {
			if err := sum.Add(b.float()); err != nil {
				return 0, fmt.Errorf("canon: query token %d, document token %d: %w", q.index[from+i], b.at, err)
			}
			if winner != nil {
				winner[q.index[from+i]] = b.at
			}
		}
	}
	return sum.Fixed(), nil
}

// maximum is the largest value so far and where it first was; at is −1 for none.
type maximum struct {
	value float32
	at    int32
}

// take offers the values of tokens first, first+1, …
func (b *maximum) take(values []float32, mask []byte, first int) {
	for l, v := range values {
		if mask != nil && mask[first+l] == 0 {
			continue
		}
		// v > b.value is false once b.value is NaN, so the lowest NaN stays.
		if v > b.value || b.at < 0 || v != v && b.value == b.value {
			b.value, b.at = v, int32(first+l)
		}
	}
}

func (b *maximum) float() float64 {
	if b.at < 0 {
		return math.Inf(-1)
	}
	return float64(b.value)
}

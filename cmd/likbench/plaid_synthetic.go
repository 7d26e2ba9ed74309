package main

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

// synthetic draws documents of unit token vectors around shared centres, the same for a
// seed on every machine. Each document has its own few centres, as texts have topics.
type synthetic struct {
	documents, shortest, longest int // lengths are uniform in between
	dim                          int
	centres                      int     // 0 = directions without clusters
	spread                       float64 // length of what is added to a centre
	seed                         uint64
}

// topics is how many centres a document draws from.
const topics = 24

func (s *synthetic) rand(stream string, i int) *rand.Rand {
	h := s.seed
	for _, c := range stream {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(h, uint64(i)))
}

func (s *synthetic) length(doc int) int {
	return s.shortest + s.rand("length", doc).IntN(s.longest-s.shortest+1)
}

func (s *synthetic) offsets() []int64 {
	out := make([]int64, s.documents+1)
	for i := range s.documents {
		out[i+1] = out[i] + int64(s.length(i))
	}
	return out
}

// unit draws a direction, or one near a centre.
func (s *synthetic) unit(dst []float32, r *rand.Rand, centre int) {
	scale := 1.0
	if s.centres > 0 {
		scale = s.spread / math.Sqrt(float64(s.dim))
	}
	var sum float64
	c := s.rand("centre", centre)
	for i := range dst {
		x := r.NormFloat64() * scale
		if s.centres > 0 {
			x += c.NormFloat64() / math.Sqrt(float64(s.dim))
		}
		dst[i] = float32(x)
		sum += x * x
	}
	for i := range dst {
		dst[i] = float32(float64(dst[i]) / math.Sqrt(sum))
	}
}

// document writes the tokens of one document.
func (s *synthetic) document(dst []float32, doc int) {
	r := s.rand("document", doc)
	var centre [topics]int
	if s.centres > 0 {
		for i := range centre {
			centre[i] = r.IntN(s.centres)
		}
	}
	for at := 0; at < len(dst); at += s.dim {
		s.unit(dst[at:at+s.dim], r, centre[r.IntN(topics)])
	}
}

// all draws every document into memory, on all processors.
func (s *synthetic) all(ctx context.Context) (*build.Arrays, error) {
	a := &build.Arrays{Components: s.dim, Offsets: s.offsets()}
	d := int64(s.dim)
	a.Vectors = make([]float32, a.Offsets[s.documents]*d)
	return a, spread(ctx, s.documents, func(i int) { s.document(a.Vectors[a.Offsets[i]*d:a.Offsets[i+1]*d], i) })
}

// spread calls do for 0 to n−1 on all processors, until ctx ends: its error is returned then.
func spread(ctx context.Context, n int, do func(i int)) error {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w; i < n && ctx.Err() == nil; i += workers {
				do(i)
			}
		}()
	}
	wg.Wait()
	return ctx.Err()
}

// queries are tokens of one drawn document each, moved a little: it is the answer.
func (s *synthetic) queries(ctx context.Context, n, length int, token func(dst []float32, doc int, r *rand.Rand)) (*tokens, error) {
	t := &tokens{dim: s.dim, offsets: []int64{0}, vectors: make([]float32, n*length*s.dim)}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := s.rand("query", i)
		doc := r.IntN(s.documents)
		for j := range length {
			row := t.vectors[(i*length+j)*s.dim:][:s.dim]
			token(row, doc, r)
			var sum float64
			for k := range row {
				row[k] += float32(r.NormFloat64() * .3 / math.Sqrt(float64(s.dim)))
				sum += float64(row[k]) * float64(row[k])
			}
			for k := range row {
				row[k] = float32(float64(row[k]) / math.Sqrt(sum))
			}
		}
		t.offsets = append(t.offsets, int64((i+1)*length))
	}
	return t, nil
}

// fromArrays draws a token of a document in memory.
func fromArrays(a *build.Arrays) func(dst []float32, doc int, r *rand.Rand) {
	return func(dst []float32, doc int, r *rand.Rand) {
		lo, hi := a.Offsets[doc], a.Offsets[doc+1]
		at := (lo + r.Int64N(hi-lo)) * int64(a.Components)
		copy(dst, a.Vectors[at:at+int64(a.Components)])
	}
}

// drawnIndex makes an index without building one: drawn centroids, codes of few cells a
// document, drawn residual bytes. It is for measuring search at sizes whose k-means takes
// minutes, and says nothing about quality.
func (s *synthetic) drawnIndex(ctx context.Context, bits, k int) (*format.Memory, error) {
	m := &format.Memory{Components: s.dim, Width: bits, DocumentOffsets: s.offsets(), Cells: make([]float32, k*s.dim)}
	none := *s
	none.centres = 0
	err := spread(ctx, k, func(c int) { none.unit(m.Cells[c*s.dim:(c+1)*s.dim], none.rand("cell", c), 0) })
	if err != nil {
		return nil, err
	}
	m.Table = codec.Table{Bits: bits}
	n := 1 << bits
	for i := range n { // levels of a normal distribution of length spread
		level := s.spread / math.Sqrt(float64(s.dim)) * 3 * (float64(i) + .5 - float64(n)/2) / float64(n)
		m.Table.Weights = append(m.Table.Weights, float32(level))
		if i > 0 {
			m.Table.Cutoffs = append(m.Table.Cutoffs, (m.Table.Weights[i-1]+m.Table.Weights[i])/2)
		}
	}
	tokens, row := m.DocumentOffsets[s.documents], s.dim*bits/8
	m.TokenCodes, m.Residuals = make([]int32, tokens), make([]byte, tokens*int64(row))
	return m, spread(ctx, s.documents, func(doc int) {
		r := s.rand("document", doc)
		var cell [topics * 2]int32
		for i := range cell {
			cell[i] = int32(r.IntN(k))
		}
		for t := m.DocumentOffsets[doc]; t < m.DocumentOffsets[doc+1]; t++ {
			m.TokenCodes[t] = cell[r.IntN(len(cell))]
			b := m.Residuals[t*int64(row) : (t+1)*int64(row)]
			for len(b) >= 8 {
				binary.LittleEndian.PutUint64(b, r.Uint64())
				b = b[8:]
			}
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		}
	})
}

// fromIndex draws a token of a document of an index.
func fromIndex(m *format.Memory) func(dst []float32, doc int, r *rand.Rand) {
	dec, err := codec.NewDecoder(m.Cells, m.Components, m.Width, m.Table.Weights)
	row := m.Components * m.Width / 8
	return func(dst []float32, doc int, r *rand.Rand) {
		lo, hi := m.DocumentOffsets[doc], m.DocumentOffsets[doc+1]
		t := lo + r.Int64N(hi-lo)
		if err == nil {
			err = dec.Token(dst, int64(m.TokenCodes[t]), m.Residuals[t*int64(row):(t+1)*int64(row)])
		}
		if err != nil {
			clear(dst) // a query of zeros: the search still runs
		}
	}
}

package plaid_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/simd"
)

var (
	backendFlag   = flag.String("backend", "", "backend of BenchmarkSearchBuilt; simd if empty")
	screenFlag    = flag.String("screen", "", "screen of the index")
	togetherFlag  = flag.Bool("together", false, "the screen's forms of queries go up with the rest")
	documentsFlag = flag.Int("documents", 5000, "documents of BenchmarkSearchBuilt")
)

// chosen is the backend that the flag names.
func chosen(t testing.TB) backend.Backend {
	for _, b := range backend.All() {
		if b.Name() == *backendFlag {
			return b
		}
	}
	require.Empty(t, *backendFlag, "no such backend")
	return simd.New()
}

// crowd draws documents of 64 to 180 unit tokens of 128 components around 8,192 shared
// centres, of which each document has 24, on all processors.
func crowd(documents int) *build.Arrays {
	const dim, centres, topics = 128, 8192, 24
	draw := func(dst []float32, r *rand.Rand, near []float32, spread float64) {
		sum := 0.0
		for i := range dst {
			x := r.NormFloat64() * spread / math.Sqrt(dim)
			if near != nil {
				x += float64(near[i])
			}
			dst[i], sum = float32(x), sum+x*x
		}
		for i := range dst {
			dst[i] = float32(float64(dst[i]) / math.Sqrt(sum))
		}
	}
	centre := make([]float32, centres*dim)
	everyOf(centres, func(i int) { draw(centre[i*dim:(i+1)*dim], rand.New(rand.NewPCG(1, uint64(i))), nil, 1) })
	a := &build.Arrays{Components: dim, Offsets: make([]int64, documents+1)}
	for i := range documents {
		a.Offsets[i+1] = a.Offsets[i] + 64 + rand.New(rand.NewPCG(2, uint64(i))).Int64N(117)
	}
	a.Vectors = make([]float32, a.Offsets[documents]*dim)
	everyOf(documents, func(i int) {
		r := rand.New(rand.NewPCG(3, uint64(i)))
		var own [topics]int
		for j := range own {
			own[j] = r.IntN(centres)
		}
		for t := a.Offsets[i]; t < a.Offsets[i+1]; t++ {
			c := own[r.IntN(topics)]
			draw(a.Vectors[t*dim:(t+1)*dim], r, centre[c*dim:(c+1)*dim], .6)
		}
	})
	return a
}

// everyOf calls do for 0 to n−1 on all processors.
func everyOf(n int, do func(i int)) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// asked are queries of 32 tokens, each those of a document, moved a little.
func asked(a *build.Arrays, n int) plaid.Tokens {
	const length = 32
	d := int64(a.Components)
	q := plaid.Tokens{Dim: a.Components, Offsets: []int64{0}}
	for i := range n {
		r := rand.New(rand.NewPCG(4, uint64(i)))
		doc := r.IntN(len(a.Offsets) - 1)
		for range length {
			at := (a.Offsets[doc] + r.Int64N(a.Offsets[doc+1]-a.Offsets[doc])) * d
			v := make([]float32, d)
			for j := range v {
				v[j] = a.Vectors[at+int64(j)] + float32(r.NormFloat64()*.3/math.Sqrt(float64(d)))
			}
			canon.Normalize(v, v)
			q.Vectors = append(q.Vectors, v...)
		}
		q.Offsets = append(q.Offsets, q.Offsets[i]+length)
	}
	return q
}

// searchAll times a batch of queries, again and again, and reports beside it the device time
// of each stage, launched one after another and not as a graph.
func searchAll(b *testing.B, ix *plaid.Index, q plaid.Tokens, o plaid.SearchOptions) {
	s := searcher(b, ix)
	if *togetherFlag {
		s.Apart(false)
	}
	var stats []*plaid.Stats
	for range 3 {
		var err error
		_, stats, err = s.SearchBatch(context.Background(), q, 10, o)
		require.NoError(b, err)
	}
	b.Logf("%s, screen %s: %s", stats[0].Method, stats[0].Screen, stats[0].Reason)
	b.ReportAllocs()
	start := time.Now()
	for b.Loop() {
		_, _, err := s.SearchBatch(context.Background(), q, 10, o)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(q.Len())*float64(b.N)/time.Since(start).Seconds(), "queries/s")
	b.ReportMetric(float64(stats[0].Batch), "together")
	exact, most := 0, 0
	for _, st := range stats {
		exact, most = exact+st.Exact, max(most, st.Exact)
	}
	b.ReportMetric(float64(exact)/float64(len(stats)), "exact")
	b.ReportMetric(float64(most), "exact-at-most")
	o.Timings = true
	for range 2 {
		var err error
		_, stats, err = s.SearchBatch(context.Background(), q, 10, o)
		require.NoError(b, err)
	}
	for _, t := range stats[0].Stages {
		b.ReportMetric(float64(t.Time.Nanoseconds())/1e3, strings.ReplaceAll(t.Name, " ", "-")+"-µs")
	}
}

// BenchmarkSearchBuilt searches an index of clustered vectors:
//
//	plaid.test -test.run '^$' -test.bench SearchBuilt -backend cuda -documents 20000
func BenchmarkSearchBuilt(b *testing.B) {
	a := crowd(*documentsFlag)
	q := asked(a, 64)
	dev := open(b, chosen(b))
	m, _, err := build.InMemory(context.Background(), dev, a, build.Options{Bits: 2, Seed: 42})
	require.NoError(b, err)
	searchEach(b, dev, m, q)
}

// BenchmarkSearchDrawn searches an index that is drawn, not built, with 131,072 centroids:
//
//	plaid.test -test.run '^$' -test.bench SearchDrawn -backend cuda -documents 1000000
func BenchmarkSearchDrawn(b *testing.B) {
	const dim, bits, row, k, topics = 128, 2, 32, 131_072, 48
	m := &format.Memory{Components: dim, Width: bits, DocumentOffsets: make([]int64, *documentsFlag+1), Cells: make([]float32, k*dim)}
	m.Table.Weights = []float32{-.12, -.04, .04, .12}
	everyOf(k, func(c int) {
		copy(m.Cells[c*dim:], unitVector(rand.New(rand.NewPCG(7, uint64(c))), dim, nil))
	})
	for i := range *documentsFlag {
		m.DocumentOffsets[i+1] = m.DocumentOffsets[i] + 64 + rand.New(rand.NewPCG(2, uint64(i))).Int64N(117)
	}
	n := m.DocumentOffsets[*documentsFlag]
	m.TokenCodes, m.Residuals = make([]int32, n), make([]byte, n*row)
	everyOf(*documentsFlag, func(i int) {
		r := rand.New(rand.NewPCG(8, uint64(i)))
		var own [topics]int32
		for j := range own {
			own[j] = int32(r.IntN(k))
		}
		for t := m.DocumentOffsets[i]; t < m.DocumentOffsets[i+1]; t++ {
			m.TokenCodes[t] = own[r.IntN(topics)]
			for j := 0; j < row; j += 8 {
				binary.LittleEndian.PutUint64(m.Residuals[t*row+int64(j):], r.Uint64())
			}
		}
	})
	dec, err := codec.NewDecoder(m.Cells, dim, bits, m.Table.Weights)
	require.NoError(b, err)
	few := &build.Arrays{Components: dim, Offsets: []int64{0}} // documents to ask for, as they are in the index
	for i := 0; len(few.Offsets) <= 64; i += max(*documentsFlag/65, 1) {
		for t := m.DocumentOffsets[i]; t < m.DocumentOffsets[i+1]; t++ {
			v := make([]float32, dim)
			require.NoError(b, dec.Token(v, int64(m.TokenCodes[t]), m.Residuals[t*row:(t+1)*row]))
			few.Vectors = append(few.Vectors, v...)
		}
		few.Offsets = append(few.Offsets, int64(len(few.Vectors)/dim))
	}
	searchEach(b, open(b, chosen(b)), m, asked(few, 64))
}

// searchEach runs the ways that are compared, for one query and for all.
func searchEach(b *testing.B, dev backend.Device, src format.Source, q plaid.Tokens) {
	ix, err := plaid.Load(dev, src, plaid.LoadOptions{Screen: plaid.Screen(*screenFlag)})
	require.NoError(b, err)
	defer func() { require.NoError(b, ix.Close()) }()
	if *screenFlag == "" {
		text, err := ix.Trials()
		require.NoError(b, err)
		fmt.Println(text)
	}
	one := plaid.Tokens{Vectors: part(q, 0), Offsets: q.Offsets[:2], Dim: q.Dim}
	for _, w := range []struct {
		name string
		q    plaid.Tokens
		o    plaid.SearchOptions
	}{
		{"auto-64", q, plaid.SearchOptions{}},
		{"auto-1", one, plaid.SearchOptions{}},
		{"scan-1", one, plaid.SearchOptions{Method: plaid.MethodScan}},
		{"exact-1", one, plaid.SearchOptions{Preset: plaid.Exact}},
		{"scan-64", q, plaid.SearchOptions{Method: plaid.MethodScan}},
	} {
		b.Run(w.name, func(b *testing.B) { searchAll(b, ix, w.q, w.o) })
	}
}

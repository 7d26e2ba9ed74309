package plaid_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

// collection draws documents of clustered unit tokens.
func collection(seed uint64, dim int, lens ...int64) plaid.Tokens {
	r := rand.New(rand.NewPCG(seed, 7))
	centres := make([][]float32, 12)
	for i := range centres {
		centres[i] = unitVector(r, dim, nil)
	}
	t := plaid.Tokens{Offsets: []int64{0}, Dim: dim}
	for _, n := range lens {
		topics := [3]int{r.IntN(12), r.IntN(12), r.IntN(12)}
		t.Offsets = append(t.Offsets, t.Offsets[len(t.Offsets)-1]+n)
		for range n {
			t.Vectors = append(t.Vectors, unitVector(r, dim, centres[topics[r.IntN(3)]])...)
		}
	}
	return t
}

func unitVector(r *rand.Rand, dim int, near []float32) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64()) * .12
		if near != nil {
			v[i] += near[i]
		}
	}
	canon.Normalize(v, v)
	return v
}

// lengths draws document lengths, zeros where empty says so.
func lengths(seed uint64, n, longest int, empty ...int) []int64 {
	r := rand.New(rand.NewPCG(seed, 3))
	lens := make([]int64, n)
	for i := range lens {
		lens[i] = int64(1 + r.IntN(longest))
	}
	for _, i := range empty {
		lens[i] = 0
	}
	return lens
}

// built indexes documents with k centroids, drawn from their tokens.
func built(t testing.TB, docs plaid.Tokens, k, bits int) *format.Memory {
	d := docs.Dim
	m := &format.Memory{Components: d, Width: bits, DocumentOffsets: docs.Offsets}
	n := len(docs.Vectors) / d
	r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	for range k {
		at := 0
		if n > 0 {
			at = r.IntN(n)
		}
		m.Cells = append(m.Cells, docs.Vectors[at*d:(at+1)*d]...)
	}
	m.TokenCodes = make([]int32, n)
	require.NoError(t, codec.Nearest(m.TokenCodes, docs.Vectors, m.Cells, d))
	var residuals []float32
	for i, c := range m.TokenCodes {
		for j := range d {
			residuals = append(residuals, docs.Vectors[i*d+j]-m.Cells[int(c)*d+j])
		}
	}
	table, err := codec.NewTable(bits, slices.Values([][]float32{residuals}))
	require.NoError(t, err)
	m.Table = *table
	m.Residuals = make([]byte, n*d*bits/8)
	row := d * bits / 8
	for i, c := range m.TokenCodes {
		require.NoError(t, table.Encode(m.Residuals[i*row:(i+1)*row], docs.Vectors[i*d:(i+1)*d], m.Cells[int(c)*d:(int(c)+1)*d]))
	}
	return m
}

// source is an index in memory with ids and tombstones, as package store has them.
type source struct {
	*format.Memory
	ids     []int64
	deleted []int32
}

func (s *source) IDs() []int64      { return s.ids }
func (s *source) Deleted() []int32  { return s.deleted }
func (s *source) Codes() []int32    { return s.TokenCodes }
func (s *source) Residuals() []byte { return s.Memory.Residuals }
func (s *source) InvNorms() []float32 {
	dec, _ := codec.NewDecoder(s.Cells, s.Components, s.Width, s.Table.Weights)
	inv, v, row := make([]float32, len(s.TokenCodes)), make([]float32, s.Components), s.Components*s.Width/8
	for i, c := range s.TokenCodes {
		inv[i], _ = dec.InvNorm(v, int64(c), s.Memory.Residuals[i*row:(i+1)*row])
	}
	return inv
}
func (s *source) Lists() ([]int64, []int32) {
	l, err := format.BuildLists(s.Memory)
	if err != nil {
		panic(err)
	}
	return l.Offsets, l.Documents
}
func (s *source) Guard(f func() error) error { return f() }

// oracle is the index as the definitions have it: reconstructed tokens, one after another.
type oracle struct {
	src     format.Source
	offsets []int64
	dim     int
	vectors []float32
	codes   []int32
	norm    float64
}

func newOracle(t testing.TB, src format.Source, norm float64) *oracle {
	o := &oracle{src: src, offsets: src.Offsets(), dim: src.Dim(), norm: norm}
	n := o.offsets[len(o.offsets)-1]
	o.codes = make([]int32, n)
	require.NoError(t, src.ReadCodes(o.codes, 0))
	row := o.dim * src.Bits() / 8
	rows := make([]byte, n*int64(row))
	require.NoError(t, src.ReadResiduals(rows, 0))
	dec, err := codec.NewDecoder(src.Centroids(), o.dim, src.Bits(), src.Weights())
	require.NoError(t, err)
	o.vectors = make([]float32, n*int64(o.dim))
	for i, c := range o.codes {
		require.NoError(t, dec.Token(o.vectors[i*o.dim:(i+1)*o.dim], int64(c), rows[i*row:(i+1)*row]))
	}
	return o
}

// decodeRaw makes the oracle one of vectors that are not normalised.
func (o *oracle) decodeRaw(t testing.TB) {
	row := o.dim * o.src.Bits() / 8
	rows := make([]byte, len(o.codes)*row)
	require.NoError(t, o.src.ReadResiduals(rows, 0))
	dec, err := codec.NewDecoder(o.src.Centroids(), o.dim, o.src.Bits(), o.src.Weights())
	require.NoError(t, err)
	for i, c := range o.codes {
		require.NoError(t, dec.Raw(o.vectors[i*o.dim:(i+1)*o.dim], int64(c), rows[i*row:(i+1)*row]))
	}
}

func (o *oracle) document(j int) []float32 {
	return o.vectors[o.offsets[j]*int64(o.dim) : o.offsets[j+1]*int64(o.dim)]
}

// score is the canonical score.
func (o *oracle) score(t testing.TB, query []float32, j int) (canon.Fixed, float64) {
	q, err := canon.NewQuery(query, nil, o.dim, o.norm)
	require.NoError(t, err)
	f, err := q.Score(o.document(j), nil, nil)
	require.NoError(t, err)
	return f, q.Scale().Float(f)
}

// rank is the first k of some documents by exact score: brute force.
func (o *oracle) rank(t testing.TB, query []float32, docs []int, k int) []canon.Result[canon.Fixed, int64] {
	var all []canon.Result[canon.Fixed, int64]
	for _, j := range docs {
		if o.offsets[j+1] > o.offsets[j] {
			f, _ := o.score(t, query, j)
			all = append(all, canon.Result[canon.Fixed, int64]{Score: f, ID: int64(j)})
		}
	}
	canon.Sort(all)
	return all[:min(k, len(all))]
}

func (o *oracle) everything() []int {
	docs := make([]int, len(o.offsets)-1)
	for j := range docs {
		docs[j] = j
	}
	return docs
}

func load(t testing.TB, b backend.Backend, src format.Source, o plaid.LoadOptions) *plaid.Index {
	ix, err := plaid.Load(open(t, b), src, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ix.Close()) })
	return ix
}

func searcher(t testing.TB, ix *plaid.Index) *plaid.Searcher {
	s, err := ix.NewSearcher()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// same requires hits with these ids and scores, bit for bit.
func same(t testing.TB, want []canon.Result[canon.Fixed, int64], got []plaid.Hit, msg ...any) {
	t.Helper()
	have := make([]canon.Result[canon.Fixed, int64], len(got))
	for i, h := range got {
		have[i] = canon.Result[canon.Fixed, int64]{Score: h.Fixed, ID: h.ID}
	}
	if want == nil {
		want = []canon.Result[canon.Fixed, int64]{}
	}
	require.Equal(t, want, have, msg...)
}

func TestEveryMethodEqualsBruteForce(t *testing.T) {
	docs := collection(1, 16, lengths(1, 60, 9, 0, 30, 31, 59)...)
	queries := collection(2, 16, 5, 1, 12)
	for _, bits := range []int{1, 2, 4, 8} {
		src := built(t, docs, 24, bits)
		ix := load(t, host.Backend{}, src, plaid.LoadOptions{})
		s, o := searcher(t, ix), newOracle(t, src, ix.TokenNorm())
		for i := range queries.Len() {
			q := queries.Vectors[queries.Offsets[i]*16 : queries.Offsets[i+1]*16]
			for _, k := range []int{1, 10, 1000} {
				want := o.rank(t, q, o.everything(), k)
				for name, opts := range map[string]plaid.SearchOptions{
					"auto":         {},
					"scan":         {Method: plaid.MethodScan},
					"probe all":    {Method: plaid.MethodProbe, Probe: 1000, Exact: 1000},
					"two rounds":   {Method: plaid.MethodProbe, Probe: 24, Candidates: 60, Exact: 60},
					"exact":        {Preset: plaid.Exact},
					"all as plaid": {Preset: plaid.CompatPLAID, Probe: 24, Candidates: 60, Exact: 60},
					"all as fast":  {Preset: plaid.CompatFastPlaid, Probe: 24, Candidates: 240},
				} {
					hits, stats, err := s.Search(context.Background(), q, k, opts)
					require.NoError(t, err)
					same(t, want, hits, "%s, %d bits, k %d, query %d: %v", name, bits, k, i, stats)
					for _, h := range hits {
						_, score := o.score(t, q, int(h.ID))
						require.InDelta(t, score, h.Score, 1e-6)
					}
				}
			}
		}
	}
}

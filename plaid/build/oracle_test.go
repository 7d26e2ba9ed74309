package build

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

// oracle is a build of a small collection in plain Go: everything at once, token by token,
// by packages canon and codec alone. It shares nothing with the builder but the plan.
func oracle(t *testing.T, c Collection, o Options) *format.Memory {
	d := c.Dim()
	o, err := o.filled(d)
	require.NoError(t, err)
	var lens []int32
	m := &format.Memory{Components: d, Width: o.Bits, DocumentOffsets: []int64{0}}
	var docs [][]float32
	var all []float32
	for doc, err := range c.Documents() {
		require.NoError(t, err)
		doc = append([]float32(nil), doc...)
		for i := 0; o.Normalize && i < len(doc); i += d {
			canon.Normalize(doc[i:i+d], doc[i:i+d])
		}
		docs, all, lens = append(docs, doc), append(all, doc...), append(lens, int32(len(doc)/d))
		m.DocumentOffsets = append(m.DocumentOffsets, int64(len(all)/d))
	}
	p := newPlan(lens, &o)
	wanted := p.sampler()
	thin, seeds := newSelector(o.Seed, drawTraining, p.training, p.tokens), newSelector(o.Seed, drawSeeds, p.k, p.training)
	var training, held []float32
	for j, doc := range docs {
		if wanted != nil && !wanted(int64(j)) {
			continue
		}
		for i := 0; i < len(doc); i += d {
			if !thin.take() {
				continue
			}
			training = append(training, doc[i:i+d]...)
			if seeds.take() {
				m.Cells = append(m.Cells, unitHalf(doc[i:i+d])...)
			}
		}
		for _, s := range p.heldOut {
			if s.document == int64(j) {
				held = append(held, doc[s.from*int64(d):]...)
			}
		}
	}
	for range o.Iterations {
		m.Cells = oracleIteration(t, training, m.Cells, d, maxNorm(all, d))
	}
	oracleTable(t, m, held)
	m.TokenCodes = make([]int32, len(all)/d)
	require.NoError(t, codec.Nearest(m.TokenCodes, all, m.Cells, d))
	row, _ := codec.RowBytes(d, o.Bits)
	m.Residuals = make([]byte, len(m.TokenCodes)*row)
	for i, code := range m.TokenCodes {
		require.NoError(t, m.Table.Encode(m.Residuals[i*row:(i+1)*row], all[i*d:(i+1)*d], m.Cells[int(code)*d:(int(code)+1)*d]))
	}
	return m
}

func unitHalf(x []float32) []float32 {
	out := make([]float32, len(x))
	canon.Normalize(out, x)
	toHalf(out)
	return out
}

func maxNorm(x []float32, d int) float64 { return max(canon.MaxNorm(x, d), minNorm) }

func oracleIteration(t *testing.T, training, cells []float32, d int, norm float64) []float32 {
	n, k := len(training)/d, len(cells)/d
	code := make([]int32, n)
	require.NoError(t, codec.Nearest(code, training, cells, d))
	scale, err := canon.NewScale(int64(n), norm)
	require.NoError(t, err)
	sums, counts := make([]int64, len(cells)), make([]int, k)
	worst := make([]int, k)
	for c := range worst {
		worst[c] = -1
	}
	score := func(i int) float32 { return canon.Dot(training[i*d:(i+1)*d], cells[int(code[i])*d:]) }
	for i, c := range code {
		require.NoError(t, scale.AddTo(sums[int(c)*d:(int(c)+1)*d], training[i*d:(i+1)*d]))
		counts[c]++
		if worst[c] < 0 || score(i) < score(worst[c]) {
			worst[c] = i
		}
	}
	next := make([]float32, len(cells))
	for c := range k {
		row := next[c*d : (c+1)*d]
		if counts[c] > 0 {
			var s float64
			for _, v := range sums[c*d : (c+1)*d] {
				s += float64(float64(v) * float64(v))
			}
			for i, v := range sums[c*d : (c+1)*d] {
				row[i] = float32(float64(v) / math.Sqrt(max(s, 1)))
			}
			toHalf(row)
			continue
		}
		best := -1
		for other, i := range worst {
			if i >= 0 && counts[other] > 1 && (best < 0 || canon.Less(score(worst[best]), -worst[best], score(i), -i)) {
				best = other
			}
		}
		copy(row, cells[c*d:(c+1)*d])
		if best >= 0 {
			copy(row, unitHalf(training[worst[best]*d:(worst[best]+1)*d]))
			worst[best] = -1
		}
	}
	return next
}

func oracleTable(t *testing.T, m *format.Memory, held []float32) {
	d := m.Components
	code := make([]int32, len(held)/d)
	require.NoError(t, codec.Nearest(code, held, m.Cells, d))
	var residuals, norms []float32
	average := make([]float64, d)
	for i := range code {
		r := make([]float32, d)
		for j := range r {
			r[j] = held[i*d+j] - m.Cells[int(code[i])*d+j]
			average[j] += math.Abs(float64(r[j]))
		}
		norms, residuals = append(norms, float32(canon.Norm(r))), append(residuals, r...)
	}
	for _, s := range average {
		m.Average = append(m.Average, float32(s/float64(len(code))))
	}
	var threshold [1]float64
	require.NoError(t, canon.Quantiles(threshold[:], norms, []float64{0.75}))
	m.Radius = float32(threshold[0])
	table, err := codec.FitTable(m.Width, slices.Values([][]float32{residuals})) // which has tests of its own
	require.NoError(t, err)
	m.Table = *table
}

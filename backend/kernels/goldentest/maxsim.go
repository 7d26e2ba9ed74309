package goldentest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/golden"
)

var _ = register("maxsim", func(t *testing.T, r *runner) {
	t.Run("cross", r.maxSimCross)
	t.Run("kd", r.maxSimKD)
	t.Run("varlen", r.maxSimVarlen)
	t.Run("pairs", r.maxSimPairs)
	t.Run("packed-pairs", r.maxSimPackedPairs)
	t.Run("mask-modes", r.maxSimMaskModes)
	t.Run("nan", r.maxSimNaN)
	t.Run("normalize", r.maxSimNormalize)
})

// closeMargin is a margin that f64 sums of one dot product may or may not keep; an exact
// tie has margin 0 and is decided by index.
const closeMargin = 1e-9

// tokens are padded sequences of equal length, or ragged ones with lens.
type tokens struct {
	x, mask []float64 // mask nil = all valid
	lens    []int64
}

func padded(t *testing.T, c *golden.Case, name string) tokens {
	a := c.Array(t, name)
	d := a.Shape[len(a.Shape)-1]
	length := a.Shape[len(a.Shape)-2]
	x := tokens{x: c.Floats(t, name), lens: uniform(a.Len()/(length*d), length)}
	if c.Has(name + "_mask") {
		x.mask = c.Floats(t, name+"_mask")
	}
	return x
}

// part is sequences [from, to).
func (k tokens) part(from, to, d int) tokens {
	var lo, hi int64
	for i, n := range k.lens[:to] {
		if i < from {
			lo += n
		}
		hi += n
	}
	p := tokens{x: k.x[lo*int64(d) : hi*int64(d)], lens: k.lens[from:to]}
	if k.mask != nil {
		p.mask = k.mask[lo:hi]
	}
	return p
}

// empty reports, per sequence, whether it has no valid token.
func (k tokens) empty() []bool {
	out := make([]bool, len(k.lens))
	at := int64(0)
	for i, n := range k.lens {
		out[i] = true
		for t := at; t < at+n; t++ {
			if k.mask == nil || k.mask[t] != 0 {
				out[i] = false
			}
		}
		at += n
	}
	return out
}

func (k tokens) total() int64 {
	var n int64
	for _, l := range k.lens {
		n += l
	}
	return n
}

// scores are what a vector says of queries against documents.
type scores struct {
	score  []float64 // nq,nd with empty documents 0
	winner []float64 // nq,nd,width with -1 = none; nil = not given
	margin []float64 // the same; nil = not given
	width  int       // query tokens the winners are padded to
}

func scoresOf(t *testing.T, c *golden.Case) scores {
	s := scores{score: c.Floats(t, "scores")}
	if c.Has("argmax") {
		shape := c.Array(t, "argmax").Shape
		s.winner, s.width = c.Floats(t, "argmax"), shape[len(shape)-1]
	}
	if c.Has("margin") {
		s.margin = c.Floats(t, "margin")
	}
	return s
}

// part is query i alone, against all its documents.
func (s scores) part(i, nd int) scores {
	p := scores{score: s.score[i*nd : (i+1)*nd], width: s.width}
	if s.winner != nil {
		p.winner = s.winner[i*nd*s.width : (i+1)*nd*s.width]
	}
	if s.margin != nil {
		p.margin = s.margin[i*nd*s.width : (i+1)*nd*s.width]
	}
	return p
}

// cross makes the vector of every query against every document, in mode empty=zero.
func cross(q, d tokens, dim int, normalize bool, s scores) vector {
	v := vector{kernel: kernels.MaxSim, dims: kernel.Dims{"d": int64(dim)}, lens: map[string][]int64{"tq": q.lens, "td": d.lens},
		attrs: map[string]any{"Normalize": normalize, "EmptyZero": true},
		in:    map[string][]float64{"Query": q.x, "Doc": d.x}, want: map[string][]float64{"Score": s.score}, ignore: map[string][]bool{}}
	if q.mask != nil {
		v.in["QueryMask"] = q.mask
	}
	if d.mask != nil {
		v.in["DocMask"] = d.mask
	}
	if s.winner == nil {
		return v
	}
	nd := len(d.lens)
	winner, ignore := make([]float64, q.total()*int64(nd)), make([]bool, q.total()*int64(nd))
	at := 0
	for i, n := range q.lens {
		for t := range int(n) {
			for j := range nd {
				from := (i*nd+j)*s.width + t
				winner[at] = s.winner[from]
				ignore[at] = s.margin != nil && s.margin[from] > 0 && s.margin[from] < closeMargin
				at++
			}
		}
	}
	v.want["Winner"], v.ignore["Winner"] = winner, ignore
	return v
}

// negInf is v in the default mode: −∞ where the document is empty and the query is not.
func negInf(v vector, q, d tokens) vector {
	score := append([]float64(nil), v.want["Score"]...)
	for i, noQuery := range q.empty() {
		for j, noDoc := range d.empty() {
			if noDoc && !noQuery {
				score[i*len(d.lens)+j] = math.Inf(-1)
			}
		}
	}
	v.want = map[string][]float64{"Score": score, "Winner": v.want["Winner"]}
	if v.want["Winner"] == nil {
		delete(v.want, "Winner")
	}
	v.attrs = map[string]any{"Normalize": v.attrs["Normalize"], "EmptyZero": false}
	return v
}

// bothModes checks v, which is in mode empty=zero, and the default mode.
func (r *runner) bothModes(t *testing.T, v vector, q, d tokens) vector {
	r.check(t, v)
	v = negInf(v, q, d)
	r.check(t, v)
	return v
}

func (r *runner) maxSimCross(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "maxsim", When: []string{"layout=cross", "empty_document=zero", "tie=lowest_index"},
		Arrays: []string{"q", "d", "q_mask", "d_mask", "scores", "scores_neginf", "argmax", "margin"}}, func(t *testing.T, c *golden.Case) {
		q, d, s := padded(t, c, "q"), padded(t, c, "d"), scoresOf(t, c)
		v := cross(q, d, c.Int(t, "d"), c.Bool(t, "normalize"), s)
		def := negInf(v, q, d)
		if c.Has("scores_neginf") { // the vector's own idea of the default mode
			require.Equal(t, c.Floats(t, "scores_neginf"), def.want["Score"])
		}
		r.bothModes(t, v, q, d)
	})
}

func (r *runner) maxSimKD(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "maxsim", When: []string{"layout=kd", "empty_document=zero", "tie=lowest_index"},
		Arrays: []string{"q", "d", "q_mask", "d_mask", "scores", "argmax", "margin"}}, func(t *testing.T, c *golden.Case) {
		q, d, s, dim := padded(t, c, "q"), padded(t, c, "d"), scoresOf(t, c), c.Int(t, "d")
		k := len(d.lens) / len(q.lens)
		for i := range q.lens { // each query owns k candidates
			qi, di := q.part(i, i+1, dim), d.part(i*k, (i+1)*k, dim)
			r.bothModes(t, cross(qi, di, dim, c.Bool(t, "normalize"), s.part(i, k)), qi, di)
		}
	})
}

// lengths of segments from offsets.
func lengths(offsets []int64) []int64 {
	out := make([]int64, len(offsets)-1)
	for i := range out {
		out[i] = offsets[i+1] - offsets[i]
	}
	return out
}

func (r *runner) maxSimVarlen(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "maxsim_varlen", When: []string{"empty_document=zero"},
		Arrays: []string{"q", "d", "q_offsets", "d_offsets", "scores", "argmax", "margin"}}, func(t *testing.T, c *golden.Case) {
		q := tokens{x: c.Floats(t, "q"), lens: lengths(c.Ints(t, "q_offsets"))}
		d := tokens{x: c.Floats(t, "d"), lens: lengths(c.Ints(t, "d_offsets"))}
		r.bothModes(t, cross(q, d, c.Int(t, "d"), false, scoresOf(t, c)), q, d)
	})
}

func (r *runner) maxSimPairs(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "maxsim_pairs",
		Arrays: []string{"q", "d", "d_mask", "scores", "argmax", "margin"}}, func(t *testing.T, c *golden.Case) {
		q, d, s, dim := padded(t, c, "q"), padded(t, c, "d"), scoresOf(t, c), c.Int(t, "d")
		for i := range q.lens {
			qi, di := q.part(i, i+1, dim), d.part(i, i+1, dim)
			r.bothModes(t, cross(qi, di, dim, false, s.part(i, 1)), qi, di)
		}
	})
}

func (r *runner) maxSimPackedPairs(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "score_pairs_packed", When: []string{"empty_document=zero"},
		Arrays: []string{"q", "d", "q_offsets", "d_offsets", "pair_q", "pair_d", "scores"}}, func(t *testing.T, c *golden.Case) {
		q := tokens{x: c.Floats(t, "q"), lens: lengths(c.Ints(t, "q_offsets"))}
		d := tokens{x: c.Floats(t, "d"), lens: lengths(c.Ints(t, "d_offsets"))}
		pq, pd, s, dim := c.Ints(t, "pair_q"), c.Ints(t, "pair_d"), scoresOf(t, c), c.Int(t, "d")
		for i := range pq {
			qi, di := q.part(int(pq[i]), int(pq[i])+1, dim), d.part(int(pd[i]), int(pd[i])+1, dim)
			r.bothModes(t, cross(qi, di, dim, false, s.part(i, 1)), qi, di)
		}
	})
}

// maxSimMaskModes: masked tokens are left out; the other conventions are of other programs.
func (r *runner) maxSimMaskModes(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "maxsim_mask_mode",
		Arrays: []string{"q", "d", "q_mask", "d_mask", "exclude", "exclude_zero"}}, func(t *testing.T, c *golden.Case) {
		q, d := padded(t, c, "q"), padded(t, c, "d")
		v := r.bothModes(t, cross(q, d, c.Int(t, "d"), false, scores{score: c.Floats(t, "exclude_zero")}), q, d)
		require.Equal(t, c.Floats(t, "exclude"), v.want["Score"])
	})
}

func (r *runner) maxSimNaN(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "maxsim_nan",
		Arrays: []string{"q", "d", "d_mask", "scores_propagate"}}, func(t *testing.T, c *golden.Case) {
		q, d := padded(t, c, "q"), padded(t, c, "d")
		r.bothModes(t, cross(q, d, c.Int(t, "d"), false, scores{score: c.Floats(t, "scores_propagate")}), q, d)
	})
}

// maxSimNormalize reads normalised vectors out of the scores against unit vectors.
func (r *runner) maxSimNormalize(t *testing.T) {
	golden.Run(t, golden.Claim{Area: "maxsim", Op: "l2_normalize", When: []string{"eps=1e-12"},
		Arrays: []string{"x", "eps_on_squared_norm"}}, func(t *testing.T, c *golden.Case) {
		n, dim := rows(c.Array(t, "x").Shape)
		units := make([]float64, dim*dim)
		for i := range dim {
			units[i*dim+i] = 1
		}
		q, d := tokens{x: c.Floats(t, "x"), lens: uniform(n, 1)}, tokens{x: units, lens: uniform(dim, 1)}
		r.check(t, cross(q, d, dim, true, scores{score: c.Floats(t, "eps_on_squared_norm")}))
	})
}

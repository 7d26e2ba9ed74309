package goldentest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/golden"
)

var _ = register("nearest_centroid", func(t *testing.T, r *runner) {
	golden.Run(t, golden.Claim{Area: "colbert-codec", Op: "codec_compress", Arrays: []string{"embeddings", "centroids", "codes"}}, func(t *testing.T, c *golden.Case) {
		n, d := rows(c.Array(t, "embeddings").Shape)
		k, _ := rows(c.Array(t, "centroids").Shape)
		r.check(t, vector{kernel: kernels.NearestCentroid, dims: kernel.Dims{"n": int64(n), "k": int64(k), "d": int64(d)},
			in:   map[string][]float64{"Token": c.Floats(t, "embeddings"), "Centroid": c.Floats(t, "centroids")},
			want: map[string][]float64{"Code": c.Floats(t, "codes")}})
	})
})

var _ = register("residual_encode", func(t *testing.T, r *runner) {
	golden.Run(t, golden.Claim{Area: "colbert-codec", Op: "codec_binarize", Arrays: []string{"residuals", "cutoffs", "packed"}}, func(t *testing.T, c *golden.Case) {
		n, d := rows(c.Array(t, "residuals").Shape)
		_, rb := rows(c.Array(t, "packed").Shape)
		bits := c.Int(t, "nbits")
		r.check(t, vector{kernel: kernels.ResidualEncode,
			dims:  kernel.Dims{"n": int64(n), "d": int64(d), "k": 1, "rb": int64(rb), "cut": 1<<bits - 1, "w": 1 << bits},
			attrs: map[string]any{"Bits": bits},
			in: map[string][]float64{"Token": c.Floats(t, "residuals"), "Code": make([]float64, n), "Centroid": make([]float64, d),
				"Cutoff": c.Floats(t, "cutoffs"), "Weight": make([]float64, 1<<bits)},
			want: map[string][]float64{"Packed": c.Floats(t, "packed")}})
	})
})

// indexed is a small index with queries, and what its vectors say of them.
type indexed struct {
	dims         kernel.Dims
	lens         map[string][]int64
	in           map[string][]float64
	bits, nq, nd int
	noTokens     []bool // by document
}

func indexOf(t *testing.T, c *golden.Case) *indexed {
	shape := c.Array(t, "queries").Shape
	nq, lq, d := shape[0], shape[1], shape[2]
	lens := lengths(c.Ints(t, "doc_offsets"))
	nd, bits := len(lens), c.Int(t, "nbits")
	k, _ := rows(c.Array(t, "centroids").Shape)
	_, rb := rows(c.Array(t, "packed").Shape)
	x := &indexed{bits: bits, nq: nq, nd: nd, lens: map[string][]int64{"tq": uniform(nq, lq), "td": lens},
		dims: kernel.Dims{"d": int64(d), "nq": int64(nq), "nd": int64(nd), "c": int64(nd), "k": int64(k), "rb": int64(rb), "w": 1 << bits}}
	candidate, shift := make([]float64, nq*nd), make([]float64, nq)
	for i := range candidate {
		candidate[i] = float64(i % nd)
	}
	for i := range shift {
		shift[i] = 40
	}
	for _, n := range lens {
		x.noTokens = append(x.noTokens, n == 0)
	}
	x.in = map[string][]float64{"Code": c.Floats(t, "codes"), "Candidate": candidate, "Shift": shift}
	return x
}

// scores are the vector's, with −∞ for documents without tokens, where it has 0.
func (x *indexed) scores(t *testing.T, c *golden.Case, name string) []float64 {
	out := append([]float64(nil), c.Floats(t, name)...)
	for i := range out {
		if x.noTokens[i%x.nd] {
			require.Zero(t, out[i])
			out[i] = math.Inf(-1)
		}
	}
	return out
}

// chain is what float32 chains of d terms, over vectors of about unit norm and three query
// tokens, may be off by.
func (x *indexed) chain() float64 { return 3 * 4 * float64(x.dims["d"]) * 0x1p-24 }

var _ = register("residual_maxsim", func(t *testing.T, r *runner) {
	golden.Run(t, golden.Claim{Area: "colbert-codec", Op: "maxsim_residual", When: []string{"empty_document=zero"},
		Arrays: []string{"queries", "codes", "packed", "doc_offsets", "centroids", "weights", "scores", "scores_raw"}}, func(t *testing.T, c *golden.Case) {
		x := indexOf(t, c)
		for name, data := range map[string]string{"Query": "queries", "Packed": "packed", "Centroid": "centroids", "Weight": "weights"} {
			x.in[name] = c.Floats(t, data)
		}
		for name, normalize := range map[string]bool{"scores": true, "scores_raw": false} {
			r.check(t, vector{kernel: kernels.ResidualMaxSim, dims: x.dims, lens: x.lens, in: x.in, slack: x.chain(), types: []backend.DType{backend.F32},
				attrs: map[string]any{"Bits": x.bits, "Normalize": normalize}, want: map[string][]float64{"Score": x.scores(t, c, name)}})
		}
	})
})

var _ = register("plaid_approx", func(t *testing.T, r *runner) {
	golden.Run(t, golden.Claim{Area: "colbert-codec", Op: "maxsim_residual", When: []string{"empty_document=zero"},
		Arrays: []string{"queries", "codes", "packed", "doc_offsets", "centroids", "approx_scores"}}, func(t *testing.T, c *golden.Case) {
		x := indexOf(t, c)
		q, centroid, d, k := c.Floats(t, "queries"), c.Floats(t, "centroids"), int(x.dims["d"]), int(x.dims["k"])
		tq := len(q) / d
		score := make([]float64, k*tq)
		for i := range score {
			for j := range d {
				score[i] += centroid[i/tq*d+j] * q[i%tq*d+j]
			}
			score[i] = float64(float32(score[i]))
		}
		x.in["CentroidScore"] = score
		x.dims["kw"], x.dims["p"] = (x.dims["k"]+31)/32, 0
		r.check(t, vector{kernel: kernels.PlaidApprox, dims: x.dims, lens: x.lens, in: x.in, slack: x.chain(),
			want: map[string][]float64{"Score": x.scores(t, c, "approx_scores")}})
	})
})

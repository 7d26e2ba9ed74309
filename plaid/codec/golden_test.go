package codec

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/golden"
)

func floats32(t *testing.T, c *golden.Case, name string) []float32 {
	v := c.Floats(t, name)
	out := make([]float32, len(v))
	for i := range v {
		out[i] = float32(v[i])
	}
	return out
}

func bytesOf(t *testing.T, c *golden.Case, name string) []byte { return c.Array(t, name).Data }

// near requires |got − want| ≤ n units of roundoff u, relative to the largest magnitude in want.
func near(t *testing.T, want, got []float64, n, u float64) {
	t.Helper()
	require.Len(t, got, len(want))
	var scale float64
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i := range want {
		require.LessOrEqual(t, math.Abs(got[i]-want[i]), n*u*scale, "element %d: got %v, want %v", i, got[i], want[i])
	}
}

const (
	u32 = 0x1p-24
	u64 = 0x1p-53
)

func TestGoldenQuantiles(t *testing.T) {
	claim := golden.Claim{Area: "colbert-codec", Op: "codec_quantiles", Arrays: []string{
		"residuals", "cutoffs", "weights", "cutoffs_f32", "weights_f32"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		bits := c.Int(t, "nbits")
		residuals := floats32(t, c, "residuals")
		table, err := NewTable(bits, slices.Values([][]float32{residuals}))
		require.NoError(t, err)
		require.NoError(t, table.Check())
		for name, got := range map[string][]float32{"cutoffs": table.Cutoffs, "weights": table.Weights} {
			wide := make([]float64, len(got))
			for i, v := range got {
				wide[i] = float64(v)
			}
			// One rounding to float32; three float64 operations of the interpolation on either side.
			near(t, c.Floats(t, name), wide, 1, u32+6*u64)
			if c.Has(name + "_f32") {
				near(t, c.Floats(t, name+"_f32"), wide, 4, u32) // computed in float32 throughout
			}
		}
	})
}

func TestGoldenUnpackEveryByte(t *testing.T) {
	claim := golden.Claim{Area: "colbert-codec", Op: "codec_unpack", Arrays: []string{
		"packed", "codes", "reversed_bit_map", "codes_low_first"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		bits := c.Int(t, "nbits")
		packed, want := bytesOf(t, c, "packed"), bytesOf(t, c, "codes")
		got := make([]byte, len(want))
		require.NoError(t, Unpack(got, packed, bits))
		require.Equal(t, want, got)
		back := make([]byte, len(packed))
		require.NoError(t, Pack(back, got, bits))
		require.Equal(t, packed, back)

		// The low-bits-first reading is another order, and the fast decoders' byte map, which
		// reverses each group in place, joins the two.
		low := bytesOf(t, c, "codes_low_first")
		require.NotEqual(t, low, got)
		for b, mapped := range bytesOf(t, c, "reversed_bit_map") {
			for k := range 8 / bits {
				require.Equal(t, got[b*8/bits+k], mapped<<(k*bits)>>(8-bits), "byte %d, group %d", b, k)
			}
		}
	})
}

func TestGoldenPack(t *testing.T) {
	claim := golden.Claim{Area: "colbert-codec", Op: "codec_pack", Arrays: []string{
		"codes", "packed", "packed_low_first", "packed_high_first"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		bits := c.Int(t, "nbits")
		codes, want := bytesOf(t, c, "codes"), bytesOf(t, c, "packed")
		got := make([]byte, len(want))
		require.NoError(t, Pack(got, codes, bits))
		require.Equal(t, want, got)
		for _, other := range []string{"packed_low_first", "packed_high_first"} {
			if foreign := bytesOf(t, c, other); bits > 1 || other == "packed_low_first" {
				differ := 0
				for i := range foreign {
					if foreign[i] != got[i] {
						differ++
					}
				}
				require.NotZero(t, differ, "%s is not this codec's order", other)
			}
		}
		row, err := RowBytes(c.Int(t, "d"), bits)
		require.NoError(t, err)
		require.Equal(t, c.Array(t, "packed").Shape[1], row)
	})
}

func TestGoldenCompress(t *testing.T) {
	claim := golden.Claim{Area: "colbert-codec", Op: "codec_compress", Arrays: []string{"embeddings", "centroids", "codes"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		want := c.Ints(t, "codes")
		codes := make([]int32, len(want))
		require.NoError(t, Nearest(codes, floats32(t, c, "embeddings"), floats32(t, c, "centroids"), c.Int(t, "d")))
		for i := range want {
			require.EqualValues(t, want[i], codes[i], "token %d", i)
		}
	})
}

func TestGoldenBinarize(t *testing.T) {
	claim := golden.Claim{Area: "colbert-codec", Op: "codec_binarize", Arrays: []string{"residuals", "cutoffs", "buckets", "packed"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		bits, d := c.Int(t, "nbits"), c.Int(t, "d")
		table := &Table{Bits: bits, Cutoffs: floats32(t, c, "cutoffs")}
		residuals, packed := floats32(t, c, "residuals"), bytesOf(t, c, "packed")
		for i, want := range bytesOf(t, c, "buckets") {
			require.Equal(t, want, table.Bucket(residuals[i]), "residual %d", i)
		}
		row := make([]byte, d*bits/8)
		for i := 0; i < len(residuals)/d; i++ {
			require.NoError(t, table.Encode(row, residuals[i*d:(i+1)*d], make([]float32, d)))
			require.Equal(t, packed[i*len(row):(i+1)*len(row)], row, "token %d", i)
		}
	})
}

func TestGoldenResidualMaxSim(t *testing.T) {
	claim := golden.Claim{Area: "colbert-codec", Op: "maxsim_residual", Arrays: []string{"queries", "codes", "packed",
		"doc_offsets", "centroids", "weights", "decoded", "decoded_raw", "scores", "scores_raw", "approx_scores"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		bits, d := c.Int(t, "nbits"), c.Int(t, "d")
		centroids, codes := floats32(t, c, "centroids"), c.Ints(t, "codes")
		dec, err := NewDecoder(centroids, d, bits, floats32(t, c, "weights"))
		require.NoError(t, err)
		row := d * bits / 8
		packed := bytesOf(t, c, "packed")
		raw, unit, approx := make([]float64, 0, len(codes)*d), make([]float64, 0, len(codes)*d), make([]float64, 0, len(codes)*d)
		v := make([]float32, d)
		for i, code := range codes {
			bytes := packed[i*row : (i+1)*row]
			inv, err := dec.InvNorm(v, code, bytes)
			require.NoError(t, err)
			require.NoError(t, dec.Raw(v, code, bytes))
			raw = append(raw, widen(v)...)
			require.NoError(t, dec.Token(v, code, bytes))
			unit = append(unit, widen(v)...)
			for k, x := range v {
				require.Equal(t, float32(raw[i*d+k])*inv, x, "the product is rounded once")
			}
			approx = append(approx, widen(centroids[code*int64(d):(code+1)*int64(d)])...)
		}
		near(t, c.Floats(t, "decoded_raw"), raw, 1, u32)
		near(t, c.Floats(t, "decoded"), unit, float64(d), u32) // the norm's sum is float32
		offsets, queries := c.Ints(t, "doc_offsets"), c.Floats(t, "queries")
		terms := float64(d) * float64(c.Array(t, "queries").Shape[1])
		near(t, c.Floats(t, "scores_raw"), maxSim(queries, raw, offsets, d, c.Array(t, "queries").Shape[1]), terms, u32)
		near(t, c.Floats(t, "scores"), maxSim(queries, unit, offsets, d, c.Array(t, "queries").Shape[1]), terms, u32)
		near(t, c.Floats(t, "approx_scores"), maxSim(queries, approx, offsets, d, c.Array(t, "queries").Shape[1]), terms, u64)
	})
}

func widen(v []float32) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out
}

// maxSim scores every query of lq tokens against every document, an empty one with 0, as
// the area states.
func maxSim(queries, tokens []float64, offsets []int64, d, lq int) []float64 {
	var scores []float64
	for q := 0; q < len(queries); q += lq * d {
		for j := range len(offsets) - 1 {
			var sum float64
			for i := range lq {
				best := math.Inf(-1)
				for t := offsets[j]; t < offsets[j+1]; t++ {
					var dot float64
					for k := range d {
						dot += queries[q+i*d+k] * tokens[int(t)*d+k]
					}
					best = max(best, dot)
				}
				if offsets[j] < offsets[j+1] {
					sum += best
				}
			}
			scores = append(scores, sum)
		}
	}
	return scores
}

package kernels

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// ResidualEncodeArgs are the operands of [ResidualEncode]. Axes: n tokens, d components, k
// centroids, cut = 2^Bits − 1 cut points, w = 2^Bits weights, rb = d·Bits/8 bytes a row.
type ResidualEncodeArgs struct {
	Token    backend.View `kernel:"in f32 n,d"`
	Code     backend.View `kernel:"in i32 n"`
	Centroid backend.View `kernel:"in f32 k,d"`
	Cutoff   backend.View `kernel:"in f32 cut"` // ascending
	Weight   backend.View `kernel:"in f32 w"`
	Packed   backend.View `kernel:"out u8 n,rb"`
	InvNorm  backend.View `kernel:"out f32 n opt"`
	Bits     int64        `kernel:"attr"` // 1, 2, 4 or 8
}

// ResidualEncode packs what the centroid leaves of each token: per component the number of
// cut points below the difference, in the bit order of ColBERT indexes, and the inverse
// norm of the vector that decoding gives back.
var ResidualEncode = kernel.Declare(kernel.Spec[ResidualEncodeArgs]{
	Name: "residual_encode", Family: "plaid",
	Source: "Santhanam et al., ColBERTv2, NAACL 2022; byte layout of package plaid/codec",
	Doc: "Per component, the number of ascending cut points below token − centroid (one float32 subtraction; NaN counts 0), packed with each bucket's bits least significant first from the high end of a byte; " +
		"and 1/max(‖v‖, 1e-12) of the decoded vector v = centroid + weight, every operation rounded to float32 in ascending order. A code outside the centroids is a data error; its row is zeros and its inverse norm 0.",
	Faults: []string{"code out of range"},
	Check: func(a *ResidualEncodeArgs) error {
		if err := checkBits("residual_encode", a.Bits, a.Token.Dims[1], &a.Packed, "Weight", &a.Weight); err != nil {
			return err
		}
		if n := a.Cutoff.Dims[0]; n != 1<<a.Bits-1 {
			return argument("residual_encode", "Cutoff", "cut", "want a cut point between neighbouring buckets", 1<<a.Bits-1, n)
		}
		return checkCentroids("residual_encode", a.Centroid.Dims[0])
	},
	Reference: func(r *kernel.Ref, a *ResidualEncodeArgs) error {
		token, code, cutoff := floats32(r.Read(&a.Token)), r.Ints(&a.Code), floats32(r.Read(&a.Cutoff))
		n, d, k, rb := a.Token.Dims[0], a.Token.Dims[1], a.Centroid.Dims[0], a.Packed.Dims[1]
		x := decoder{centroid: floats32(r.Read(&a.Centroid)), weight: floats32(r.Read(&a.Weight)), packed: make([]int64, n*rb), d: d, bits: a.Bits}
		inv, v := make([]float64, n), make([]float32, d)
		for i, c := range code {
			if c < 0 || c >= k {
				r.Fault(1, "Code", int64(i))
				continue
			}
			row := x.packed[int64(i)*rb : int64(i+1)*rb]
			for j := range d {
				rest, bucket := token[int64(i)*d+j]-x.centroid[c*d+j], int64(0)
				for _, cut := range cutoff {
					if cut < rest {
						bucket++
					}
				}
				packBucket(row, j, a.Bits, bucket)
			}
			x.token(v, int64(i), c)
			inv[i] = float64(invNorm(v))
		}
		r.WriteInts(&a.Packed, x.packed)
		r.Write(&a.InvNorm, inv)
		return nil
	},
	Tolerance:   map[string]kernel.Tolerance{"Packed": kernel.Exact{}, "InvNorm": kernel.Exact{}},
	Independent: "n",
	Cost: func(c *backend.Call) kernel.Cost {
		n, d := float64(c.Axes[0]), float64(c.Axes[1])
		return kernel.Cost{FLOP: 4 * n * d, Read: viewBytes(c, 0, 1, 2, 3, 4), Write: viewBytes(c, 5, 6)}
	},
	Derive: deriveEncode,
	Cases: derived(deriveEncode,
		kernel.Case{Name: "one", Dims: kernel.Dims{"n": 1, "k": 1, "d": 4}},
		kernel.Case{Name: "small", Dims: kernel.Dims{"n": 19, "k": 5, "d": 36}},
		kernel.Case{Name: "d128", Dims: kernel.Dims{"n": 70, "k": 9, "d": 128}},
		kernel.Case{Name: "one-bit", Dims: kernel.Dims{"n": 37, "k": 9, "d": 72}, Attrs: map[string]any{"Bits": 1}},
		kernel.Case{Name: "four-bits", Dims: kernel.Dims{"n": 37, "k": 9, "d": 66}, Attrs: map[string]any{"Bits": 4}},
		kernel.Case{Name: "eight-bits", Dims: kernel.Dims{"n": 37, "k": 9, "d": 41}, Attrs: map[string]any{"Bits": 8}},
		kernel.Case{Name: "on-cut-points", Dims: kernel.Dims{"n": 37, "k": 9, "d": 64}, Fill: fills{"Token": fillQuarters, "Centroid": fillZero, "Cutoff": fillRamp(3)}},
		kernel.Case{Name: "zero-vectors", Dims: kernel.Dims{"n": 9, "k": 2, "d": 16}, Fill: fills{"Token": fillZero, "Centroid": fillZero, "Weight": fillZero}},
		kernel.Case{Name: "specials", Dims: kernel.Dims{"n": 37, "k": 9, "d": 64}, Absent: []string{"InvNorm"}, Fill: fills{"Token": fillSpecials}},
		kernel.Case{Name: "no-tokens", Dims: kernel.Dims{"n": 0, "k": 5, "d": 8}},
		kernel.Case{Name: "bad-codes", Dims: kernel.Dims{"n": 60, "k": 7, "d": 8}, Fill: fills{"Code": fillBelow(-2, 9)}, Faults: true},
	),
	Bench: derived(deriveEncode,
		kernel.Case{Name: "cranfield-64", Dims: kernel.Dims{"n": 247210, "k": 4096, "d": 64}, Note: "the tokens of a small collection, 2 bits"},
		kernel.Case{Name: "build-20k", Dims: kernel.Dims{"n": 2440000, "k": 16384, "d": 128}, Note: "the tokens of 20,000 documents, 2 bits"},
		kernel.Case{Name: "four-bits", Dims: kernel.Dims{"n": 247210, "k": 4096, "d": 128}, Attrs: map[string]any{"Bits": 4}},
	),
})

func deriveEncode(c *kernel.Case) {
	bits := deriveRows(c)
	c.Dims["cut"] = 1<<bits - 1
	own := c.Fill["Cutoff"]
	setFills(c, fills{"Code": fillBelow(0, c.Dims["k"]), "Cutoff": fillAscending(1)})
	if own != nil {
		c.Fill["Cutoff"] = own
	}
}

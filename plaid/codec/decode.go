package codec

import (
	"fmt"
	"math"

	"github.com/likbench/likbench/backend/num"
)

// Decoder rebuilds token vectors from codes and residual bytes. It does not change after
// [NewDecoder], so goroutines may share it.
type Decoder struct {
	dim, bits, row int
	centroids      []float32
	weight         [256][8]float32 // the weights of a byte's buckets, the first 8/bits entries
}

// NewDecoder makes a decoder. centroids are K×dim, row-major, and kept, not copied; weights
// are 2^bits. It fails with ErrBits, ErrDim or ErrLength.
func NewDecoder(centroids []float32, dim, bits int, weights []float32) (*Decoder, error) {
	row, err := RowBytes(dim, bits)
	if err != nil {
		return nil, err
	}
	if len(weights) != 1<<bits || len(centroids)%dim != 0 {
		return nil, fmt.Errorf("codec: %d weights for %d bits, %d values of centroids of %d: %w", len(weights), bits, len(centroids), dim, ErrLength)
	}
	d := &Decoder{dim: dim, bits: bits, row: row, centroids: centroids}
	for b := range d.weight {
		for k := range 8 / bits {
			d.weight[b][k] = weights[buckets[log2(bits)][b][k]]
		}
	}
	return d, nil
}

// Raw writes centroid + weight, one float32 addition a component, to dst, which has dim
// elements: WARP's vector, and what the others normalise. row has RowBytes(dim, bits) bytes.
// It fails with ErrCode or ErrLength.
func (d *Decoder) Raw(dst []float32, code int64, row []byte) error {
	if len(dst) != d.dim || len(row) != d.row {
		return fmt.Errorf("codec: vector of %d from %d bytes, want %d from %d: %w", len(dst), len(row), d.dim, d.row, ErrLength)
	}
	if k := int64(len(d.centroids) / d.dim); code < 0 || code >= k {
		return fmt.Errorf("codec: code %d of %d centroids: %w", code, k, ErrCode)
	}
	per := 8 / d.bits
	centroid := d.centroids[code*int64(d.dim):][:d.dim]
	for i, b := range row {
		weights := &d.weight[b]
		for k := range per {
			dst[i*per+k] = centroid[i*per+k] + weights[k]
		}
	}
	return nil
}

// Token writes the token's vector: Raw, each component multiplied by InvNorm in float32.
// That product is the reconstruction that searches score, on every backend. A vector of
// zeros stays one. Arguments and errors are those of [Decoder.Raw].
func (d *Decoder) Token(dst []float32, code int64, row []byte) error {
	inv, err := d.InvNorm(dst, code, row)
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] *= inv
	}
	return nil
}

// InvNorm returns 1/max(‖v‖, 1e-12) of the raw vector v, which turns Raw into Token and which
// next-plaid stores for each token: squares added in ascending order, root and quotient, each
// rounded to float32, as it computes them. scratch has dim elements and receives Raw.
func (d *Decoder) InvNorm(scratch []float32, code int64, row []byte) (float32, error) {
	if err := d.Raw(scratch, code, row); err != nil {
		return 0, err
	}
	var sum float32
	for _, v := range scratch {
		sum += float32(v * v) // the conversion keeps the compiler from fusing
	}
	return 1 / max(float32(math.Sqrt(float64(sum))), 1e-12), nil
}

// Half writes the token's vector as fast-plaid computes it, in half precision: sum, norm
// and quotient are each rounded to half, the norm from float32 sums. A vector whose norm
// rounds to 0 stays zero. Arguments and errors are those of [Decoder.Raw].
func (d *Decoder) Half(dst []float32, code int64, row []byte) error {
	if err := d.Raw(dst, code, row); err != nil {
		return err
	}
	per := 8 / d.bits
	centroid := d.centroids[code*int64(d.dim):][:d.dim]
	var sum float32
	for i := range dst {
		weight := d.weight[row[i/per]][i%per]
		v := half(half(centroid[i]) + half(weight))
		dst[i] = v
		sum += float32(v * v)
	}
	norm := half(float32(math.Sqrt(float64(sum))))
	if norm == 0 {
		clear(dst)
		return nil
	}
	for i, v := range dst {
		dst[i] = half(v / norm)
	}
	return nil
}

func half(x float32) float32 { return num.F16ToFloat32(num.F16FromFloat32(x)) }

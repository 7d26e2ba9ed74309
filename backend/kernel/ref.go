package kernel

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/num"
)

// Memory is where a reference finds its operands.
type Memory interface {
	// Read returns the bytes of a view, gaps between rows included.
	Read(v *backend.View) ([]byte, error)
	// Write stores them back.
	Write(v *backend.View, raw []byte) error
}

// Ref gives a float64 reference access to operands of any dtype. The first failure is
// kept; later accesses give zeros and store nothing.
type Ref struct {
	mem     Memory
	abs     bool
	err     error
	status  uint64
	info    Info
	margins map[string]Margin
}

// Margin is what a reference knows of an index it chose: the distance to the runner-up and
// the magnitude that the rounding limit of one candidate scales with.
type Margin struct{ Margin, Scale []float64 }

// NewRef returns access to mem for a kernel.
func NewRef(k Info, mem Memory) *Ref { return &Ref{mem: mem, info: k} }

// Absolute makes Read return magnitudes: the scale of multilinear kernels.
func (r *Ref) Absolute() *Ref { r.abs = true; return r }

// Err is the first failure of an access.
func (r *Ref) Err() error { return r.err }

// Status is the status word that faults combined to.
func (r *Ref) Status() uint64 { return r.status }

// Margins returns what the reference said of an index output.
func (r *Ref) Margins(field string) (Margin, bool) { m, ok := r.margins[field]; return m, ok }

// Margin records, per element of an index output, the margin over the runner-up and the
// magnitude of one candidate.
func (r *Ref) Margin(field string, margin, scale []float64) {
	if r.margins == nil {
		r.margins = map[string]Margin{}
	}
	r.margins[field] = Margin{margin, scale}
}

// Fault records a data error of an operand at an element, as a device body does.
func (r *Ref) Fault(code int, field string, element int64) {
	for i, o := range r.info.Operands() {
		if o.Name == field {
			r.status = max(r.status, StatusWord(code, i, 0, element))
			return
		}
	}
	r.fail(fmt.Errorf("kernel: fault of unknown operand %s", field))
}

func (r *Ref) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Read returns the elements of v, dense and row-major, or nil for an absent view.
func (r *Ref) Read(v *backend.View) []float64 {
	if v.Absent() {
		return nil
	}
	x := make([]float64, v.Elements())
	r.rows(v, func(raw []byte, at, n int64) { codecOf(v.DType).Decode64(x[at:at+n], raw) })
	if r.abs && v.DType.Float() {
		for i := range x {
			if x[i] < 0 {
				x[i] = -x[i]
			}
		}
	}
	return x
}

// Ints returns the elements of an integer view exactly, or nil for an absent view.
func (r *Ref) Ints(v *backend.View) []int64 {
	if v.Absent() {
		return nil
	}
	x := make([]int64, v.Elements())
	r.rows(v, func(raw []byte, at, n int64) { decodeInts(v.DType, x[at:at+n], raw) })
	return x
}

// Write rounds x once to the view's dtype and stores it. An absent view takes nothing.
func (r *Ref) Write(v *backend.View, x []float64) {
	r.store(v, int64(len(x)), func(raw []byte, at, n int64) { codecOf(v.DType).Encode64(raw, x[at:at+n]) })
}

// WriteInts stores integers exactly. An absent view takes nothing.
func (r *Ref) WriteInts(v *backend.View, x []int64) {
	r.store(v, int64(len(x)), func(raw []byte, at, n int64) { encodeInts(v.DType, raw, x[at:at+n]) })
}

// Round is x rounded to dtype t once.
func Round(t backend.DType, x float64) float64 {
	var raw [8]byte
	in, out := [1]float64{x}, [1]float64{}
	c := codecOf(t)
	c.Encode64(raw[:t.Size()], in[:])
	c.Decode64(out[:], raw[:t.Size()])
	return out[0]
}

func (r *Ref) rows(v *backend.View, each func(raw []byte, at, n int64)) {
	if r.err != nil || v.Elements() == 0 {
		return
	}
	raw, err := r.mem.Read(v)
	if err != nil {
		r.fail(err)
		return
	}
	eachRow(v, raw, each)
}

func (r *Ref) store(v *backend.View, n int64, each func(raw []byte, at, n int64)) {
	if v.Absent() || r.err != nil {
		return
	}
	if n != v.Elements() {
		r.fail(fmt.Errorf("kernel: reference writes %d elements to a view of %d", n, v.Elements()))
		return
	}
	if n == 0 {
		return
	}
	raw, err := r.mem.Read(v) // keeps the gaps between rows
	if err == nil {
		eachRow(v, raw, each)
		err = r.mem.Write(v, raw)
	}
	if err != nil {
		r.fail(err)
	}
}

func eachRow(v *backend.View, raw []byte, each func(raw []byte, at, n int64)) {
	size := v.DType.Size()
	if v.Stride == 0 || v.Rank < 2 {
		each(raw, 0, v.Elements())
		return
	}
	n := v.RowElements()
	for i := range v.Dims[0] {
		each(raw[i*v.Stride*size:(i*v.Stride+n)*size], i*n, n)
	}
}

var codecs = [...]*num.Codec{backend.F64: num.F64, backend.F32: num.F32, backend.F16: num.F16, backend.BF16: num.BF16,
	backend.F8E4M3: num.F8E4M3, backend.F8E5M2: num.F8E5M2, backend.I8: num.I8, backend.U8: num.U8, backend.I32: num.I32, backend.I64: num.I64}

func codecOf(t backend.DType) *num.Codec { return codecs[t] }

// Encode rounds src to t into raw, little-endian: len(src) elements.
func Encode(t backend.DType, raw []byte, src []float64) { codecOf(t).Encode64(raw, src) }

// Decode widens raw to dst: len(dst) elements.
func Decode(t backend.DType, dst []float64, raw []byte) { codecOf(t).Decode64(dst, raw) }

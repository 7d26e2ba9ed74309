package metal

import (
	"encoding/binary"
	"math"
	"reflect"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// maxBlock is the bytes of the largest argument block: operands, axes, strides, attributes, and four words.
const maxBlock = 8 * (backend.MaxOperands + backend.MaxAxes + backend.MaxOperands + backend.MaxAttrs + 4)

// floatAttributes lists the attributes that are float64.
func floatAttributes(k kernel.Info) []int {
	var out []int
	for i, a := range k.Attrs() {
		if a.Kind == reflect.Float64 {
			out = append(out, i)
		}
	}
	return out
}

// fillBlock writes the argument block in the order of kernel.Header and returns its bytes. Addresses are 1 or 0, as
// operands are bound by buffer index; float64 attributes are a float in the low 4 bytes, since MSL has no double.
func (v *variant) fillBlock(b []byte, c *backend.Call, scratchBytes int64, tag int) []byte {
	b = b[:0]
	word := func(x uint64) { b = binary.LittleEndian.AppendUint64(b, x) }
	flag := func(set bool) {
		if set {
			word(1)
		} else {
			word(0)
		}
	}
	for i := range c.Operands[:c.NOperand] {
		flag(!c.Operands[i].Absent())
	}
	for _, n := range c.Axes[:c.NAxis] {
		word(uint64(n))
	}
	for _, i := range v.strided {
		word(uint64(c.Operands[i].RowStride()))
	}
	next := 0
	for i, w := range c.Attrs[:c.NAttr] {
		if next < len(v.floats) && v.floats[next] == i {
			next++
			w = backend.Word(math.Float32bits(float32(math.Float64frombits(uint64(w)))))
		}
		word(uint64(w))
	}
	flag(scratchBytes > 0)
	word(uint64(scratchBytes))
	word(1)
	word(uint64(tag))
	return b
}

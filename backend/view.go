package backend

import "strconv"

// DType is an element type.
type DType uint8

// Element types. F8E4M3 is the "fn" form (no infinities, largest 448); F8E5M2 is IEEE-like.
const (
	Invalid DType = iota
	F64
	F32
	F16
	BF16
	F8E4M3
	F8E5M2
	I8
	U8
	I32
	I64
)

var (
	dtypeNames = [...]string{"invalid", "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "u8", "i32", "i64"}
	dtypeSizes = [...]int64{0, 8, 4, 2, 2, 1, 1, 1, 1, 4, 8}
)

// DTypes lists every element type.
func DTypes() []DType {
	return []DType{F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, U8, I32, I64}
}

func (d DType) String() string {
	if int(d) < len(dtypeNames) {
		return dtypeNames[d]
	}
	return "dtype(" + strconv.Itoa(int(d)) + ")"
}

// Size is the bytes of one element, 0 for an invalid type.
func (d DType) Size() int64 {
	if int(d) < len(dtypeSizes) {
		return dtypeSizes[d]
	}
	return 0
}

// Float reports whether the type is a floating-point type.
func (d DType) Float() bool { return d >= F64 && d <= F8E5M2 }

// ParseDType returns the type with this name, or Invalid.
func ParseDType(s string) DType {
	for i, n := range dtypeNames {
		if i > 0 && n == s {
			return DType(i)
		}
	}
	return Invalid
}

// View is a typed window on a buffer: row-major, dense unless the operand declares
// "strided". The zero View means "absent" and is legal for optional operands only.
type View struct {
	Buf    Buffer
	Off    int64 // bytes; a multiple of the element size, and no more is promised
	DType  DType
	Rank   uint8
	Dims   [MaxRank]int64
	Stride int64 // elements between rows (first axis); 0 = dense
}

// NewView makes a dense view.
func NewView(b Buffer, off int64, t DType, dims ...int64) View {
	v := View{Buf: b, Off: off, DType: t, Rank: uint8(len(dims))}
	copy(v.Dims[:], dims)
	return v
}

// Absent reports whether v is the zero View.
func (v *View) Absent() bool { return v.Buf == nil }

// Elements is the number of elements, without the gaps of a stride.
func (v *View) Elements() int64 {
	n := int64(1)
	for i := uint8(0); i < v.Rank && i < MaxRank; i++ {
		n *= v.Dims[i]
	}
	return n
}

// RowElements is the number of elements of one row: the product of all axes but the first.
func (v *View) RowElements() int64 {
	n := int64(1)
	for i := uint8(1); i < v.Rank && i < MaxRank; i++ {
		n *= v.Dims[i]
	}
	return n
}

// RowStride is the elements between rows, resolved: the row length for a dense view.
func (v *View) RowStride() int64 {
	if v.Stride != 0 {
		return v.Stride
	}
	return v.RowElements()
}

// Bytes is the length of the range the view covers, gaps between rows included.
func (v *View) Bytes() int64 {
	n := v.Elements()
	if n == 0 || v.Stride == 0 || v.Rank == 0 {
		return n * v.DType.Size()
	}
	return ((v.Dims[0]-1)*v.Stride + v.RowElements()) * v.DType.Size()
}

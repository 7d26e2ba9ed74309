package kernel

import (
	"encoding/binary"

	"github.com/likbench/likbench/backend"
)

// decodeInts reads integers without a detour over float64, which ends at 2^53.
func decodeInts(t backend.DType, dst []int64, raw []byte) {
	for i := range dst {
		switch t {
		case backend.I64:
			dst[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		case backend.I32:
			dst[i] = int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		case backend.U8:
			dst[i] = int64(raw[i])
		case backend.I8:
			dst[i] = int64(int8(raw[i]))
		}
	}
}

func encodeInts(t backend.DType, raw []byte, src []int64) {
	for i, x := range src {
		switch t {
		case backend.I64:
			binary.LittleEndian.PutUint64(raw[8*i:], uint64(x))
		case backend.I32:
			binary.LittleEndian.PutUint32(raw[4*i:], uint32(x))
		case backend.U8, backend.I8:
			raw[i] = byte(x)
		}
	}
}

package metal

import (
	"encoding/binary"

	"github.com/likbench/likbench/backend/kernel"
)

// The status of a stream on the device: see src/msl/status.h. Metal has no 64-bit atomics, so each (tag, code, operand)
// has a 32-bit slot that holds the complement of the lowest index, and word 0 says whether any was set. The host
// puts the status word of backend/kernel together from them.
const (
	statusCodes    = 16
	statusOperands = 24
	statusTags     = 16 // programs a stream launches between two looks at its status
	statusBytes    = 4 * (1 + statusTags*statusCodes*statusOperands)
)

// statusWord reads and clears the slots: the word with the highest code, then operand, then tag, then the lowest
// index, as the atomic maximum of one 64-bit word would leave; 0 if nothing was reported.
func statusWord(b []byte) uint64 {
	if binary.LittleEndian.Uint32(b) == 0 {
		return 0
	}
	var most uint64
	for slot := 0; slot < statusTags*statusCodes*statusOperands; slot++ {
		at := 4 * (1 + slot)
		x := binary.LittleEndian.Uint32(b[at:])
		if x == 0 {
			continue
		}
		tag, code, operand := slot/(statusCodes*statusOperands), slot/statusOperands%statusCodes, slot%statusOperands
		most = max(most, kernel.StatusWord(code, operand, tag, int64(^x)))
	}
	clear(b[:statusBytes])
	return most
}

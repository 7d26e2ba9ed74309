package kernel

import (
	"fmt"

	"github.com/likbench/likbench/backend"
)

// The status word of a stream is one 64-bit word on the device; 0 means no data error.
// Bodies combine their faults with an atomic maximum, so which one is reported does not
// depend on the order of threads: the highest code, then operand, then tag, then the lowest
// index. An index of 2^40-1 stands for itself and everything beyond:
//
//	code<<60 | operand<<54 | tag<<40 | (2^40-1 - min(index, 2^40-1))
//
// operand is the operand's number in the declaration and tag the backend's number for the
// launched binding, at most MaxTag.
const (
	// FaultOffsets is the code for an offset outside its axis, or decreasing.
	FaultOffsets = faultOffsets
	// MaxTag is the largest tag a status word carries.
	MaxTag = 1<<14 - 1

	faultOffsets = 15
	indexMask    = 1<<40 - 1
)

// StatusWord encodes a data error.
func StatusWord(code, operand, tag int, index int64) uint64 {
	return uint64(code)<<60 | uint64(operand)<<54 | uint64(tag&MaxTag)<<40 | uint64(indexMask-min(max(index, 0), indexMask))
}

// StatusTag extracts the tag: which binding found the error.
func StatusTag(word uint64) int { return int(word>>40) & MaxTag }

// StatusError is the *ArgumentError that a non-zero status word of a kernel stands for.
func StatusError(k Info, word uint64) error {
	code, operand, index := int(word>>60), int(word>>54)&63, int64(indexMask-(word&indexMask))
	e := &backend.ArgumentError{Kernel: k.Name(), Axis: "element", Got: index, Why: fmt.Sprintf("data error %d", code)}
	if ops := k.Operands(); operand < len(ops) {
		e.Operand = ops[operand].Name
	}
	switch f := k.Faults(); {
	case code == faultOffsets:
		e.Why = "offset out of range or decreasing"
	case code >= 1 && code <= len(f):
		e.Why = f[code-1]
	}
	return e
}

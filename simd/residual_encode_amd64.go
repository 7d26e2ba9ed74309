//go:build !noasm

package simd

// encodeAssembly are the units with assembly, best first.
func encodeAssembly() []*encodeUnit { return nil }

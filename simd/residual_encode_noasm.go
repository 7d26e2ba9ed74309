//go:build noasm || (!amd64 && !arm64)

package simd

// encodeAssembly are the units with assembly: none.
func encodeAssembly() []*encodeUnit { return nil }

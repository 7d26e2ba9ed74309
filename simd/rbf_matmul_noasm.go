//go:build noasm || (!amd64 && !arm64)

package simd

// rbfAssembly are the units with assembly: none.
func rbfAssembly() []*rbfUnit { return nil }

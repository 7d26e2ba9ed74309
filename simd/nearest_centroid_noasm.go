//go:build noasm || (!amd64 && !arm64)

package simd

// centroidAssembly are the units with assembly: none.
func centroidAssembly() []*centroidUnit { return nil }

//go:build noasm || (!amd64 && !arm64)

package simd

// kmeansAssembly are the units with assembly: none.
func kmeansAssembly() []*kmeansUnit { return nil }

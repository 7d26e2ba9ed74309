//go:build !noasm

package simd

// kmeansAssembly are the units with assembly, best first.
func kmeansAssembly() []*kmeansUnit { return nil }

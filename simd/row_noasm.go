//go:build noasm || (!amd64 && !arm64)

package simd

// rowAssembly are the units with assembly: none.
func rowAssembly() []*rowUnit { return nil }

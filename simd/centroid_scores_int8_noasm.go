//go:build noasm || (!amd64 && !arm64)

package simd

// int8Assembly are the units with assembly: none.
func int8Assembly() []*int8Unit { return nil }

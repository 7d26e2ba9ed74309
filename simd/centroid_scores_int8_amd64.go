//go:build !noasm

package simd

// int8Assembly are the units with assembly, best first.
func int8Assembly() []*int8Unit { return nil }

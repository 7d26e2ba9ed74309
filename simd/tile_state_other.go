//go:build !linux || !amd64 || noasm

package simd

// tileState: tile registers are used on Linux only, where the system is asked for them.
func tileState() bool { return false }

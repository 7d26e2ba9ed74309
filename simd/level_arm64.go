//go:build !noasm

package simd

// architecture names the assembly of this build, "" for none.
const architecture = "arm64"

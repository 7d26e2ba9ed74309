//go:build noasm || (!amd64 && !arm64)

package simd

// architecture names the assembly of this build, "" for none.
const architecture = ""

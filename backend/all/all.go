// Package all registers every backend and declares every kernel: import it for its side
// effects from commands and tests.
//
//	import _ "github.com/likbench/likbench/backend/all"
package all

import (
	_ "github.com/likbench/likbench/backend/host"
	_ "github.com/likbench/likbench/backend/kernels"
	_ "github.com/likbench/likbench/cuda"
	_ "github.com/likbench/likbench/metal"
	_ "github.com/likbench/likbench/simd"
)

//go:build !darwin

package metal

import "github.com/likbench/likbench/internal/sysmem"

// availableMemory is the bytes the system can give without swapping; 0 = unknown.
func availableMemory() int64 { return sysmem.Available() }

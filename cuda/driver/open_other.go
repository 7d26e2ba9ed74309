//go:build !((linux || windows) && (amd64 || arm64))

package driver

import (
	"runtime"

	"github.com/likbench/likbench/backend"
)

// Open always fails: NVIDIA has no driver for this system.
func Open() (API, error) {
	return nil, &backend.UnavailableError{Backend: "cuda", Reason: "no driver for " + runtime.GOOS + "/" + runtime.GOARCH}
}

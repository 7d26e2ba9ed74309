//go:build !darwin

package mtl

import (
	"runtime"

	"github.com/likbench/likbench/backend"
)

// Open says why there is no Metal here.
func Open() (Driver, error) {
	return nil, &backend.UnavailableError{Backend: "metal", Reason: "Metal exists on macOS only, this is " + runtime.GOOS}
}

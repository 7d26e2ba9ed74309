package host_test

import (
	"testing"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/backend/host"
	_ "github.com/likbench/likbench/backend/kernels"
)

// TestConform runs the reference against itself: it proves the suite's own machinery.
func TestConform(t *testing.T) {
	conform.Run(t, conform.Config{Backend: host.Backend{}, MaxWork: 3e6})
}

// FuzzKernels proves the fuzzing machinery; the other backends' targets prove them.
func FuzzKernels(f *testing.F) { conform.Fuzz(f, conform.Config{Backend: host.Backend{}}) }

package simd_test

import (
	"testing"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/internal/testneed"
	"github.com/likbench/likbench/simd"
)

// TestConform runs the suite at every level of this machine. LIKBENCH_REQUIRE may list a
// level that it must reach.
func TestConform(t *testing.T) {
	for _, l := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512, simd.NEON} {
		t.Run(l.String(), func(t *testing.T) {
			b := simd.New(simd.WithLevel(l), simd.WithWorkers(3))
			if _, err := b.Probe(); err != nil {
				testneed.Skip(t, l.String(), err.Error())
			}
			if l != simd.Detected() { // what a lower level lacks is not missing on the machine
				t.Setenv(testneed.Variable, "")
			}
			conform.Run(t, conform.Config{Backend: b, NoSuite: l != simd.Detected(), MaxWork: 2e7,
				Options: []backend.Option{backend.WithBudget(1 << 32)}})
		})
	}
}

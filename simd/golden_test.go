package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/backend/kernels/goldentest"
	"github.com/likbench/likbench/simd"
)

// TestGolden runs the public vectors at every level of this machine.
func TestGolden(t *testing.T) {
	for _, l := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512, simd.NEON} {
		t.Run(l.String(), func(t *testing.T) {
			b := simd.New(simd.WithLevel(l))
			if _, err := b.Probe(); err != nil {
				t.Skip(err)
			}
			d, err := b.Open(0)
			require.NoError(t, err)
			goldentest.Run(t, d)
			require.NoError(t, d.Close())
		})
	}
}

func FuzzKernels(f *testing.F) { conform.Fuzz(f, conform.Config{Backend: simd.New()}) }

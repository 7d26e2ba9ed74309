//go:build !noasm

package canon

import (
	"math/rand/v2"
	"testing"

	"github.com/likbench/likbench/internal/testneed"
)

// Without the instructions the other tests compare the emulation with itself.
func TestProcessorFuses(t *testing.T) {
	if !useFMA {
		testneed.Skip(t, "avx2", "CPUID and XCR0 do not report AVX with FMA3")
	}
}

// An old processor takes the portable bodies of the same functions.
func TestWithoutFMAGivesTheSameBits(t *testing.T) {
	const nq, n, dim = 6, 37, 136
	r := rand.New(rand.NewPCG(13, 14))
	q, rows := vectors(r, nq*dim, true), vectors(r, n*dim, true)
	want, got := make([]float32, nq*n), make([]float32, nq*n)
	Matrix(want, q, nq, rows, n, dim)
	one := Dot(q[:dim], rows[:dim])

	saved := useFMA
	defer func() { useFMA = saved }()
	useFMA = false
	Matrix(got, q, nq, rows, n, dim)
	requireSameBits(t, want, got, "Matrix")
	requireSameBits(t, []float32{one}, []float32{Dot(q[:dim], rows[:dim])}, "Dot")
}

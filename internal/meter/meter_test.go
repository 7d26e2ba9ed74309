package meter_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/meter"
)

type slices struct{ fail error }

func (s *slices) Allocate(n int64) ([]byte, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	return make([]byte, n), nil
}
func (s *slices) Release([]byte, int64) error { return nil }
func (s *slices) Pooled() int64               { return 7 }

func TestCountsPeakAndBuffers(t *testing.T) {
	m := meter.New("test", &slices{}, 0, 1000)
	a, ta, err := m.Allocate(100)
	require.NoError(t, err)
	require.Len(t, a, 100)
	b, tb, err := m.AllocateScratch(50)
	require.NoError(t, err)
	require.Equal(t, backend.MemoryStats{Live: 150, Peak: 150, Pooled: 7, Scratch: 50, Total: 1000, Buffers: 1}, m.Stats())
	require.NoError(t, m.Release(a, ta))
	require.NoError(t, m.Release(b, tb))
	require.Equal(t, backend.MemoryStats{Peak: 150, Pooled: 7, Total: 1000}, m.Stats())
	require.NoError(t, m.Leak())
}

func TestScopePeaks(t *testing.T) {
	m := meter.New("test", &slices{}, 0, 0)
	_, _, err := m.Allocate(100)
	require.NoError(t, err)
	end := m.PeakScope()
	b, tb, err := m.Allocate(30)
	require.NoError(t, err)
	require.NoError(t, m.Release(b, tb))
	require.EqualValues(t, 30, end())
	require.EqualValues(t, 0, end())
	require.EqualValues(t, 130, m.Stats().Peak)
}

func TestRefusals(t *testing.T) {
	src := &slices{}
	m := meter.New("test", src, 100, 1000)
	_, _, err := m.Allocate(101)
	require.ErrorIs(t, err, backend.ErrBudget)
	require.EqualError(t, err, "test: alloc 101 B: over budget (live 0 B, budget 100 B of 1000 B)")
	for _, budget := range []int64{-1, math.MinInt64} { // what is left of a sum that was used up
		_, _, err = meter.New("test", src, budget, 1000).Allocate(0)
		require.ErrorIs(t, err, backend.ErrBudget)
		require.ErrorContains(t, err, fmt.Sprintf("budget %d B of", budget))
	}
	m = meter.New("test", src, 0, 1000)
	_, _, err = m.Allocate(1001)
	require.ErrorIs(t, err, backend.ErrTooLarge)
	src.fail = backend.ErrOutOfMemory
	_, _, err = m.Allocate(10)
	require.ErrorIs(t, err, backend.ErrOutOfMemory)
	require.EqualValues(t, 0, m.Stats().Live)
	_, _, err = m.Allocate(-1)
	require.ErrorIs(t, err, backend.ErrArgument)
}

func TestLeakListsSizes(t *testing.T) {
	m := meter.New("test", &slices{}, 0, 0)
	for range 10 {
		_, _, err := m.Allocate(2048)
		require.NoError(t, err)
	}
	err := m.Leak()
	var leak *meter.LeakError
	require.True(t, errors.As(err, &leak))
	require.Equal(t, 10, leak.Buffers)
	require.Contains(t, err.Error(), "test: close: 10 buffers still live: 2.0 KiB")
	require.Contains(t, err.Error(), "and 2 more")
}

package pool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/pool"
)

type source struct {
	live, capacity int64
	calls          int
}

func (s *source) Allocate(n int64) (int, error) {
	if s.live+n > s.capacity {
		return 0, backend.ErrOutOfMemory
	}
	s.live += n
	s.calls++
	return s.calls, nil
}
func (s *source) Release(_ int, n int64) error { s.live -= n; return nil }

func TestReuseByClass(t *testing.T) {
	s := &source{capacity: 1 << 20}
	p := pool.New(s, 1<<20)
	a, err := p.Allocate(5000)
	require.NoError(t, err)
	require.NoError(t, p.Release(a, 5000))
	require.Equal(t, pool.ClassSize(5000), p.Pooled())
	b, err := p.Allocate(4999) // same class
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.EqualValues(t, 0, p.Pooled())
}

func TestWasteIsAnEighth(t *testing.T) {
	for n := int64(4097); n < 1<<22; n += 4093 {
		c := pool.ClassSize(n)
		require.GreaterOrEqual(t, c, n)
		require.LessOrEqual(t, c-n, n/8+1, "%d", n)
		require.Equal(t, c, pool.ClassSize(c), "a class is its own class")
	}
	require.EqualValues(t, 512, pool.ClassSize(0))
}

func TestTrimsWhenOutOfMemory(t *testing.T) {
	s := &source{capacity: 3 * 4096}
	p := pool.New(s, 1<<20)
	a, err := p.Allocate(2 * 4096)
	require.NoError(t, err)
	require.NoError(t, p.Release(a, 2*4096))
	_, err = p.Allocate(3 * 4096) // fits only once the cached block is given back
	require.NoError(t, err)
	require.EqualValues(t, 0, p.Pooled())
	_, err = p.Allocate(1)
	require.ErrorIs(t, err, backend.ErrOutOfMemory)
}

func TestLimit(t *testing.T) {
	s := &source{capacity: 1 << 20}
	p := pool.New(s, 1024)
	a, _ := p.Allocate(1024)
	b, _ := p.Allocate(1024)
	require.NoError(t, p.Release(a, 1024))
	require.NoError(t, p.Release(b, 1024))
	require.EqualValues(t, 1024, p.Pooled())
	require.EqualValues(t, 1024, s.live)
	require.NoError(t, p.Trim())
	require.EqualValues(t, 0, s.live)
}

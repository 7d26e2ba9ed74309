package arena_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/arena"
)

func TestGrowKeepsPinnedBlocks(t *testing.T) {
	live := map[int]int64{}
	next := 0
	a := arena.New(func(n int64) (int, error) { next++; live[next] = n; return next, nil },
		func(m int, n int64) error {
			require.Equal(t, n, live[m], "freed with its size, once")
			delete(live, m)
			return nil
		})
	small, err := a.Take(10)
	require.NoError(t, err)
	again, err := a.Take(5)
	require.NoError(t, err)
	require.Same(t, small, again)
	release := a.Pin(small)
	big, err := a.Take(20)
	require.NoError(t, err)
	require.NotSame(t, small, big)
	require.Len(t, live, 2, "the pinned block stays")
	release()
	release()
	require.Len(t, live, 1)
	_, err = a.Take(30)
	require.NoError(t, err)
	require.Len(t, live, 1, "an unpinned block goes when it is outgrown")
	require.NoError(t, a.Close())
	require.Empty(t, live)
}

func TestReleaseAfterClose(t *testing.T) {
	frees := 0
	a := arena.New(func(int64) (int, error) { return 1, nil }, func(int, int64) error { frees++; return nil })
	m, err := a.Take(1)
	require.NoError(t, err)
	release := a.Pin(m)
	require.NoError(t, a.Close())
	release()
	require.Equal(t, 1, frees)
}

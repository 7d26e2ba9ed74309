package filelock

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Take(path)
	require.NoError(t, err)
	_, err = Take(path)
	require.ErrorIs(t, err, ErrHeld)
	require.EqualError(t, err, "process "+strconv.Itoa(os.Getpid())+": held")
	l.Release()
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, []byte("1234567\n"), 0o666)) // of a process that is gone
	l, err = Take(path)
	require.NoError(t, err)
	l.Release()
	_, err = Take(filepath.Join(path, "x"))
	require.Error(t, err)
}

// TestOneHolder: however takers and releases interleave, two never hold the lock at once.
func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holding sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for got := 0; got < 50; {
				l, err := Take(path)
				if err != nil {
					continue
				}
				if !holding.TryLock() {
					t.Error("two holders")
					l.Release()
					return
				}
				got++
				holding.Unlock()
				l.Release()
			}
		})
	}
	wg.Wait()
}

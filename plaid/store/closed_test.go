package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/plaid/format"
)

// TestClosedSnapshot: a closed snapshot is no empty index, and nothing of it ends the process.
func TestClosedSnapshot(t *testing.T) {
	c := sampleCodec(4, 8, 2, 3)
	plain := made(t, c, sampleBlock(1, c, 2, 0, 5))
	for _, dir := range []string{plain, small(t)} {
		s, err := Open(dir)
		require.NoError(t, err)
		var view format.Source = s
		if s.Live() < s.Documents() {
			view, err = s.Compacted()
			require.NoError(t, err)
		}
		s.Lists() // which keeps them
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		ran := false
		require.ErrorIs(t, s.Guard(func() error { ran = true; return nil }), ErrClosed)
		require.False(t, ran)
		_, err = s.Compacted()
		require.ErrorIs(t, err, ErrClosed)
		_, err = s.Decoder()
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, s.ReadCodes(make([]int32, 1), 0), ErrClosed)
		require.ErrorIs(t, s.ReadResiduals(make([]byte, s.RowBytes()), 0), ErrClosed)
		offsets, documents := s.Lists()
		require.Nil(t, offsets)
		require.Nil(t, documents)
		require.Nil(t, s.Centroids())
		require.Nil(t, s.Offsets())
		require.Nil(t, s.Codes())
		require.Nil(t, s.Residuals())
		require.Nil(t, s.InvNorms())
		require.Nil(t, s.IDs())
		for _, src := range []format.Source{s, view} {
			to := filepath.Join(t.TempDir(), "to")
			require.ErrorIs(t, Import(to, src, Options{}), ErrClosed)
			require.NoDirExists(t, to)
			_, err = format.Write(to, format.NextPlaid, src, format.WriteOptions{})
			require.ErrorIs(t, err, ErrClosed)
			require.NoDirExists(t, to)
		}
		w, err := OpenWriter(plain)
		require.NoError(t, err)
		_, err = w.AppendIndex(s)
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, w.Close())
	}
	to := filepath.Join(t.TempDir(), "to")
	m := &format.Memory{Components: 8, Width: 2, Cells: c.Centroids}
	m.Table.Bits, m.Table.Cutoffs, m.Table.Weights = 2, c.Cutoffs, c.Weights
	require.ErrorContains(t, Import(to, m, Options{}), "store: Offsets: none")
	m.DocumentOffsets = []int64{0, 5, 3}
	require.ErrorContains(t, Import(to, m, Options{}), "store: Offsets[2]: 3 after 5")
	require.NoDirExists(t, to)
}

// TestCutWhileCopied: whoever copies an index of which a mapped file is cut short gets an
// error, and leaves neither files nor a lock.
func TestCutWhileCopied(t *testing.T) {
	c := sampleCodec(4, 8, 8, 3)
	lens := make([]int64, 2000)
	for i := range lens {
		lens[i] = 2
	}
	for _, k := range []kind{fileCentroids, fileOffsets, fileCodes, fileResiduals} {
		for _, deleted := range []bool{false, true} {
			dir, other := made(t, c, sampleBlock(1, c, lens...)), made(t, c, sampleBlock(2, c, 1, 2))
			if deleted {
				mark(t, dir, 7)
			}
			s, err := Open(dir)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(s.path(k), 0))
			if s.Guard(func() error { _ = s.data(k)[0]; return nil }) == nil {
				t.Skip("this system keeps the pages of a file that is cut short")
			}
			var view format.Source = s
			if deleted {
				if view, err = s.Compacted(); err != nil {
					require.ErrorIs(t, err, ErrChanged)
					view = s
				}
			}
			for _, src := range []format.Source{s, view} {
				to := filepath.Join(t.TempDir(), "to")
				requireChanged(t, Import(to, src, Options{}), s.path(k))
				require.NoDirExists(t, to)
				_, err = format.Write(to, format.FastPlaid14, src, format.WriteOptions{})
				requireChanged(t, err, s.path(k))
				require.NoDirExists(t, to)
			}
			w, err := OpenWriter(other)
			require.NoError(t, err)
			_, err = w.AppendIndex(s)
			requireChanged(t, err, s.path(k))
			require.NoError(t, w.Close())
			require.Len(t, stateAt(t, other).Documents, 2)
			require.NoError(t, s.Close())
		}
	}
}

func requireChanged(t testing.TB, err error, path string) {
	t.Helper()
	require.ErrorIs(t, err, ErrChanged)
	e := (*Error)(nil)
	require.ErrorAs(t, err, &e)
	require.Equal(t, path, e.File)
}

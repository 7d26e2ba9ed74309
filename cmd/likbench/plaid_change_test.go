package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
)

// TestCutIndex: an index of which a file is cut short while it is carried over or decoded is an
// error, not an end of the process.
func TestCutIndex(t *testing.T) {
	t.Setenv("LIKBENCH_BACKEND", "simd")
	dir := t.TempDir()
	index := filepath.Join(dir, "index")
	ok(t, with(vectorFiles(t, dir, "docs", 6, 9, 12, 14), "build", index)...)
	for _, kind := range []string{"offsets", "centroids", "codes", "residuals"} {
		src, closer, err := openIndex(index)
		require.NoError(t, err)
		d, err := decode(src)
		require.NoError(t, err)
		files, err := filepath.Glob(filepath.Join(index, kind+"-*"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.NoError(t, os.Truncate(files[0], 0))
		if format.Guard(src, func() error { _ = src.Offsets()[0] + int64(src.Centroids()[0]); return nil }) == nil && kind == "offsets" {
			t.Skip("this system keeps the pages of a file that is cut short")
		}
		to := filepath.Join(dir, "to")
		require.ErrorIs(t, importIndex(&bytes.Buffer{}, to, src), store.ErrChanged, kind)
		require.NoDirExists(t, to)
		if _, err := decode(src); kind == "offsets" || kind == "centroids" {
			require.ErrorIs(t, err, store.ErrChanged)
		}
		for _, err := range d.Documents() {
			if kind == "codes" || kind == "residuals" {
				require.ErrorIs(t, err, store.ErrChanged)
			} else {
				require.NoError(t, err)
			}
		}
		require.NoError(t, os.WriteFile(files[0], text, 0o666))
		require.NoError(t, closer.Close())
	}
}

package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzManifest parses any bytes, and the same with a checksum that fits.
func FuzzManifest(f *testing.F) {
	dir := small(f)
	m, err := newest(dir)
	require.NoError(f, err)
	f.Add(m.encode())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, text []byte) {
		for range 2 {
			m, err := parseManifest("x", text)
			if err != nil {
				require.True(t, isProblem(err), "%v", err)
			} else {
				again, err := parseManifest("x", m.encode())
				require.NoError(t, err)
				require.Equal(t, m.encode(), again.encode())
			}
			text = signed(append([]byte(nil), text...))
		}
	})
}

// FuzzFiles opens an index in which the manifest, offsets and lists are as they come.
func FuzzFiles(f *testing.F) {
	dir := filepath.Join(memoryDir(f), "index")
	restore(f, dir, contents(f, small(f)))
	m, err := newest(dir)
	require.NoError(f, err)
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(f, err)
		return text
	}
	paths := []string{manifestName(m.generation), m.file(fileOffsets).name(), m.file(fileLists).name(), m.file(fileCodes).name()}
	f.Add(read(paths[0]), read(paths[1]), read(paths[2]), read(paths[3]))
	f.Fuzz(func(t *testing.T, manifest, offsets, lists, codes []byte) {
		for i, text := range [][]byte{signed(append([]byte(nil), manifest...)), offsets, lists, codes} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, paths[i]), text, 0o666))
		}
		exercise(t, dir)
	})
}

func FuzzNames(f *testing.F) {
	f.Add("codes-7.bin")
	f.Add(manifestName(9))
	f.Fuzz(func(t *testing.T, name string) {
		if g, ok := parseManifestName(name); ok {
			require.Equal(t, name, manifestName(g))
			require.False(t, parseFileName(name))
		}
	})
}

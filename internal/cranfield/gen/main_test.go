package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/internal/testneed"
)

func TestPackRefusesOtherFiles(t *testing.T) {
	raw, out := t.TempDir(), t.TempDir()
	name := cranfield.Sources[0].Name
	require.EqualError(t, pack(out, []string{raw}, name), fmt.Sprintf("%s is in none of [%q]", name, raw))
	require.NoError(t, os.WriteFile(filepath.Join(raw, name), []byte("other"), 0o666))
	require.ErrorIs(t, pack(out, []string{t.TempDir(), raw}, name), cranfield.ErrCorrupt)
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is written")
}

func TestEmbeddedFilesAreReproducible(t *testing.T) {
	const made = "go1.26" // another release may compress otherwise
	if !strings.HasPrefix(runtime.Version(), made) {
		testneed.Skip(t, made, "this is "+runtime.Version()+", and the files were compressed by "+made)
	}
	out := t.TempDir()
	for _, s := range cranfield.Sources {
		require.NoError(t, pack(out, nil, s.Name))
		got, err := os.ReadFile(filepath.Join(out, s.Name+".gz"))
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join("..", "data", s.Name+".gz"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), s.Name)
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/cuda/internal/manifest"
)

// tree is a folder with sources that are compiled for two targets each.
func tree(t *testing.T, sources ...string) (root string) {
	root = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "cuda/src/fam"), 0o755))
	for _, s := range sources {
		code := "// targets: compute_80 compute_89\n// " + s
		require.NoError(t, os.WriteFile(filepath.Join(root, "cuda/src/fam", s+".cu"), []byte(code), 0o644))
	}
	return root
}

func written(t *testing.T, root string) map[string]string {
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(root, "cuda/objects"))
	if errors.Is(err, os.ErrNotExist) {
		return files
	}
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(root, "cuda/objects", e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(data)
	}
	return files
}

func ptx(name, target string) []byte {
	return fmt.Appendf(nil, ".visible .entry %s(\n// for %s\n", manifestStem(name), target)
}

func manifestStem(name string) string { return (&manifest.Source{Name: name}).Stem() }

// TestCompileAllSideBySide: two compilations are under way at once, and what is written is what one after the other
// writes.
func TestCompileAllSideBySide(t *testing.T) {
	sources := []string{"a", "b", "c", "d", "e"}
	want := tree(t, sources...)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var order []string
	require.NoError(t, generate(func(name, _, target string, _ []string) ([]byte, string, error) {
		order = append(order, name)
		return ptx(name, target), "", nil
	}, want, "", "", false))
	require.True(t, slices.IsSorted(order), order)
	require.Len(t, written(t, want), 11)

	runtime.GOMAXPROCS(2)
	got := tree(t, sources...)
	meet := make(chan struct{}) // each waits for one other
	compile := func(name, _, target string, _ []string) ([]byte, string, error) {
		select {
		case meet <- struct{}{}:
		case <-meet:
		}
		return ptx(name, target), "", nil
	}
	require.NoError(t, generate(compile, got, "", "", false))
	require.Equal(t, written(t, want), written(t, got))
	require.NoError(t, generate(compile, got, "", "", true))
}

// TestCompileAllFails: the error is that of the first object in order, even where a later one failed before it; the
// log goes out, nothing is started after it, and nothing is written.
func TestCompileAllFails(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	root := tree(t, "a", "b", "c", "d")
	require.NoError(t, generate(func(name, _, target string, _ []string) ([]byte, string, error) {
		return ptx(name, target), "", nil
	}, root, "", "", false))
	before := written(t, root)

	var mu sync.Mutex
	var started []string
	later := make(chan struct{})
	var log bytes.Buffer
	compile := func(name, _, target string, _ []string) ([]byte, string, error) {
		mu.Lock()
		started = append(started, name+" "+target)
		mu.Unlock()
		switch name + " " + target {
		case "fam/b.cu compute_89":
			<-later
			return nil, "fam/b.cu(1): error: first\n", errors.New("fam/b.cu: compute_89: first")
		case "fam/c.cu compute_80":
			defer close(later)
			return nil, "fam/c.cu(1): error: second\n", errors.New("fam/c.cu: compute_80: second")
		}
		return []byte("other"), "", nil
	}
	err := compileAll(compile, filepath.Join(root, "cuda/src"), []string{"fam/a.cu", "fam/b.cu", "fam/c.cu", "fam/d.cu"}, &log, func(build) {})
	require.EqualError(t, err, "fam/b.cu: compute_89: first")
	require.Equal(t, "fam/b.cu(1): error: first\n", log.String())
	require.Len(t, started, 5, started)

	later = make(chan struct{})
	require.EqualError(t, generate(compile, root, "", "", false), "fam/b.cu: compute_89: first")
	require.Equal(t, before, written(t, root))
}

// TestCompileAllRefuses: a source that cannot be read, and facts that contradict it, are errors that name it.
func TestCompileAllRefuses(t *testing.T) {
	root := tree(t, "a")
	src := filepath.Join(root, "cuda/src")
	made := func(name, _, target string, _ []string) ([]byte, string, error) { return ptx(name, target), "", nil }
	require.ErrorContains(t, compileAll(made, src, []string{"fam/x.cu"}, io.Discard, func(build) {}), "fam/x.cu")
	require.NoError(t, os.WriteFile(filepath.Join(src, "fam/a.cu"), []byte("// targets: compute_80\n// dynamic: other 9\n"), 0o644))
	require.EqualError(t, compileAll(made, src, []string{"fam/a.cu"}, io.Discard, func(build) {}),
		"fam/a.cu: dynamic shared memory stated for other, which compute_80 does not have")
	require.NoError(t, os.WriteFile(filepath.Join(src, "fam/a.cu"), []byte("// targets: sm_80\n"), 0o644))
	require.ErrorContains(t, compileAll(made, src, []string{"fam/a.cu"}, io.Discard, func(build) {}), "fam/a.cu: ")
}

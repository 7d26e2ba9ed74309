// Package link tests how programs that use this module are linked.
package link

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// loader builds a package for linux without cgo and returns the loader it asks for, "" for a
// static program.
func loader(t *testing.T, pkg string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "exe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", exe, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	f, err := elf.Open(exe)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name := make([]byte, p.Filesz-1)
			_, err := p.ReadAt(name, 0)
			require.NoError(t, err)
			return string(name)
		}
	}
	return ""
}

// The README's words: with the drivers the program needs glibc's loader, although cgo is
// off; with simd alone it is static.
func TestLinking(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("programs are built with the go command: " + err.Error())
	}
	require.Equal(t, "/lib64/ld-linux-x86-64.so.2", loader(t, "github.com/likbench/likbench/cmd/likbench"))
	require.Empty(t, loader(t, "./testdata/static"))
}

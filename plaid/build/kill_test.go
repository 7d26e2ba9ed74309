package build

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/testneed"
)

// Where the child of TestKilled builds, and where it dies.
var (
	killDir   = flag.String("kill-dir", "", "of the child process of TestKilled")
	killPoint = flag.String("kill-point", "", "of the child process of TestKilled")
)

// A process that is killed leaves neither a lock nor anything that the next one cannot
// go on from.
func TestKilled(t *testing.T) {
	docs, o := clustered(1, 50, 14, 16), Options{Seed: 7, ChunkTokens: 70, Centroids: 20, Iterations: 3}
	if *killDir != "" {
		o.halt = func(point string) error {
			if point != *killPoint {
				return nil
			}
			self, err := os.FindProcess(os.Getpid())
			require.NoError(t, err)
			require.NoError(t, self.Kill())
			select {}
		}
		_, err := Build(ctx(), fast(t), *killDir, docs, o)
		require.NoError(t, err)
		return
	}
	testneed.Self(t)
	whole := filepath.Join(t.TempDir(), "whole")
	_, err := Build(ctx(), fast(t), whole, docs, o)
	require.NoError(t, err)
	for _, point := range []string{"written centroids", "written chunk-00000002", "before commit"} {
		dir := filepath.Join(t.TempDir(), "x")
		child := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-kill-dir="+dir, "-kill-point="+point)
		var died *exec.ExitError
		require.ErrorAs(t, child.Run(), &died, point)
		require.DirExists(t, filepath.Join(dir, AreaName), point)
		s, err := Build(ctx(), fast(t), dir, docs, o)
		require.NoError(t, err, point)
		require.Equal(t, files(t, whole), files(t, dir), point)
		if point == "written chunk-00000002" {
			require.Equal(t, 2, s.Resumed)
		}
	}
}

// Whatever a file of the area holds, reading it is an error or what was written.
func FuzzRecord(f *testing.F) {
	a := &area{dir: f.TempDir()}
	require.NoError(f, a.write("seed", []byte("one"), nil, []byte{1, 2, 3}))
	raw, err := os.ReadFile(filepath.Join(a.dir, "seed"))
	require.NoError(f, err)
	f.Add(raw)
	f.Add(raw[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := &area{dir: t.TempDir()}
		require.NoError(t, os.WriteFile(filepath.Join(a.dir, "x"), raw, 0o666))
		parts, err := a.read("x", 3)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		require.NoError(t, a.write("x", parts...))
		again, err := os.ReadFile(filepath.Join(a.dir, "x"))
		require.NoError(t, err)
		require.Equal(t, raw, again)
	})
}

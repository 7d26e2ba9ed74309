package format

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/npy"
	"github.com/likbench/likbench/internal/testneed"
)

// TestWrittenByTorch reads an index that torch wrote and compares its vectors with those of
// plain loops (testdata/colbert/generate.py).
func TestWrittenByTorch(t *testing.T) {
	dir := filepath.Join("testdata", "colbert", "index")
	x := opened(t, dir)
	require.Equal(t, ColBERT, x.Flavour())
	require.Empty(t, x.Warnings())
	require.Equal(t, []int64{0, 3, 3, 5, 9}, x.Offsets())
	require.Equal(t, []float32{0.1875}, x.AverageResidual())
	want, err := npy.ReadFile(filepath.Join("testdata", "colbert", "decoded.npy"))
	require.NoError(t, err)
	got := decoded(t, x)
	for i, w := range want.Float64s() {
		require.InDelta(t, w, got[i], 0x1p-23, "component %d", i)
	}
	report, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)

	again := filepath.Join(t.TempDir(), "index")
	done, err := save(again, ColBERT, x, WriteOptions{ChunkDocuments: 3})
	require.NoError(t, err)
	require.Empty(t, done.Rounded)
	y := opened(t, again)
	require.Equal(t, x.Offsets(), y.Offsets())
	require.Equal(t, got, decoded(t, y))
}

// python returns an interpreter that has a module, or skips.
func python(t *testing.T, module string) string {
	t.Helper()
	var reason string
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		// Looking a module up takes a tenth of a second, importing torch several.
		text, err := exec.Command(name, "-c", "import importlib.util as i; assert i.find_spec('"+module+"'), 'no module'").CombinedOutput()
		if err == nil {
			return name
		}
		reason = fmt.Sprintf("%s: %v %.200s", name, err, text)
	}
	testneed.Skip(t, module, reason)
	return ""
}

// TestReadByTorch has torch read what is written here and write it again with NumPy.
func TestReadByTorch(t *testing.T) {
	name := python(t, "torch")
	dir, m := written(t, ColBERT)
	script := `
import sys, numpy as np, torch
d = sys.argv[1] + "/"
load = lambda n: torch.load(d + n)
np.save(d + "c.npy", load("centroids.pt").numpy())
cut, w = load("buckets.pt")
np.save(d + "cut.npy", cut.numpy()); np.save(d + "w.npy", w.numpy())
np.save(d + "codes.npy", torch.cat([load("0.codes.pt"), load("1.codes.pt")]).numpy())
np.save(d + "res.npy", torch.cat([load("0.residuals.pt"), load("1.residuals.pt")]).numpy())
ids, n = load("ivf.pid.pt")
np.save(d + "ids.npy", ids.numpy()); np.save(d + "n.npy", n.numpy())
`
	text, err := exec.Command(name, "-c", script, dir).CombinedOutput()
	require.NoError(t, err, "%s", text)
	read := func(name string) *npy.Array {
		a, err := npy.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return a
	}
	wide := func(v []float32) []float64 {
		out := make([]float64, len(v))
		for i := range v {
			out[i] = float64(v[i])
		}
		return out
	}
	require.Equal(t, wide(m.Cells), read("c.npy").Float64s())
	require.Equal(t, wide(m.Table.Cutoffs), read("cut.npy").Float64s())
	require.Equal(t, wide(m.Table.Weights), read("w.npy").Float64s())
	require.Equal(t, m.Residuals, read("res.npy").Data)
	require.Equal(t, "i4", read("codes.npy").DType)
	lists, err := BuildLists(m)
	require.NoError(t, err)
	for i, code := range m.TokenCodes {
		require.EqualValues(t, code, read("codes.npy").Float64s()[i])
	}
	for i, id := range lists.Documents {
		require.EqualValues(t, id, read("ids.npy").Float64s()[i])
	}
	for c, n := range read("n.npy").Float64s() {
		require.EqualValues(t, lists.Offsets[c+1]-lists.Offsets[c], n)
	}
}

// TestReadByNumPy has NumPy read every header dialect that is written here.
func TestReadByNumPy(t *testing.T) {
	name := python(t, "numpy")
	dir := t.TempDir()
	for dialect, file := range []string{"numpy.npy", "tch.npy", "odd.npy", "patchable.npy"} {
		put(t, dir, file, array(t, npy.Dialect(dialect), "u1", []byte{1, 2, 3, 4, 5, 6}, 2, 3))
	}
	script := `
import sys, glob, numpy as np
for f in sorted(glob.glob(sys.argv[1] + "/*.npy")):
    print(np.load(f).tolist(), np.load(f, mmap_mode="r").dtype)
`
	text, err := exec.Command(name, "-c", script, dir).CombinedOutput()
	require.NoError(t, err, "%s", text)
	line := "[[1, 2, 3], [4, 5, 6]] uint8\n"
	require.Equal(t, line+line+line+line, string(text))
}

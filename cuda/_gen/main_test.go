package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/cuda/internal/manifest"
)

func TestSelected(t *testing.T) {
	for _, c := range []struct {
		only string
		want bool
	}{{"", true}, {"maxsim_naive.cu", true}, {"maxsim_naive", true}, {"maxsim*", true}, {"fam/maxsim_naive.cu", true}, {"softmax", false}, {"naive", false}} {
		require.Equal(t, c.want, selected("fam/maxsim_naive.cu", c.only), c.only)
	}
}

func made(name, hash string) build {
	data := []byte(name + hash)
	s := manifest.Source{Name: "fam/" + name + ".cu", Hash: hash}
	s.Objects = []manifest.Object{{Target: "sm_80", File: name + ".sm_80.cubin.gz", SHA256: manifest.Sum(data), Bytes: len(data)}}
	return build{source: s, data: [][]byte{data}}
}

// TestWriteAll: a partial run keeps the other sources, a source that is gone takes its objects along, and compare
// sees what changed.
func TestWriteAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "objects")
	names := func(n ...string) (out []string) {
		for _, x := range n {
			out = append(out, "fam/"+x+".cu")
		}
		return out
	}
	require.NoError(t, writeAll(dir, []build{made("b", "1"), made("a", "1")}, names("a", "b")))
	require.NoError(t, writeAll(dir, []build{made("a", "2")}, names("a", "b")))
	require.NoError(t, compare(dir, []build{made("a", "2"), made("b", "1")}, true))
	require.EqualError(t, compare(dir, []build{made("b", "2")}, false), "fam/b.cu: committed objects are stale: source hash")
	require.EqualError(t, compare(dir, []build{made("c", "1")}, false), "fam/c.cu is not in the manifest")
	require.EqualError(t, compare(dir, []build{made("b", "1")}, true), "manifest lists 2 sources, the tree has 1")
	other := made("b", "1")
	other.source.Flags = []string{"--fmad=false"}
	require.EqualError(t, compare(dir, []build{other}, false), "fam/b.cu: committed objects are stale: facts in the manifest")
	other = made("b", "1")
	other.source.Objects[0].SHA256 = "x"
	require.EqualError(t, compare(dir, []build{other}, false), "fam/b.cu: committed objects are stale: b.sm_80.cubin.gz")

	require.NoError(t, writeAll(dir, []build{made("c", "1")}, names("a", "c")))
	data, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	require.NoError(t, err)
	m, err := manifest.Parse(data)
	require.NoError(t, err)
	require.Nil(t, m.Source("b"))
	require.NotNil(t, m.Source("a"))
	require.NoFileExists(t, filepath.Join(dir, "b.sm_80.cubin.gz"))
	require.FileExists(t, filepath.Join(dir, "c.sm_80.cubin.gz"))
}

func TestMessages(t *testing.T) {
	require.Equal(t, "x.cu(3): error: no\n", messages("ptxas info    : Used 3 registers\nptxas         .     0 bytes stack frame, 0 bytes spill stores\n\nx.cu(3): error: no\n"))
}

package all_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	_ "github.com/likbench/likbench/backend/all"
	"github.com/likbench/likbench/backend/kernel"
)

// auto tries the backends in this order.
func TestOrder(t *testing.T) {
	var names []string
	for _, b := range backend.All() {
		names = append(names, b.Name())
	}
	require.Equal(t, []string{"cuda", "metal", "simd", "host"}, names)
}

// Whatever the machine, auto opens something and says a line per backend.
func TestAutoNeverFails(t *testing.T) {
	dev, decisions, err := backend.Select("auto")
	require.NoError(t, err)
	require.Len(t, decisions, 4)
	for _, d := range decisions {
		require.NotEmpty(t, d.Reason, d.Backend)
		t.Log(d)
	}
	require.NoError(t, dev.Close())
}

func TestUnknownBackendListsAll(t *testing.T) {
	_, _, err := backend.Select("CUDA")
	require.EqualError(t, err, `backend: unknown backend "CUDA": choose one of auto, cuda, cuda:N, metal, metal:N, simd, simd:N, host, host:N`)
}

// A binding is of a declared instance and occurs once, whatever the machine.
func TestBindingsAreDeclared(t *testing.T) {
	for _, b := range backend.All() {
		seen := map[[2]string]bool{}
		for _, x := range b.Bindings() {
			k, _ := kernel.Find(x.Kernel)
			require.NotNil(t, k, "%s binds %s", b.Name(), x.Kernel)
			id := [2]string{x.Kernel, x.Variant}
			require.False(t, seen[id], "%s binds %v twice", b.Name(), id)
			seen[id] = true
			for axis, size := range x.Tile {
				require.Contains(t, k.Axes(), axis, "%s: tile of %v", b.Name(), id)
				require.Positive(t, size)
			}
		}
	}
}

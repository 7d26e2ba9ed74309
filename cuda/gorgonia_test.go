//go:build gorgonia && linux && (amd64 || arm64)

package cuda

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/conform"
	"github.com/likbench/likbench/cuda/driver/gorgonia"
	"github.com/likbench/likbench/internal/testneed"
)

// TestConformGorgonia is TestConform over gorgonia.org/cu.
func TestConformGorgonia(t *testing.T) {
	conform.Run(t, sanitized(t, widely(t, gorgonia.Open), widely))
}

// TestGorgoniaShared: a device in a context that cu made, on memory that cu allocated, while that context stays
// current on the caller's thread.
func TestGorgoniaShared(t *testing.T) {
	api, err := gorgonia.Open()
	if err != nil {
		testneed.Skip(t, "cuda", err.Error())
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev, err := cu.GetDevice(0)
	require.NoError(t, err)
	ctx, err := dev.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	mem, err := cu.MemAlloc(1024)
	require.NoError(t, err)
	require.NoError(t, cu.MemsetD8(mem, 7, 1024))

	d, err := Share(api, 0, gorgonia.Context(ctx))
	require.NoError(t, err)
	m, err := Borrow(d, gorgonia.Pointer(mem), 1024)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	got := make([]byte, 3)
	require.NoError(t, s.Download(got, m, 1021))
	require.Equal(t, []byte{7, 7, 7}, got, "what cu wrote")
	require.NoError(t, s.Upload(m, 0, []byte("written here")))
	require.NoError(t, s.Sync())
	var back [12]byte
	require.NoError(t, cu.MemcpyDtoH(unsafe.Pointer(&back), mem, 12))
	require.Equal(t, "written here", string(back[:]))
	now, err := cu.CurrentContext()
	require.NoError(t, err)
	require.Equal(t, ctx, now)
	_, err = d.(backend.PinnedAllocator).AllocPinned(64)
	require.NoError(t, err)
	require.NoError(t, m.Free())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	require.NoError(t, cu.MemFree(mem), "the caller's memory is still there")
	require.NoError(t, ctx.Destroy())
}

package driver

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

func TestCheck(t *testing.T) {
	require.NoError(t, Check("cuInit", Success))
	for _, c := range []struct {
		status Status
		is     error
		text   string
	}{
		{OutOfMemory, backend.ErrOutOfMemory, "cuda: f: CUDA_ERROR_OUT_OF_MEMORY (2)"},
		{IllegalAddress, backend.ErrDeviceLost, "cuda: f: CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
		{LaunchFailed, backend.ErrDeviceLost, "cuda: f: CUDA_ERROR_LAUNCH_FAILED (719)"},
		{CaptureUnsupported, backend.ErrCapturing, "cuda: f: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)"},
		{missingSymbol, backend.ErrUnsupported, "cuda: f: missing (-1)"},
		{12345, nil, "cuda: f: CUDA_ERROR_12345 (12345)"},
	} {
		err := Check("f", c.status)
		require.EqualError(t, err, c.text)
		var e *backend.DriverError
		require.ErrorAs(t, err, &e)
		require.Equal(t, int(c.status), e.Code)
		if c.is != nil {
			require.ErrorIs(t, err, c.is)
		}
	}
	require.Equal(t, "error 12345", Status(12345).Words())
	require.False(t, InvalidValue.Lost())
}

// TestResolve: a required function that is missing is named; an optional one is not an error.
func TestResolve(t *testing.T) {
	for i := range symbols {
		require.NotEmpty(t, symbolNames[i], "symbol %d", i)
		table, err := resolve(func(name string) uintptr {
			if name == symbolNames[i] {
				return 0
			}
			return 1
		})
		if i >= required {
			require.NoError(t, err)
			require.Zero(t, table[i])
			continue
		}
		var missing *MissingSymbolError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, symbolNames[i], missing.Symbol)
		require.EqualError(t, err, "cuda: driver lacks "+symbolNames[i]+": too old, or not NVIDIA's")
	}
	seen := map[symbol]bool{}
	for f := range features {
		require.NotEmpty(t, f.String())
		for _, s := range featureSymbols[f] {
			require.GreaterOrEqual(t, s, required)
			seen[s] = true
		}
	}
	require.Len(t, seen, int(symbols-required), "each optional function belongs to a feature")
}

// TestLayouts: what the library reads through addresses has the sizes that cuda.h gives.
func TestLayouts(t *testing.T) {
	require.EqualValues(t, 56, unsafe.Sizeof(launchConfig{}))
	require.EqualValues(t, 32, unsafe.Offsetof(launchConfig{}.stream))
	require.EqualValues(t, 48, unsafe.Offsetof(launchConfig{}.nattrs))
	require.EqualValues(t, 72, unsafe.Sizeof(launchAttr{}))
	require.EqualValues(t, 8, unsafe.Offsetof(launchAttr{}.value))
}

// TestAttributes of a launch that is used again.
func TestAttributes(t *testing.T) {
	k := &Launch{Cluster: [3]uint32{8, 1, 1}, Early: true}
	require.Equal(t, 2, k.attributes())
	require.Equal(t, [2]launchAttr{{id: 4, value: [16]uint32{8, 1, 1}}, {id: 6, value: [16]uint32{1}}}, k.attrs)
	k.Cluster = [3]uint32{}
	require.Equal(t, 1, k.attributes())
	require.Equal(t, launchAttr{id: 6, value: [16]uint32{1}}, k.attrs[0])
	k.Early = false
	require.Zero(t, k.attributes())
}

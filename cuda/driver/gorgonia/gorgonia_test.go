//go:build gorgonia && linux && (amd64 || arm64)

package gorgonia

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

// TestHandles: the handles of cu are one pointer, which is what the conversions rest on.
func TestHandles(t *testing.T) {
	for _, n := range []uintptr{unsafe.Sizeof(cu.CUContext{}), unsafe.Sizeof(cu.Stream{}), unsafe.Sizeof(cu.Event{}),
		unsafe.Sizeof(cu.Module{}), unsafe.Sizeof(cu.Function{})} {
		require.Equal(t, unsafe.Sizeof(uintptr(0)), n)
	}
	require.Equal(t, driver.Stream(42), fromStream(stream(42)))
	require.Equal(t, driver.Event(42), fromEvent(event(42)))
	require.Equal(t, driver.Module(42), fromModule(module(42)))
	require.NotZero(t, function(42))
	require.Equal(t, driver.Context(42), Context(context(42)))
}

func TestStatus(t *testing.T) {
	require.Equal(t, driver.Success, status(nil))
	require.Equal(t, driver.OutOfMemory, status(cu.OutOfMemory))
	require.Equal(t, driver.Unknown, status(errors.New("something else")))
}

// TestOpen: with a stub for the driver, a typed reason.
func TestOpen(t *testing.T) {
	api, err := Open()
	if err == nil {
		require.Equal(t, "gorgonia.org/cu", api.Path())
		return
	}
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

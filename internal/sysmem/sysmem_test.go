package sysmem

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestField(t *testing.T) {
	text := []byte("MemTotal:       16303768 kB\nMemFree:  12 kB\nMemAvailable:    1024 kB\nHugePages_Total:       0\nBad: x kB\n")
	require.EqualValues(t, 1<<20, field(text, "MemAvailable:"))
	require.EqualValues(t, 16303768<<10, field(text, "MemTotal:"))
	for _, name := range []string{"Bad:", "HugePages_Total:", "Absent:"} {
		require.Zero(t, field(text, name), name)
	}
}

func TestAvailable(t *testing.T) {
	if runtime.GOOS == "linux" {
		require.Positive(t, Available())
		require.Greater(t, Total(), Available())
	} else {
		require.Zero(t, Available())
		require.Zero(t, Total())
	}
}

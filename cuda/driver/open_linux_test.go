//go:build amd64 || arm64

package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/testneed"
)

// sharedLibrary compiles C to a library of that path.
func sharedLibrary(t *testing.T, path, code string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		testneed.Skip(t, "gcc", "stubs of the driver are compiled with gcc: "+err.Error())
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	args := append([]string{"-shared", "-fPIC", "-nostdlib", "-x", "c", "-o", path, "-"}, flags...)
	cmd := exec.Command(cc, args...)
	cmd.Stdin = strings.NewReader(code)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// stub has two functions, as the toolkit's has hundreds; cuInit answers status.
func stub(status int) string {
	return fmt.Sprintf("int cuInit(unsigned f){return %d;} int cuDriverGetVersion(int*v){*v=12080;return 0;}", status)
}

// working is a library with every function but those named; cuInit answers status, the driver is of that version
// and sees that many devices.
func working(status, version, devices int, without ...string) string {
	var b strings.Builder
	for _, n := range symbolNames {
		switch n {
		case "cuInit":
			fmt.Fprintf(&b, "int cuInit(unsigned f){return %d;}\n", status)
		case "cuDriverGetVersion":
			fmt.Fprintf(&b, "int %s(int*v){*v=%d;return 0;}\n", n, version)
		case "cuDeviceGetCount":
			fmt.Fprintf(&b, "int %s(int*v){*v=%d;return 0;}\n", n, devices)
		case "cuLaunchKernel":
			// The sum of the grid, the block, the shared memory and the words behind the first parameter.
			fmt.Fprintf(&b, "int %s(void*f,unsigned a,unsigned b,unsigned c,unsigned d,unsigned e,unsigned g,unsigned m,void*s,unsigned long long**p,void**x){"+
				"return a+2*b+4*c+8*d+16*e+32*g+64*m+(int)p[0][1]+(f!=(void*)1)+(s!=(void*)2)+(x!=0);}\n", n)
		default:
			if !strings.Contains(" "+strings.Join(without, " ")+" ", " "+n+" ") {
				fmt.Fprintf(&b, "int %s(void){return 0;}\n", n)
			}
		}
	}
	return b.String()
}

// TestStubFirst: whatever lies in front of the driver, the driver behind it is found, and where there is none the
// reason lists each place with its own cause.
func TestStubFirst(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name, "libcuda.so.1") }
	good := sharedLibrary(t, at("good"), working(0, 12080, 1, "cuLaunchKernelEx"))
	empty, text := at("empty"), at("text")
	require.NoError(t, os.MkdirAll(filepath.Dir(empty), 0o755))
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	require.NoError(t, os.MkdirAll(filepath.Dir(text), 0o755))
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("see /usr/lib\n", 99)), 0o644))
	elf32 := at("elf32")
	require.NoError(t, os.MkdirAll(filepath.Dir(elf32), 0o755))
	require.NoError(t, os.WriteFile(elf32, append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 500)...), 0o644))
	bad := []struct{ path, cause string }{
		{sharedLibrary(t, at("two functions"), stub(34)), "cuInit: a stub of the toolkit, not a driver (34)"},
		{sharedLibrary(t, at("foreign"), stub(0)), "cuda: driver lacks cuDeviceGetCount: too old, or not NVIDIA's"},
		{sharedLibrary(t, at("stub"), working(34, 12080, 1)), "cuInit: a stub of the toolkit, not a driver (34)"},
		{sharedLibrary(t, at("mismatch"), working(803, 12080, 1)), "cuInit: driver library and kernel module do not match (803)"},
		{sharedLibrary(t, at("compat"), working(804, 12080, 1)), "cuInit: compatibility library does not support this card (804)"},
		{sharedLibrary(t, at("fabric"), working(802, 12080, 1)), "cuInit: system not ready: the fabric manager is not running (802)"},
		{sharedLibrary(t, at("unknown"), working(999, 12080, 1)), "cuInit: unknown failure of the driver: reload its kernel module or restart (999)"},
		{sharedLibrary(t, at("none"), working(100, 12080, 1)), "cuInit: no device (100)"},
		{sharedLibrary(t, at("old"), working(0, 11040, 1)), "driver supports CUDA 11.4, needs 12.0"},
		{sharedLibrary(t, at("blind"), working(0, 12080, 0)), "driver sees no device"},
		{sharedLibrary(t, at("lacking"), working(0, 12080, 1, "cuEventRecord")), "cuda: driver lacks cuEventRecord: too old, or not NVIDIA's"},
		{empty, "file too short"},
		{text, "invalid ELF header"},
		{elf32, "wrong ELF class: ELFCLASS32"},
		{at("nowhere"), "cannot open shared object file: No such file or directory"},
	}
	var all []string
	for _, c := range bad {
		api, err := openFirst([]string{c.path, good})
		require.NoError(t, err, c.path)
		require.Equal(t, good, api.Path())
		all = append(all, c.path)
	}
	_, err := openFirst(all)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	var tried *OpenError
	require.ErrorAs(t, err, &tried)
	require.Len(t, tried.Attempts, len(bad))
	for i, c := range bad {
		require.Equal(t, Attempt{Path: c.path, Cause: c.cause}, tried.Attempts[i])
		require.Contains(t, err.Error(), c.path+": "+c.cause)
	}
	api, err := openFirst([]string{good})
	require.NoError(t, err)
	require.False(t, api.Has(LaunchEx), "an optional function that is missing is a flag")
	require.True(t, api.Has(TensorMaps))
	l := &Launch{Cluster: [3]uint32{2, 1, 1}}
	require.Equal(t, missingSymbol, api.Launch(l), "and a status, not a crash, when it is called all the same")
}

// TestCandidates: the loader's path is spelled out, every existing file once; the stub's own name comes last.
func TestCandidates(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	file := filepath.Join(dir, "a", "libcuda.so.1")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "b", "libcuda.so.1")))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(dir, "none")+"::"+filepath.Join(dir, "a")+":"+filepath.Join(dir, "b"))
	c := candidates()
	require.Equal(t, []string{file, "libcuda.so.1"}, c[:2])
	require.Equal(t, "libcuda.so", c[len(c)-1])
	for _, p := range c[:len(c)-1] {
		require.Equal(t, "libcuda.so.1", filepath.Base(p))
	}
}

// TestOpenBehindStub: the loader's path holds a stub, then a driver: Open takes the second.
func TestOpenBehindStub(t *testing.T) {
	dir := t.TempDir()
	sharedLibrary(t, filepath.Join(dir, "stubs", "libcuda.so.1"), stub(34))
	good := sharedLibrary(t, filepath.Join(dir, "real", "libcuda.so.1"), working(0, 12080, 1))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(dir, "stubs")+":"+filepath.Join(dir, "real"))
	api, err := Open()
	require.NoError(t, err)
	require.Equal(t, good, api.Path())
}

// TestNoDriver: Open on a machine without one is a typed reason that names libcuda.so.1.
func TestNoDriver(t *testing.T) {
	api, err := Open()
	if err == nil {
		t.Skip("there is a driver: " + api.Path())
	}
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Contains(t, err.Error(), "libcuda.so.1: ")
}

// TestLibraryCalls: arguments and results of a call into a real library, without Go memory allocated.
func TestLibraryCalls(t *testing.T) {
	path := sharedLibrary(t, filepath.Join(t.TempDir(), "libcuda.so.1"), working(0, 12080, 3))
	api, err := openFirst([]string{path})
	require.NoError(t, err)
	v, s := api.Version()
	require.Equal(t, Success, s)
	require.Equal(t, 12080, v)
	n, s := api.DeviceCount()
	require.Equal(t, Success, s)
	require.Equal(t, 3, n)
	words := new([2]uint64)
	words[1] = 1 << 20
	l := &Launch{Function: 1, Stream: 2, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1}, Shared: 2, Words: 2}
	l.Params[0] = unsafe.Pointer(words)
	require.Equal(t, Status(63+128+1<<20), api.Launch(l))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		api.Push(7)
		api.Launch(l)
		api.Pop()
	}))
}

//go:build amd64 || arm64

package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// candidates are the places of the library, in the order they are tried: the loader's path spelled out, so that
// a stub in front of it does not hide the driver behind; the loader's own search; the folders where WSL and the
// distributions put the driver; and last the name that the toolkit gives its stub.
func candidates() []string {
	const name = "libcuda.so.1"
	var files []string
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if dir != "" {
			files = append(files, filepath.Join(dir, name))
		}
	}
	files = existing(files)
	multiarch := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	var system []string
	for _, dir := range []string{"/usr/lib/wsl/lib", "/usr/lib/" + multiarch, "/usr/lib/" + multiarch + "/nvidia/current",
		"/usr/lib64", "/usr/lib64/nvidia", "/usr/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib"} {
		system = append(system, filepath.Join(dir, name))
	}
	out := append(files, name)
	return append(append(out, existing(system)...), "libcuda.so")
}

// existing keeps the paths that exist, each file once.
func existing(paths []string) []string {
	var out []string
	var seen []os.FileInfo
next:
	for _, p := range paths {
		i, err := os.Stat(p)
		if err != nil {
			continue
		}
		for _, s := range seen {
			if os.SameFile(s, i) {
				continue next
			}
		}
		seen, out = append(seen, i), append(out, p)
	}
	return out
}

type dlLib uintptr

func openLib(path string) (lib, error) {
	// The loader keeps its words for a failure per thread, and Dlopen asks for them in a second call.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), path+": "))
	}
	return dlLib(h), nil
}

func (l dlLib) lookup(name string) uintptr {
	p, err := purego.Dlsym(uintptr(l), name)
	if err != nil {
		return 0
	}
	return p
}

func (l dlLib) close() error { return purego.Dlclose(uintptr(l)) }

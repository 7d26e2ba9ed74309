package sim

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"sync"

	"golang.org/x/sys/cpu"
)

//go:embed shim
var shim embed.FS

// ErrNoCompiler says that the simulator cannot run here; its text names what is missing.
var ErrNoCompiler = errors.New("sim: no clang++-19 or clang++ on PATH")

// compilerNames are tried in order. The shim needs _Float16 and address spaces in C++: clang 17 or newer.
var compilerNames = []string{"clang++-19", "clang++-18", "clang++"}

// compileFlags: contraction off and no excess precision, so that the arithmetic is what the source says.
var compileFlags = []string{"-std=c++17", "-O2", "-ffp-contract=off", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden",
	"-fPIC", "-shared", "-nostdlib++", "--rtlib=compiler-rt", "-Wno-unknown-pragmas", "-Wno-pass-failed",
	"-Xclang", "-ffloat16-excess-precision=none"}

// compiler turns MSL into shared libraries, once per source, in a folder of its own.
type compiler struct {
	path, dir string
	shim      string // folder of the shim, named by its hash: versions of it may share dir
	flags     []string
	mu        sync.Mutex
	built     map[string]string // source hash to library
}

// Available reports why the simulator cannot run on this machine, or nil.
func Available() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return fmt.Errorf("sim: no fiber switch for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	_, err := findCompiler()
	return err
}

func findCompiler() (string, error) {
	for _, n := range compilerNames {
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
	}
	return "", ErrNoCompiler
}

// newCompiler writes the shim to dir; libraries stay there, named by the hash of everything that went into them.
func newCompiler(dir string) (*compiler, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	path, err := findCompiler()
	if err != nil {
		return nil, err
	}
	files, err := shimFiles()
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, name := range sortedKeys(files) {
		fmt.Fprintln(h, name, len(files[name]))
		h.Write(files[name])
	}
	c := &compiler{path: path, dir: dir, built: map[string]string{}, flags: append(slices.Clone(compileFlags), processorFlags()...),
		shim: filepath.Join(dir, "shim-"+hex.EncodeToString(h.Sum(nil)[:8]))}
	if err := os.MkdirAll(c.shim, 0o755); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	for _, name := range sortedKeys(files) {
		if err := replaceFile(filepath.Join(c.shim, name), files[name]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// shimFiles are the embedded headers and the scheduler, by name.
func shimFiles() (map[string][]byte, error) {
	files, err := shim.ReadDir("shim")
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[f.Name()], err = shim.ReadFile("shim/" + f.Name()); err != nil {
			return nil, fmt.Errorf("sim: %w", err)
		}
	}
	return out, nil
}

// processorFlags let fused multiply-adds and half conversions be instructions: the same values, without calls.
func processorFlags() []string {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return []string{"-mavx2", "-mfma", "-mf16c"} // every processor with AVX2 has F16C
	}
	return nil
}

// build returns the path of the shared library for a translated source.
func (c *compiler) build(text string) (string, error) {
	key, err := c.key(text)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.built[key]; ok {
		return p, nil
	}
	lib := filepath.Join(c.dir, key+".so")
	if _, err := os.Stat(lib); err == nil {
		c.built[key] = lib
		return lib, nil
	}
	tmp, err := os.MkdirTemp(c.dir, "cc")
	if err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	defer os.RemoveAll(tmp)
	src, obj := filepath.Join(tmp, "kernels.cc"), filepath.Join(tmp, "out.so")
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	args := append(slices.Clone(c.flags), "-I", c.shim, "-o", obj, src, filepath.Join(c.shim, "runtime.cc"))
	if out, err := exec.Command(c.path, args...).CombinedOutput(); err != nil {
		return "", &CompileError{Log: string(out), Err: err}
	}
	if err := os.Rename(obj, lib); err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	c.built[key] = lib
	return lib, nil
}

// key hashes the source, the shim, the flags and the compiler's identity.
func (c *compiler) key(text string) (string, error) {
	st, err := os.Stat(c.path)
	if err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	h := sha256.New()
	fmt.Fprintln(h, c.path, st.Size(), st.ModTime().UnixNano(), c.flags, filepath.Base(c.shim))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// CompileError is the compiler's verdict on a translated source.
type CompileError struct {
	Log string
	Err error
}

func (e *CompileError) Error() string { return fmt.Sprintf("sim: compile: %v\n%s", e.Err, e.Log) }
func (e *CompileError) Unwrap() error { return e.Err }

// replaceFile writes b by rename, since several test processes may share the folder.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp")
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("sim: %w", err)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// Command _gen compiles the device sources of the cuda backend with the pinned runtime compiler and writes
// the objects and their manifest. fetch.sh brings the compiler.
//
//	go run .                            compile everything below ../src into ../objects
//	go run . -only 'maxsim*'            only these sources (file name or path below src, * allowed), the rest is kept
//	go run . -only x.cu -o /tmp/x       compile elsewhere: check, and see registers and spills
//	go run . -check                     compile everything, write nothing, fail where a committed object differs
//
// As many objects are made at once as there are processors; one that fails ends the run, and nothing is written.
//
// The comment that opens a source may say
//
//	// targets: sm_90a                       default: sm_80 sm_89 sm_90a compute_80 (compute_* is PTX)
//	// flags: --maxrregcount=128             further compiler options
//	// dynamic: maxsim_bf16_wgmma 98304      the most dynamic shared memory, in bytes, that an entry is launched with
//
// Includes by "..." are found beside the including file and below src ("args/maxsim_args.h").
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/likbench/likbench/cuda/internal/manifest"
)

func main() {
	only := flag.String("only", "", "sources to compile, * allowed; default all")
	out := flag.String("o", "", "write here instead of ../objects")
	check := flag.Bool("check", false, "write nothing, compare with ../objects")
	toolkit := flag.String("toolkit", "", "folder that fetch.sh filled; default build/cuda")
	flag.Parse()
	if err := run(*only, *out, *toolkit, *check); err != nil {
		fmt.Fprintln(os.Stderr, "cuda/_gen:", err)
		os.Exit(1)
	}
}

func run(only, out, toolkit string, check bool) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	if toolkit == "" {
		toolkit = filepath.Join(root, "build/cuda")
	}
	compiler, err := openNVRTC(toolkit)
	if err != nil {
		return err
	}
	return generate(compiler.compile, root, only, out, check)
}

// generate compiles the sources of a tree and writes or compares them. Nothing is written before all are compiled.
func generate(compile compiler, root, only, out string, check bool) error {
	src := filepath.Join(root, "cuda/src")
	names, err := manifest.Sources(os.DirFS(src))
	if err != nil {
		return err
	}
	wanted := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !selected(n, only) })
	if len(wanted) == 0 && only != "" {
		return fmt.Errorf("no source matches %q", only)
	}
	var built []build
	err = compileAll(compile, src, wanted, os.Stderr, func(b build) {
		b.print()
		built = append(built, b)
	})
	if err != nil {
		return err
	}
	objects := filepath.Join(root, "cuda/objects")
	switch {
	case check:
		return compare(objects, built, only == "")
	case out != "":
		return writeAll(out, built, nil)
	}
	return writeAll(objects, built, names)
}

// selected reports whether a source's path or file name matches the pattern.
func selected(name, only string) bool {
	base := path.Base(name)
	for _, s := range []string{name, base, strings.TrimSuffix(base, ".cu")} {
		if ok, err := path.Match(path.Base(only), path.Base(s)); only == "" || (err == nil && ok) {
			return true
		}
	}
	return false
}

// writeAll writes objects and manifest below dir. With keep, the sources that it lists and that were not built
// keep their entries; without, the manifest holds the built ones alone. Two runs at once take turns.
func writeAll(dir string, built []build, keep []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	m := &manifest.Manifest{Compiler: "nvrtc " + pinned}
	if data, err := os.ReadFile(filepath.Join(dir, manifest.FileName)); err == nil {
		old, err := manifest.Parse(data)
		if err != nil {
			return err
		}
		for _, s := range old.Sources {
			if slices.Contains(keep, s.Name) && !slices.ContainsFunc(built, func(b build) bool { return b.source.Name == s.Name }) {
				m.Sources = append(m.Sources, s)
			}
		}
	}
	for _, b := range built {
		m.Sources = append(m.Sources, b.source)
		for i, o := range b.source.Objects {
			z, err := manifest.Compress(b.data[i])
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, o.File), z, 0o644); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(m.Sources, func(a, b manifest.Source) int { return strings.Compare(a.Name, b.Name) })
	if err := removeStale(dir, m); err != nil {
		return err
	}
	data, err := m.Encode()
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, "."+manifest.FileName)
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, manifest.FileName))
}

// removeStale deletes objects that no source makes any more.
func removeStale(dir string, m *manifest.Manifest) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil {
		return err
	}
	for _, f := range files {
		listed := slices.ContainsFunc(m.Sources, func(s manifest.Source) bool {
			return slices.ContainsFunc(s.Objects, func(o manifest.Object) bool { return o.File == filepath.Base(f) })
		})
		if listed {
			continue
		}
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

// compare fails for the first source whose facts or objects differ from what is committed.
func compare(dir string, built []build, all bool) error {
	data, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	if err != nil {
		return err
	}
	m, err := manifest.Parse(data)
	if err != nil {
		return err
	}
	if all && len(m.Sources) != len(built) {
		return fmt.Errorf("manifest lists %d sources, the tree has %d", len(m.Sources), len(built))
	}
	for _, b := range built {
		old := m.Source(b.source.Stem())
		if old == nil {
			return fmt.Errorf("%s is not in the manifest", b.source.Name)
		}
		if d := differs(old, &b.source); d != "" {
			return fmt.Errorf("%s: committed objects are stale: %s", b.source.Name, d)
		}
		for i := range old.Objects {
			if _, err := old.Objects[i].Read(os.DirFS(dir)); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d sources: objects are fresh\n", len(built))
	return nil
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if exists(filepath.Join(d, "cuda/src")) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no cuda/src above %s", dir)
		}
	}
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

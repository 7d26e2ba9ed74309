// Command modproxy lays out the files that git tracks here as one version of the module, in
// the form of a file proxy, so that a scratch module can use it as anybody's would: by
// version, from a zip, without a replace. Nested modules are left out, as the go command does.
//
//	go run ./internal/ci/modproxy -out DIR -version v0.0.1    then GOPROXY=file://DIR,…
package main

import (
	"archive/zip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// module is this one's path.
const module = "github.com/likbench/likbench"

// maxZip is the go command's limit on the files of a module.
const maxZip = 500 << 20

func main() {
	out := flag.String("out", "", "folder to write")
	version := flag.String("version", "v0.0.1", "version to claim")
	flag.Parse()
	if *out == "" {
		fmt.Fprintln(os.Stderr, "modproxy: -out is missing")
		os.Exit(2)
	}
	if err := run(*out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "modproxy:", err)
		os.Exit(1)
	}
}

func run(out, version string) error {
	list, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	dir := filepath.Join(out, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	gomod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	if strings.Contains(string(gomod), "\nreplace ") {
		return errors.New("go.mod has a replace: go install module/cmd@version refuses that")
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
		version + ".mod":  string(gomod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	files := outside(strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00"))
	n, bytes, err := pack(filepath.Join(dir, version+".zip"), module+"@"+version+"/", files)
	if err == nil {
		fmt.Printf("modproxy: %d files, %.1f MB\n", n, float64(bytes)/1e6)
	}
	return err
}

// outside drops the files of nested modules.
func outside(files []string) []string {
	nested := map[string]bool{}
	for _, f := range files {
		if path.Base(f) == "go.mod" && f != "go.mod" {
			nested[path.Dir(f)] = true
		}
	}
	var out []string
next:
	for _, f := range files {
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			if nested[d] {
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

func pack(name, prefix string, files []string) (n int, bytes int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := zip.NewWriter(f)
	defer func() { err = errors.Join(err, z.Close()) }()
	for _, file := range files {
		info, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted and not committed
		}
		if err != nil {
			return n, bytes, err
		}
		if !info.Mode().IsRegular() {
			return n, bytes, fmt.Errorf("%s is no plain file", file)
		}
		if n, bytes = n+1, bytes+info.Size(); bytes > maxZip {
			return n, bytes, fmt.Errorf("the module has more than %d bytes", maxZip)
		}
		if err := add(z, prefix, file); err != nil {
			return n, bytes, err
		}
	}
	return n, bytes, nil
}

func add(z *zip.Writer, prefix, file string) error {
	w, err := z.Create(prefix + file)
	if err != nil {
		return err
	}
	r, err := os.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}

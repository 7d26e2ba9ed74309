package mtl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/testneed"
)

// listed is what go list says of one package.
type listed struct {
	ImportPath, Dir   string
	GoFiles, CgoFiles []string
	ImportMap         map[string]string
	Standard, DepOnly bool
	Error             *struct{ Err string }
}

// TestMacdriverTypeChecks type-checks this package as a Mac with cgo and the tag macdriver would compile it, with
// go/types over the sources of darwinkit: a misspelt method is an error here. No Mac, no SDK and no C compiler are
// needed; the C halves of darwinkit are not looked at.
func TestMacdriverTypeChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("short: type-checks 71 packages")
	}
	pkgs, err := list("github.com/likbench/likbench/metal/mtl")
	if err != nil {
		testneed.Skip(t, "darwinkit", err.Error())
	}
	c := &checker{pkgs: pkgs, done: map[string]*types.Package{}, fset: token.NewFileSet()}
	const path = "github.com/likbench/likbench/metal/mtl"
	_, err = c.check(path)
	require.NoError(t, err)
	require.Contains(t, c.files, "macdriver_darwin.go", "the file under test was part of the package")
	require.Greater(t, len(c.done), 40)

	src, err := os.ReadFile("macdriver_darwin.go")
	require.NoError(t, err)
	c.overlay = map[string]string{"macdriver_darwin.go": strings.Replace(string(src), "d.obj.NewCommandQueue()", "d.obj.NewComandQueue()", 1)}
	delete(c.done, path)
	_, err = c.check(path)
	require.ErrorContains(t, err, "NewComandQueue", "a misspelt method is found")
}

// list is go list over the package and what it depends on, for darwin with cgo and the tag.
func list(path string) (map[string]*listed, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,ImportMap,Standard,Error", "-tags", "macdriver", path)
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=1", "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	pkgs := map[string]*listed{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &listed{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		if p.Error != nil && !p.Standard {
			return nil, fmt.Errorf("go list: %s: %s", p.ImportPath, p.Error.Err)
		}
		pkgs[p.ImportPath] = p
	}
}

// checker type-checks packages from source; C is faked.
type checker struct {
	pkgs  map[string]*listed
	done  map[string]*types.Package
	files []string // of the last package checked
	fset  *token.FileSet
	// overlay replaces the text of files of the package under test, by base name.
	overlay map[string]string
}

func (c *checker) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return c.check(path)
}

func (c *checker) check(path string) (*types.Package, error) {
	if p := c.done[path]; p != nil {
		return p, nil
	}
	l := c.pkgs[path]
	if l == nil {
		return nil, fmt.Errorf("%s was not listed", path)
	}
	c.files = nil
	var asts []*ast.File
	for _, name := range append(append([]string{}, l.GoFiles...), l.CgoFiles...) {
		var text any // nil = read the file
		if o, ok := c.overlay[name]; ok {
			text = o
		}
		f, err := parser.ParseFile(c.fset, filepath.Join(l.Dir, name), text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		asts = append(asts, f)
	}
	var errs []error
	conf := types.Config{Importer: c, FakeImportC: true, Sizes: types.SizesFor("gc", "arm64"), IgnoreFuncBodies: l.Standard,
		Error: func(err error) { errs = append(errs, err) }}
	p, err := conf.Check(path, c.fset, asts, nil)
	if l.Standard {
		err, errs = nil, nil // the standard library's own assembly and linknames are not our business
	}
	if err != nil {
		return nil, errors.Join(errs...)
	}
	c.done[path] = p
	c.files = append(append([]string{}, l.GoFiles...), l.CgoFiles...)
	return p, nil
}

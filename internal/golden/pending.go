package golden

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const importPath = "github.com/likbench/likbench/internal/golden"

// Covered is what the tests of a module claim.
type Covered struct {
	Claims []Claim
	Files  []string // "area/name" of the files read through File
}

// Scan collects every [Claim] literal and every call of [File] in the Go files below
// module that import this package: test files, and packages that only tests import. A claim that is not a literal of constant strings is an error that
// names its position.
func Scan(module string) (Covered, error) {
	var found Covered
	err := filepath.WalkDir(module, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := name != module && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") ||
				d.Name() == "testdata" || d.Name() == "build" || d.Name() == "vendor")
			if skip {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		return found.scanFile(name)
	})
	if err != nil {
		return Covered{}, fmt.Errorf("golden: %w", err)
	}
	return found, nil
}

func (v *Covered) scanFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(importPath)) {
		return nil // not worth parsing
	}
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	local, ok := localName(file)
	if !ok {
		return nil
	}
	var failure error
	ast.Inspect(file, func(n ast.Node) bool {
		var err error
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isSelector(n.Type, local, "Claim") {
				var c Claim
				c, err = claimOf(n)
				v.Claims = append(v.Claims, c)
			}
		case *ast.CallExpr:
			if isSelector(n.Fun, local, "File") && len(n.Args) == 3 {
				var area, name string
				if area, err = constant(n.Args[1]); err == nil {
					name, err = constant(n.Args[2])
				}
				v.Files = append(v.Files, path.Join(area, name))
			}
		}
		if err != nil && failure == nil {
			failure = fmt.Errorf("%s: %w", positions.Position(n.Pos()), err)
		}
		return failure == nil
	})
	return failure
}

// localName is how the file calls this package.
func localName(file *ast.File) (string, bool) {
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == importPath {
			if spec.Name != nil {
				return spec.Name.Name, true
			}
			return "golden", true
		}
	}
	return "", false
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func claimOf(lit *ast.CompositeLit) (Claim, error) {
	var c Claim
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return c, errors.New("claim without field names")
		}
		var err error
		switch field := kv.Key.(*ast.Ident).Name; field {
		case "Area":
			c.Area, err = constant(kv.Value)
		case "Op":
			c.Op, err = constant(kv.Value)
		case "When":
			c.When, err = constants(kv.Value)
		case "Arrays":
			c.Arrays, err = constants(kv.Value)
		default:
			err = fmt.Errorf("claim with unknown field %s", field)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func constant(e ast.Expr) (string, error) {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		return strconv.Unquote(lit.Value)
	}
	return "", errors.New("a golden claim must be written with string literals")
}

func constants(e ast.Expr) ([]string, error) {
	if id, ok := e.(*ast.Ident); ok && id.Name == "nil" {
		return nil, nil
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil, errors.New("a golden claim must be written with string literals")
	}
	var out []string
	for _, e := range lit.Elts {
		s, err := constant(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// Pending lists what no test covers: a line for each operation with uncovered cases
// or arrays, and one for each file of an area without manifest that no test reads.
func Pending(root string, found Covered) ([]string, error) {
	names, err := Areas(root)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, name := range names {
		a, err := OpenArea(root, name)
		if errors.Is(err, os.ErrNotExist) {
			more, err := pendingFiles(root, name, found.Files)
			if err != nil {
				return nil, err
			}
			lines = append(lines, more...)
			continue
		}
		if err != nil {
			return nil, err
		}
		gaps, err := a.Gaps(found.Claims)
		if err != nil {
			return nil, err
		}
		for _, g := range gaps {
			lines = append(lines, g.String())
		}
	}
	return lines, nil
}

// String is the gap as one line of the pending list.
func (g Gap) String() string {
	var parts []string
	if len(g.Cases) > 0 {
		parts = append(parts, fmt.Sprintf("%d cases", len(g.Cases)))
	}
	if len(g.Arrays) > 0 {
		parts = append(parts, "arrays "+strings.Join(g.Arrays, " "))
	}
	return fmt.Sprintf("%s %s: %s", g.Area, g.Op, strings.Join(parts, ", "))
}

func pendingFiles(root, area string, read []string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, area))
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	var lines []string
	found := false
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		found = true
		if !slices.Contains(read, path.Join(area, e.Name())) {
			lines = append(lines, fmt.Sprintf("%s: file %s", area, e.Name()))
		}
	}
	if !found {
		return nil, &Error{Area: area, File: filepath.Join(root, area), Err: errors.New("neither manifest.json nor other JSON files")}
	}
	return lines, nil
}

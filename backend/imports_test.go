package backend_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The direction of dependency, as a test. It reads import declarations, so that it needs no
// tool, and sees the files of every system and build tag at once.

const module = "github.com/likbench/likbench"

// rule is a sentence about the packages from: of the module's packages their files may
// import what only lists, or, where it is nil, anything but what never lists. A pattern is
// a path below the module, with "/..." for everything below too. Test files are free.
type rule struct {
	from  string
	only  []string
	never []string
	why   string
}

var rules = []rule{
	{from: "backend", only: []string{}, why: "the contract stands on the standard library alone"},
	{from: "backend/num", only: []string{}, why: "conversions stand on the standard library alone"},
	{from: "backend/canon", only: []string{}, why: "canonical arithmetic stands on the standard library alone"},
	{from: "backend/kernel", only: []string{"backend", "backend/num"}, why: "declarations know the contract, no kernel and no backend"},
	{from: "backend/kernels", only: []string{"backend", "backend/canon", "backend/kernel"}, why: "kernels are declared without knowing who runs them"},
	{from: "backend/harness", only: []string{"backend", "backend/kernel"}, why: "the harness reaches kernels through kernel.All"},
	{from: "backend/host", only: []string{"backend", "backend/kernel", "internal/meter", "internal/sysmem"}, why: "the reference backend knows kernels through kernel.All"},
	{from: "simd/...", never: []string{"cuda/...", "metal/...", "backend/host", "backend/all"}, why: "backends never import one another: what two of them share goes to internal"},
	{from: "cuda/...", never: []string{"simd/...", "metal/...", "backend/host", "backend/all"}, why: "backends never import one another: what two of them share goes to internal"},
	{from: "metal/...", never: []string{"simd/...", "cuda/...", "backend/host", "backend/all"}, why: "backends never import one another: what two of them share goes to internal"},
	{from: "backend/...", never: []string{"plaid/...", "benchsuite/...", "cmd/..."}, why: "arrows never point up"},
	{from: "simd/...", never: []string{"backend/harness", "plaid/...", "benchsuite/...", "cmd/..."}, why: "arrows never point up"},
	{from: "cuda/...", never: []string{"backend/harness", "plaid/...", "benchsuite/...", "cmd/..."}, why: "arrows never point up"},
	{from: "metal/...", never: []string{"backend/harness", "plaid/...", "benchsuite/...", "cmd/..."}, why: "arrows never point up"},
	{from: "plaid/...", never: []string{"simd/...", "cuda/...", "metal/...", "backend/host", "backend/all"}, why: "plaid receives a device and knows no backend by name"},
	{from: "plaid/...", never: []string{"backend/harness", "benchsuite/...", "cmd/..."}, why: "arrows never point up"},
	{from: "benchsuite/...", never: []string{"simd/...", "cuda/...", "metal/...", "backend/host", "backend/all", "cmd/..."}, why: "the suite measures the device it is given"},
	{from: "internal/...", never: []string{"backend/all", "simd/...", "cuda/...", "metal/...", "benchsuite/...", "cmd/..."}, why: "internal packages are below what uses them"},
}

// importers are packages that only some may import: matched by pattern, test files free.
var importers = map[string]struct {
	by  []string
	why string
}{
	"backend/all":        {[]string{"cmd/..."}, "whoever takes every backend is a command: libraries receive a device"},
	"internal/cranfield": {[]string{"cmd/likbench", "internal/cranfield/..."}, "the collection would add megabytes to every application"},
}

// testOnly are packages that non-test files may not import, except one another. They may
// import testing and testify.
var testOnly = []string{"backend/conform", "backend/kernels/goldentest", "cuda/driver/fake", "internal/golden", "internal/testneed", "metal/internal/sim", "metal/mtl/fake"}

// external lists the modules that may be imported, by whom outside test files, and why.
// What no pattern of by matches is kept out of what applications import.
var external = map[string]struct {
	by  []string
	why string
}{
	"github.com/ebitengine/purego":      {[]string{"cuda/driver", "metal/..."}, "opens driver libraries at run time without cgo"},
	"github.com/google/renameio":        {[]string{"cmd/likbench"}, "writes files whole or not at all"},
	"github.com/klauspost/cpuid":        {[]string{"simd"}, "detects instruction sets with the state that the system saves"},
	"github.com/nlpodyssey/safetensors": {[]string{"cmd/likbench"}, "headers of safetensors files"},
	"github.com/progrium/darwinkit":     {[]string{"metal/mtl"}, "the second Metal binding, behind the tag macdriver"},
	"github.com/schollz/progressbar":    {[]string{"cmd/likbench"}, "progress on a terminal; nothing that applications import may draw"},
	"github.com/spf13/cobra":            {[]string{"cmd/likbench"}, "command lines"},
	"github.com/stretchr/testify":       {testOnly, "assertions of tests"},
	"github.com/vcaesar/cedar":          {[]string{"plaid/wordpiece"}, "the trie of the vocabulary"},
	"golang.org/x/perf":                 {[]string{"benchsuite"}, "the text form that benchstat reads"},
	"golang.org/x/sys":                  {[]string{"cuda/...", "internal/filelock", "metal/...", "plaid/..."}, "system calls that the standard library lacks"},
	"golang.org/x/term":                 {[]string{"cmd/likbench"}, "whether standard error is a terminal"},
	"golang.org/x/text":                 {[]string{"plaid/wordpiece", "benchsuite/retrieval"}, "Unicode normalisation and case folding"},
	"gorgonia.org/cu":                   {[]string{"cuda/driver/gorgonia"}, "the second CUDA binding, behind the tag gorgonia"},
}

// edge is one import of a file.
type edge struct {
	pkg, file string // package path below the module; file name
	path      string // as imported
	test      bool
}

// matches reports whether a package is one of the patterns.
func matches(pkg string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if below, ok := strings.CutSuffix(p, "/..."); ok {
			return pkg == below || strings.HasPrefix(pkg, below+"/")
		}
		return pkg == p
	})
}

// forbidden says what is wrong with an edge, or "".
func forbidden(e edge) string {
	target, inside := strings.CutPrefix(e.path, module+"/")
	switch {
	case inside:
		return forbiddenInside(e, target)
	case strings.Contains(strings.Split(e.path, "/")[0], "."):
		return forbiddenOutside(e)
	case e.path == "testing" && !e.test && !matches(e.pkg, testOnly):
		return "only tests and packages for tests import testing"
	}
	return ""
}

func forbiddenInside(e edge, target string) string {
	if e.test {
		return ""
	}
	if matches(target, testOnly) && !matches(e.pkg, testOnly) {
		return target + " is for tests"
	}
	if who, ok := importers[target]; ok && !matches(e.pkg, who.by) {
		return who.why
	}
	for _, r := range rules {
		if !matches(e.pkg, []string{r.from}) || matches(e.pkg, testOnly) || e.pkg == "backend/all" {
			continue
		}
		if r.only != nil && !matches(target, r.only) || matches(target, r.never) {
			return r.why
		}
	}
	return ""
}

func forbiddenOutside(e edge) string {
	for m, x := range external {
		if e.path != m && !strings.HasPrefix(e.path, m+"/") {
			continue
		}
		if e.test || matches(e.pkg, x.by) {
			return ""
		}
		return fmt.Sprintf("%s is for %s: %s", m, strings.Join(x.by, ", "), x.why)
	}
	return "a module without a line in the list of external modules and its reason"
}

// moduleRoot is the folder of go.mod above the test, or "" in a vendored or copied tree.
func moduleRoot(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		first, _, _ := strings.Cut(string(text), "\n")
		if err == nil && strings.TrimSpace(first) == "module "+module {
			return dir
		}
		if err == nil || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// edges reads the imports of every Go file of the module.
func edges(t *testing.T, root string) []edge {
	var out []edge
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" || d.Name() == "vendor"
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if name != root && (hidden || nested == nil) || name == filepath.Join(root, "build") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			out = append(out, edge{filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel), path, strings.HasSuffix(name, "_test.go")})
		}
		return nil
	}))
	return out
}

func TestImports(t *testing.T) {
	root := moduleRoot(t)
	if root == "" {
		t.Skip("imports: not inside the module's own tree: a vendored copy has no go.mod")
	}
	var errs []error
	used := map[string]bool{}
	for _, e := range edges(t, root) {
		if why := forbidden(e); why != "" {
			errs = append(errs, fmt.Errorf("%s imports %s: %s", e.file, strings.TrimPrefix(e.path, module+"/"), why))
		}
		used[e.path] = true
	}
	require.NoError(t, errors.Join(errs...))
	require.True(t, used[module+"/backend"], "no imports were found")
	for m, x := range external {
		found := false
		for path := range used {
			found = found || path == m || strings.HasPrefix(path, m+"/")
		}
		require.True(t, found, "%s (%s) is listed but nothing imports it", m, x.why)
	}
}

// Every rule has an edge that breaks it, and says so in its own sentence.
func TestForbiddenEdges(t *testing.T) {
	in := func(pkg, target string) edge { return edge{pkg: pkg, path: module + "/" + target} }
	for _, c := range []struct {
		e   edge
		why string
	}{
		{in("backend", "backend/kernel"), "the contract stands on the standard library alone"},
		{in("backend/kernel", "backend/kernels"), "declarations know the contract, no kernel and no backend"},
		{in("backend/kernels", "backend/harness"), "kernels are declared without knowing who runs them"},
		{in("backend/harness", "backend/kernels"), "the harness reaches kernels through kernel.All"},
		{in("backend/harness", "simd"), "the harness reaches kernels through kernel.All"},
		{in("backend/host", "backend/kernels"), "the reference backend knows kernels through kernel.All"},
		{in("backend/later", "plaid"), "arrows never point up"},
		{in("simd", "cuda/driver"), "backends never import one another: what two of them share goes to internal"},
		{in("cuda", "metal"), "backends never import one another: what two of them share goes to internal"},
		{in("metal/mtl", "simd"), "backends never import one another: what two of them share goes to internal"},
		{in("cuda", "backend/harness"), "arrows never point up"},
		{in("plaid", "simd"), "plaid receives a device and knows no backend by name"},
		{in("plaid/codec", "benchsuite"), "arrows never point up"},
		{in("benchsuite", "backend/host"), "the suite measures the device it is given"},
		{in("internal/pool", "cuda"), "internal packages are below what uses them"},
		{in("plaid", "backend/all"), "whoever takes every backend is a command: libraries receive a device"},
		{in("plaid", "internal/cranfield"), "the collection would add megabytes to every application"},
		{in("cmd/likdocs", "internal/cranfield"), "the collection would add megabytes to every application"},
		{in("benchsuite", "backend/conform"), "backend/conform is for tests"},
		{in("cuda", "cuda/driver/fake"), "cuda/driver/fake is for tests"},
		{edge{pkg: "benchsuite", path: "testing"}, "only tests and packages for tests import testing"},
		{edge{pkg: "plaid", path: "github.com/spf13/cobra"}, "github.com/spf13/cobra is for cmd/likbench: command lines"},
		{edge{pkg: "simd", path: "github.com/stretchr/testify/require"}, "github.com/stretchr/testify is for " + strings.Join(testOnly, ", ") + ": assertions of tests"},
		{edge{pkg: "cmd/likbench", path: "github.com/spf13/viper"}, "a module without a line in the list of external modules and its reason"},
		{edge{pkg: "cmd/likbench", path: "gonum.org/v1/plot", test: true}, "a module without a line in the list of external modules and its reason"},
		{in("backend/all", "simd"), ""},
		{in("cmd/likbench", "backend/all"), ""},
		{in("cmd/likbench", "internal/cranfield"), ""},
		{in("backend/conform", "internal/testneed"), ""},
		{edge{pkg: "backend/conform", path: "testing"}, ""},
		{edge{pkg: "backend", path: "strings"}, ""},
		{edge{pkg: "simd", path: "github.com/klauspost/cpuid/v2"}, ""},
		{edge{pkg: "simd", path: module + "/cuda", test: true}, ""},
		{edge{pkg: "simd", path: "github.com/stretchr/testify/require", test: true}, ""},
	} {
		require.Equal(t, c.why, forbidden(c.e), "%s → %s", c.e.pkg, c.e.path)
	}
}

package golden

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/npy"
)

// TestGoldenPending reads every case of every area and prints what no test covers.
func TestGoldenPending(t *testing.T) {
	root := Root(t)
	found, err := Scan(moduleRoot(t))
	require.NoError(t, err)
	names, err := Areas(root)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(root, name, "manifest.json")); err != nil {
			continue // an area of JSON files, which its own test reads
		}
		a, err := OpenArea(root, name)
		require.NoError(t, err)
		for i := range a.Cases {
			_, err := a.Load(i)
			require.NoError(t, err)
		}
	}
	lines, err := Pending(root, found)
	require.NoError(t, err)
	for _, line := range lines {
		t.Log("pending: " + line)
	}
}

const small = `{"area": "a", "count": 2, "cases": [
 {"name": "one", "op": "add", "attributes": {"n": 2, "tie": "low", "on": true}, "input_precision": "float32", "source": "s", "note": "n", "arrays": {
  "x": {"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "input"},
  "y": {"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "output"},
  "grad_x": {"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "output"},
  "grad_y": {"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "input"}}},
 {"name": "two", "op": "sub", "arrays": {
  "x": {"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "aux"},
  "d_y": {"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "upstream"},
  "grad_x": {"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "grad"}}}]}`

// area writes an area "a" and returns the folder it lies in.
func area(t *testing.T, manifest string) string {
	root := t.TempDir()
	dir := filepath.Join(root, "a")
	require.NoError(t, os.Mkdir(dir, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o666))
	header := "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}"
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	file = append(append(file, header...), 3, 4)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "one.x.npy"), file, 0o666))
	return root
}

func TestBothManifestForms(t *testing.T) {
	a, err := OpenArea(area(t, small), "a")
	require.NoError(t, err)
	kinds := func(i int) map[string]Kind {
		c, err := a.Load(i)
		require.NoError(t, err)
		out := map[string]Kind{}
		for name, array := range c.Arrays {
			out[name] = array.Kind
		}
		return out
	}
	require.Equal(t, map[string]Kind{"x": Input, "y": Output, "grad_x": Gradient, "grad_y": Upstream}, kinds(0))
	require.Equal(t, map[string]Kind{"x": Aux, "d_y": Upstream, "grad_x": Gradient}, kinds(1))
	require.Equal(t, "input upstream output gradient aux", fmt.Sprint(Input, Upstream, Output, Gradient, Aux))
}

func TestCaseAccess(t *testing.T) {
	t.Setenv(Variable, area(t, small))
	ran := false
	Run(t, Claim{Area: "a", Op: "add", When: []string{"tie=low", "n!=3", "other="}, Arrays: []string{"x", "y", "absent"}},
		func(t *testing.T, c *Case) {
			ran = true
			require.Equal(t, []float64{3, 4}, c.Floats(t, "x"))
			require.Equal(t, []int64{3, 4}, c.Ints(t, "y"))
			require.Equal(t, 2, c.Int(t, "n"))
			require.Equal(t, 2.0, c.Float(t, "n"))
			require.True(t, c.Bool(t, "on"))
			require.Equal(t, "low", c.Attribute("tie"))
			require.Equal(t, "true", c.Attribute("on"))
			require.Equal(t, "", c.Attribute("other"))
			require.True(t, c.Has("grad_x"))
			require.False(t, c.Has("z"))
		})
	require.True(t, ran)
}

func TestErrorsNameFileAndArray(t *testing.T) {
	replace := func(old, new string) string {
		root := area(t, small)
		text := []byte(small)
		at := strings.Index(small, old)
		require.GreaterOrEqual(t, at, 0, old)
		text = append(append(append([]byte{}, text[:at]...), new...), small[at+len(old):]...)
		require.NoError(t, os.WriteFile(filepath.Join(root, "a", "manifest.json"), text, 0o666))
		return root
	}
	for _, c := range []struct{ old, new, want string }{
		{`"file": "one.x.npy", "dtype": "uint8", "shape": [2], "role": "input"},`, `"file": "gone.npy", "dtype": "uint8", "shape": [2], "role": "input"},`, "golden: a/one.x (gone.npy): npy: open"},
		{`"shape": [2], "role": "input"`, `"shape": [3], "role": "input"`, "golden: a/one.x (one.x.npy): does not match the manifest: shape [2], manifest [3]"},
		{`"uint8", "shape": [2], "role": "input"`, `"float32", "shape": [2], "role": "input"`, `golden: a/one.x (one.x.npy): does not match the manifest: type u1, manifest "float32"`},
		{`"role": "input"`, `"role": "inptu"`, `golden: a/one.x (one.x.npy): unknown role "inptu"`},
		{`"one.x.npy"`, `"../one.x.npy"`, `golden: a/one.x (../one.x.npy): file name "../one.x.npy" is not inside the area's folder`},
	} {
		a, err := OpenArea(replace(c.old, c.new), "a")
		require.NoError(t, err, c.want)
		_, err = a.Load(0)
		require.ErrorContains(t, err, c.want)
		var ge *Error
		require.ErrorAs(t, err, &ge)
		require.Equal(t, "one", ge.Case)
		require.Equal(t, "x", ge.Array)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"count": 2`, `"count": 3`, "manifest counts 3 cases and has 2"},
		{`"name": "two"`, `"name": "one"`, `case "one" occurs twice`},
		{`"op": "sub", `, ``, "case 1 lacks name or op"},
		{`"area": "a"`, `"area": "b"`, `manifest is of area "b"`},
		{`{"area"`, `{area"`, "invalid character"},
	} {
		_, err := OpenArea(replace(c.old, c.new), "a")
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "golden: a (")
	}
	_, err := OpenArea(t.TempDir(), "a")
	require.ErrorIs(t, err, ErrNoArea)
}

func TestDamagedArrayFails(t *testing.T) {
	root := area(t, small)
	name := filepath.Join(root, "a", "one.x.npy")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, text[:len(text)-1], 0o666))
	a, err := OpenArea(root, "a")
	require.NoError(t, err)
	_, err = a.Load(0)
	var fe *npy.FormatError
	require.ErrorAs(t, err, &fe)
	require.Equal(t, "truncated data: 1 of 2 bytes", fe.Reason)
}

func TestReadsMustEqualTheClaim(t *testing.T) {
	c := &Case{Arrays: map[string]*Array{"x": {}, "y": {}}, read: map[string]bool{"x": true}}
	failed := func(claimed ...string) bool {
		set := map[string]bool{}
		for _, name := range claimed {
			set[name] = true
		}
		inner := &testing.T{}
		c.checkReads(inner, set)
		return inner.Failed()
	}
	require.False(t, failed("x"))
	require.False(t, failed("x", "z"))
	require.True(t, failed("x", "y"))
	require.True(t, failed())
}

func TestGaps(t *testing.T) {
	a, err := OpenArea(area(t, small), "a")
	require.NoError(t, err)
	gaps, err := a.Gaps([]Claim{
		{Area: "a", Op: "add", When: []string{"on=true"}, Arrays: []string{"x"}},
		{Area: "a", Op: "add", Arrays: []string{"y"}},
		{Area: "b", Op: "sub"},
		{Area: "a", Op: "sub", When: []string{"on=true"}},
	})
	require.NoError(t, err)
	require.Equal(t, []Gap{
		{Area: "a", Op: "add", Arrays: []string{"grad_x", "grad_y"}},
		{Area: "a", Op: "sub", Cases: []string{"two"}},
	}, gaps)
	require.Equal(t, "a add: arrays grad_x grad_y", gaps[0].String())
	require.Equal(t, "a sub: 1 cases", gaps[1].String())
	_, err = a.Gaps([]Claim{{Area: "a", Op: "add", When: []string{"tie"}}})
	require.EqualError(t, err, `golden: condition "tie", want key=value or key!=value`)
}

func TestPlainAttributes(t *testing.T) {
	for raw, want := range map[string]string{`"a b"`: "a b", `1e-06`: "1e-06", `[1, 2]`: "[1,2]", `false`: "false", ``: "", `null`: ""} {
		require.Equal(t, want, plain(json.RawMessage(raw)), raw)
	}
}

func TestScan(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("p/a_test.go", `package p
import g "github.com/likbench/likbench/internal/golden"
func f() {
	g.Run(t, g.Claim{Area: "a", Op: "add", When: []string{"x=1"}, Arrays: []string{"x", "y"}}, nil)
	g.File(t, "tokenizer", "strings.json")
}`)
	write("p/b_test.go", `package p; func f() { golden.File(t, "no", "import") }`)
	write("r/shared.go", `package r; import "github.com/likbench/likbench/internal/golden"; var c = golden.Claim{Area: "b", Op: "sub", Arrays: nil}`)
	write("testdata/c_test.go", `not go`)
	found, err := Scan(dir)
	require.NoError(t, err)
	require.Equal(t, Covered{
		Claims: []Claim{{Area: "a", Op: "add", When: []string{"x=1"}, Arrays: []string{"x", "y"}}, {Area: "b", Op: "sub"}},
		Files:  []string{"tokenizer/strings.json"},
	}, found)

	write("q/d_test.go", `package q
import "github.com/likbench/likbench/internal/golden"
var c = golden.Claim{Area: area}`)
	_, err = Scan(dir)
	require.ErrorContains(t, err, "d_test.go:3:9: a golden claim must be written with string literals")
}

func TestPendingListsUnreadFiles(t *testing.T) {
	root := area(t, small)
	require.NoError(t, os.Mkdir(filepath.Join(root, "own"), 0o777))
	for _, name := range []string{"read.json", "unread.json", "notes.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "own", name), nil, 0o666))
	}
	lines, err := Pending(root, Covered{Files: []string{"own/read.json"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a add: 1 cases", "a sub: 1 cases", "own: file unread.json"}, lines)

	require.NoError(t, os.Remove(filepath.Join(root, "a", "manifest.json")))
	_, err = Pending(root, Covered{})
	require.ErrorContains(t, err, "neither manifest.json nor other JSON files")
}

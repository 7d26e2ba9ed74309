package golden

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Variable names the environment variable that holds the absolute path of another
// folder of area folders.
const Variable = "LIKBENCH_GOLDEN"

// Root is the folder of area folders: the one LIKBENCH_GOLDEN names, or this
// package's testdata, found from the directory a test runs in. It fails the test if
// there is none, or if the path is not absolute.
func Root(t testing.TB) string {
	t.Helper()
	if root := os.Getenv(Variable); root != "" {
		if !filepath.IsAbs(root) {
			t.Fatalf("golden: %s is %q, want an absolute path", Variable, root)
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			t.Fatalf("golden: %s is %q, which is not a folder", Variable, root)
		}
		return root
	}
	return filepath.Join(moduleRoot(t), "internal", "golden", "testdata")
}

// moduleRoot is the folder of this module, an ancestor of the one tests run in.
func moduleRoot(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "internal", "golden", "golden.go")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("golden: no parent of %s holds this module", start)
		}
	}
}

// Run runs body as one subtest for each case that claim covers. It fails if a case
// cannot be read, if body leaves an array unread that it claims, or reads one that
// it does not claim, and if no case is covered (with LIKBENCH_GOLDEN set, which may
// name a folder without the area or the operation, it skips then).
func Run(t *testing.T, claim Claim, body func(t *testing.T, c *Case)) {
	t.Helper()
	a, err := OpenArea(Root(t), claim.Area)
	if errors.Is(err, ErrNoArea) && os.Getenv(Variable) != "" {
		t.Skip(err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	claimed := map[string]bool{}
	for _, name := range claim.Arrays {
		claimed[name] = true
	}
	found := 0
	for i, m := range a.Cases {
		ok, err := claim.covers(m.Op, m.Attributes)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		found++
		t.Run(m.Name, func(t *testing.T) {
			c, err := a.Load(i)
			if err != nil {
				t.Fatal(err)
			}
			body(t, c)
			c.checkReads(t, claimed)
		})
	}
	switch {
	case found > 0:
	case os.Getenv(Variable) != "":
		t.Skipf("golden: %s of %s has no case that this test covers", claim.Area, os.Getenv(Variable))
	default:
		t.Fatalf("golden: no case of %s has op %q and attributes %q", claim.Area, claim.Op, claim.When)
	}
}

func (c *Case) checkReads(t *testing.T, claimed map[string]bool) {
	t.Helper()
	for name := range c.read {
		if !claimed[name] {
			t.Errorf("golden: array %q was read but is not claimed", name)
		}
	}
	for name := range claimed {
		if c.Arrays[name] != nil && !c.read[name] && !t.Skipped() {
			t.Errorf("golden: array %q is claimed but was not read", name)
		}
	}
}

// Has reports whether the case has the array, without reading it.
func (c *Case) Has(name string) bool { return c.Arrays[name] != nil }

// Array returns the named array and counts it as read. It fails the test if the
// case has none.
func (c *Case) Array(t testing.TB, name string) *Array {
	t.Helper()
	a := c.Arrays[name]
	if a == nil {
		t.Fatalf("golden: %s/%s has no array %q", c.Area, c.Name, name)
	}
	c.read[name] = true
	return a
}

// Floats returns the elements of the named array, converted to float64.
func (c *Case) Floats(t testing.TB, name string) []float64 {
	t.Helper()
	return c.Array(t, name).Float64s()
}

// Ints returns the elements of the named array of integers or booleans.
func (c *Case) Ints(t testing.TB, name string) []int64 {
	t.Helper()
	v, err := c.Array(t, name).Int64s()
	if err != nil {
		t.Fatalf("golden: %s/%s.%s: %v", c.Area, c.Name, name, err)
	}
	return v
}

// Attribute returns an attribute as conditions of a [Claim] write it: strings
// without quotes, other values in compact JSON, empty if the case lacks it.
func (c *Case) Attribute(key string) string { return plain(c.Attributes[key]) }

// Decode decodes an attribute into out, a pointer, and fails the test if the case
// lacks the attribute or it has another type.
func (c *Case) Decode(t testing.TB, key string, out any) {
	t.Helper()
	raw, ok := c.Attributes[key]
	if !ok {
		t.Fatalf("golden: %s/%s has no attribute %q", c.Area, c.Name, key)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatalf("golden: %s/%s: attribute %q is %s: %v", c.Area, c.Name, key, raw, err)
	}
}

// Float returns a numeric attribute.
func (c *Case) Float(t testing.TB, key string) float64 {
	t.Helper()
	var v float64
	c.Decode(t, key, &v)
	return v
}

// Int returns an integer attribute.
func (c *Case) Int(t testing.TB, key string) int {
	t.Helper()
	var v int
	c.Decode(t, key, &v)
	return v
}

// Bool returns a boolean attribute.
func (c *Case) Bool(t testing.TB, key string) bool {
	t.Helper()
	var v bool
	c.Decode(t, key, &v)
	return v
}

// File returns the content of a JSON file of an area that has a form of its own.
// Call it with constant strings: [Pending] reads them from the source. With
// LIKBENCH_GOLDEN set, a folder without the area skips the test.
func File(t testing.TB, area, name string) []byte {
	t.Helper()
	root := Root(t)
	if _, err := os.Stat(filepath.Join(root, area)); err != nil && os.Getenv(Variable) != "" {
		t.Skip((&Error{Area: area, File: root, Err: ErrNoArea}).Error())
	}
	text, err := os.ReadFile(filepath.Join(root, area, name))
	if err != nil {
		t.Fatal(&Error{Area: area, File: name, Err: err})
	}
	return text
}

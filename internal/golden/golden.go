// Package golden reads golden vectors: values that public implementations
// computed, against which references are tested.
//
// Vectors lie in a folder of area folders. An area is a manifest.json and one .npy
// file for each array, or JSON files that the area's own test reads. The folder is
// this package's testdata, or the one whose absolute path LIKBENCH_GOLDEN gives.
//
// A test states what it covers with a [Claim] and runs it with [Run]. What no claim
// covers is pending: [Pending] derives the list from the sources of all tests, so
// nobody keeps one.
//
// Both manifest forms are read. They differ in gradients: one gives them the role
// "output" (and upstream gradients the role "input"), the other "grad" and
// "upstream"; [Array.Kind] tells them apart in the same way for both.
package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/likbench/likbench/internal/npy"
)

// Kind says what an array is for.
type Kind uint8

const (
	Input    Kind = iota // operand or label
	Upstream             // gradient of the objective with respect to an output
	Output               // value to be reproduced
	Gradient             // gradient with respect to an input, to be reproduced
	Aux                  // helps the comparison, such as the margin of a maximum
)

func (k Kind) String() string {
	return [...]string{"input", "upstream", "output", "gradient", "aux"}[k]
}

// Array is one array of a case, row-major.
type Array struct {
	Name string
	Kind Kind
	*npy.Array
}

// Case is one case with all its arrays in memory.
type Case struct {
	Area, Name, Op string
	Attributes     map[string]json.RawMessage
	InputPrecision string // "bfloat16": inputs are exact in it; empty: not stated
	Source, Note   string // the implementation that computed the outputs; remarks
	Arrays         map[string]*Array

	read map[string]bool // arrays that a test has asked for
}

// Error says which case, file or array of an area cannot be read, and why.
type Error struct {
	Area, Case, Array string // Case and Array are empty where the manifest itself is wrong
	File              string
	Err               error
}

func (e *Error) Error() string {
	at := e.Area
	if e.Case != "" {
		at += "/" + e.Case
	}
	if e.Array != "" {
		at += "." + e.Array
	}
	return fmt.Sprintf("golden: %s (%s): %v", at, e.File, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ErrNoArea is wrapped by the error for an area whose folder does not exist.
var ErrNoArea = errors.New("no such area")

// ErrMismatch is wrapped by the error for an array that is not what the manifest
// says it is.
var ErrMismatch = errors.New("does not match the manifest")

type manifest struct {
	Area  string         `json:"area"`
	Count *int           `json:"count"`
	Cases []manifestCase `json:"cases"`
}

type manifestCase struct {
	Name           string                     `json:"name"`
	Op             string                     `json:"op"`
	Attributes     map[string]json.RawMessage `json:"attributes"`
	InputPrecision string                     `json:"input_precision"`
	Source         string                     `json:"source"`
	Note           string                     `json:"note"`
	Arrays         map[string]manifestArray   `json:"arrays"`
}

type manifestArray struct {
	File  string `json:"file"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Role  string `json:"role"`
}

// Area is the manifest of one area: what there is, not yet read.
type Area struct {
	Name string
	dir  string
	file string
	manifest
}

// OpenArea reads the manifest of the area in folder root. An area without folder
// gives ErrNoArea, a manifest that is absent an error that wraps os.ErrNotExist.
func OpenArea(root, name string) (*Area, error) {
	a := &Area{Name: name, dir: filepath.Join(root, name)}
	a.file = filepath.Join(a.dir, "manifest.json")
	fail := func(err error) (*Area, error) { return nil, &Error{Area: name, File: a.file, Err: err} }
	if info, err := os.Stat(a.dir); err != nil || !info.IsDir() {
		return nil, &Error{Area: name, File: a.dir, Err: ErrNoArea}
	}
	text, err := os.ReadFile(a.file)
	if err != nil {
		return fail(err)
	}
	if err := json.Unmarshal(text, &a.manifest); err != nil {
		return fail(err)
	}
	if a.manifest.Area != name {
		return fail(fmt.Errorf("manifest is of area %q", a.manifest.Area))
	}
	if a.Count != nil && *a.Count != len(a.Cases) {
		return fail(fmt.Errorf("manifest counts %d cases and has %d", *a.Count, len(a.Cases)))
	}
	seen := map[string]bool{}
	for i, c := range a.Cases {
		switch {
		case c.Name == "" || c.Op == "":
			return fail(fmt.Errorf("case %d lacks name or op", i))
		case seen[c.Name]:
			return fail(fmt.Errorf("case %q occurs twice", c.Name))
		case len(c.Arrays) == 0:
			return fail(fmt.Errorf("case %q has no arrays", c.Name))
		}
		seen[c.Name] = true
	}
	return a, nil
}

// Load reads every array of case i, asked for or not, so that a damaged file
// cannot hide behind a test that ignores it.
func (a *Area) Load(i int) (*Case, error) {
	m := &a.Cases[i]
	c := &Case{
		Area: a.Name, Name: m.Name, Op: m.Op, Attributes: m.Attributes,
		InputPrecision: m.InputPrecision, Source: m.Source, Note: m.Note,
		Arrays: map[string]*Array{}, read: map[string]bool{},
	}
	for name, ma := range m.Arrays {
		array, err := a.array(name, ma)
		if err != nil {
			return nil, &Error{Area: a.Name, Case: m.Name, Array: name, File: ma.File, Err: err}
		}
		c.Arrays[name] = array
	}
	return c, nil
}

func (a *Area) array(name string, ma manifestArray) (*Array, error) {
	kind, err := kindOf(name, ma.Role)
	if err != nil {
		return nil, err
	}
	if ma.File != filepath.Base(ma.File) || ma.File == "." {
		return nil, fmt.Errorf("file name %q is not inside the area's folder", ma.File)
	}
	data, err := npy.ReadFile(filepath.Join(a.dir, ma.File))
	if err != nil {
		return nil, err
	}
	if want, ok := shortType[ma.DType]; !ok || want != data.DType {
		return nil, fmt.Errorf("%w: type %s, manifest %q", ErrMismatch, data.DType, ma.DType)
	}
	if !slices.Equal(data.Shape, ma.Shape) {
		return nil, fmt.Errorf("%w: shape %v, manifest %v", ErrMismatch, data.Shape, ma.Shape)
	}
	return &Array{Name: name, Kind: kind, Array: data}, nil
}

// shortType maps the manifest's spelling of a type to the file's.
var shortType = map[string]string{
	"bool": "b1", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
	"int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8",
	"float16": "f2", "float32": "f4", "float64": "f8",
}

// kindOf maps both manifest forms to one notion.
func kindOf(name, role string) (Kind, error) {
	gradient := strings.HasPrefix(name, "grad_")
	switch {
	case role == "grad", role == "output" && gradient:
		return Gradient, nil
	case role == "upstream", role == "input" && gradient:
		return Upstream, nil
	case role == "output":
		return Output, nil
	case role == "input":
		return Input, nil
	case role == "aux":
		return Aux, nil
	}
	return 0, fmt.Errorf("unknown role %q", role)
}

// Areas lists the area folders in root, sorted.
func Areas(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names, nil
}

// Package manifest describes the device objects that the cuda backend embeds: which source, compiler
// and flags made each of them, what its entry points need, and how their argument block is laid out.
//
// The compiler program writes it, the backend loads objects through it, and tests prove with it that
// the objects are fresh. It knows nothing of drivers or devices.
package manifest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// FileName is the manifest's name beside the objects.
const FileName = "MANIFEST.json"

// Manifest lists every compiled source, sorted by name.
type Manifest struct {
	Compiler string   `json:"compiler"` // "nvrtc 12.8.93"
	Sources  []Source `json:"sources"`
}

// Source is one .cu file and what was made of it.
type Source struct {
	Name      string   `json:"source"`    // slash path below src: "lateinteraction/maxsim_naive.cu"
	Hash      string   `json:"hash"`      // SHA-256 over the file and everything it includes by "..."
	Flags     []string `json:"flags"`     // without include paths and target
	Arguments []Struct `json:"arguments"` // the argument blocks it includes
	Objects   []Object `json:"objects"`
}

// Struct is the layout of one argument block: 8-byte words in declaration order.
type Struct struct {
	Name   string  `json:"name"` // "maxsim_args"
	Bytes  int     `json:"bytes"`
	Fields []Field `json:"fields"`
}

// Field is one word of an argument block.
type Field struct {
	Name   string `json:"name"`
	Offset int    `json:"offset"` // bytes
}

// Object is one compiled form of a source: a cubin (target sm_*) or PTX (target compute_*).
type Object struct {
	Target  string  `json:"target"`
	File    string  `json:"file"`   // gzip file beside the manifest
	SHA256  string  `json:"sha256"` // of the uncompressed bytes
	Bytes   int     `json:"bytes"`  // uncompressed
	Entries []Entry `json:"entries"`
}

// Entry is one kernel of an object. PTX has no register facts: they are made when the driver compiles it.
type Entry struct {
	Name          string  `json:"name"`
	Registers     int     `json:"registers,omitempty"`
	StaticShared  int     `json:"static_shared,omitempty"`  // bytes
	DynamicShared int     `json:"dynamic_shared,omitempty"` // bytes, the most a launch asks for
	Stack         int     `json:"stack,omitempty"`          // bytes per thread
	SpillStores   int     `json:"spill_stores,omitempty"`   // bytes per thread
	SpillLoads    int     `json:"spill_loads,omitempty"`    // bytes per thread
	Params        []Param `json:"params,omitempty"`
}

// Param is one kernel parameter as the compiler laid it out, in bytes.
type Param struct {
	Offset int `json:"offset"`
	Size   int `json:"size"`
}

// Parse reads a manifest.
func Parse(data []byte) (*Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("cuda: %s: %w", FileName, err)
	}
	return &m, nil
}

// Encode writes a manifest as it is committed.
func (m *Manifest) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	err := e.Encode(m)
	return b.Bytes(), err
}

// Stem is the name that bindings use for a source: its file name without ".cu".
func (s *Source) Stem() string {
	n := s.Name[strings.LastIndexByte(s.Name, '/')+1:]
	return strings.TrimSuffix(n, ".cu")
}

// Source returns the source with the given stem, or nil.
func (m *Manifest) Source(stem string) *Source {
	for i := range m.Sources {
		if m.Sources[i].Stem() == stem {
			return &m.Sources[i]
		}
	}
	return nil
}

// Object returns the object for the given target, or nil.
func (s *Source) Object(target string) *Object {
	for i := range s.Objects {
		if s.Objects[i].Target == target {
			return &s.Objects[i]
		}
	}
	return nil
}

// Entry returns the named entry point, or nil.
func (o *Object) Entry(name string) *Entry {
	for i := range o.Entries {
		if o.Entries[i].Name == name {
			return &o.Entries[i]
		}
	}
	return nil
}

// Read returns the object's bytes from the folder of objects, checked against the recorded hash.
func (o *Object) Read(objects fs.FS) ([]byte, error) {
	data, err := fs.ReadFile(objects, o.File)
	if err != nil {
		return nil, fmt.Errorf("cuda: object %s: %w", o.File, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("cuda: object %s: %d bytes: %w", o.File, len(data), err)
	}
	out := bytes.NewBuffer(make([]byte, 0, o.Bytes))
	if _, err := io.Copy(out, z); err != nil {
		return nil, fmt.Errorf("cuda: object %s: %d of %d bytes: %w", o.File, out.Len(), o.Bytes, err)
	}
	if got := Sum(out.Bytes()); got != o.SHA256 {
		return nil, fmt.Errorf("cuda: object %s: hash %.12s, manifest says %.12s", o.File, got, o.SHA256)
	}
	return out.Bytes(), nil
}

// Compress is the form in which objects are committed: gzip without a time, so equal input gives equal bytes
// for one version of Go; freshness is judged on the uncompressed bytes.
func Compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Sum is the hash used throughout: SHA-256 in hex.
func Sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

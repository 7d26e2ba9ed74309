package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DefaultTargets are what a source is compiled for unless its header says otherwise: the three named
// architectures and PTX for the rest.
var DefaultTargets = []string{"sm_80", "sm_89", "sm_90a", "compute_80"}

// Text is a source as read from the tree: its header's directives and all it includes.
type Text struct {
	Name    string
	Code    string
	Hash    string
	Targets []string
	Flags   []string
	Dynamic map[string]int // entry to bytes of dynamic shared memory
	Structs []Struct
}

var (
	includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"]+)"`)
	// directives stand in the comment that opens a source:
	//	// targets: sm_90a
	//	// flags: --maxrregcount=128
	//	// dynamic: maxsim_bf16_wgmma 98304
	directive   = regexp.MustCompile(`^//[ \t]*(targets|flags|dynamic):[ \t]*(.*)$`)
	structStart = regexp.MustCompile(`(?m)^struct[ \t]+([a-z0-9_]+_args)[ \t]*\{([^}]*)\}`)
	structField = regexp.MustCompile(`^(?:unsigned long long|long long|double)[ \t]+([a-z0-9_, ]+)$`)
	lineComment = regexp.MustCompile(`//[^\n]*`)
)

// Sources lists the .cu files below src, sorted.
func Sources(src fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(src, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ".cu") {
			names = append(names, p)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// ReadSource reads a source below src with everything it includes by "...", resolved against the
// including file's folder and then against src.
func ReadSource(src fs.FS, name string) (*Text, error) {
	files, order := map[string][]byte{}, []string{}
	if err := closure(src, name, files, &order); err != nil {
		return nil, err
	}
	t := &Text{Name: name, Code: string(files[name]), Targets: DefaultTargets, Dynamic: map[string]int{}}
	h := sha256.New()
	for _, n := range order {
		fmt.Fprintf(h, "%s %d\n", n, len(files[n]))
		h.Write(files[n])
		ss, err := structs(n, string(files[n]))
		if err != nil {
			return nil, err
		}
		t.Structs = append(t.Structs, ss...)
	}
	t.Hash = hex.EncodeToString(h.Sum(nil))
	return t, t.directives()
}

func closure(src fs.FS, name string, files map[string][]byte, order *[]string) error {
	if _, ok := files[name]; ok {
		return nil
	}
	data, err := fs.ReadFile(src, name)
	if err != nil {
		return fmt.Errorf("cuda: source: %w", err)
	}
	files[name] = data
	*order = append(*order, name)
	for _, m := range includeLine.FindAllSubmatch(data, -1) {
		inc := string(m[1])
		p := path.Join(path.Dir(name), inc)
		if _, err := fs.Stat(src, p); errors.Is(err, fs.ErrNotExist) || !fs.ValidPath(p) {
			p = path.Clean(inc)
		}
		if !fs.ValidPath(p) {
			return fmt.Errorf("cuda: source %s: include %q leaves the source folder", name, inc)
		}
		if err := closure(src, p, files, order); err != nil {
			return fmt.Errorf("cuda: source %s: include %q: %w", name, inc, err)
		}
	}
	return nil
}

func (t *Text) directives() error {
	for line := range strings.Lines(t.Code) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			return nil
		}
		m := directive.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		words := strings.FieldsFunc(m[2], func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
		switch m[1] {
		case "targets":
			for _, w := range words {
				if !strings.HasPrefix(w, "sm_") && !strings.HasPrefix(w, "compute_") {
					return fmt.Errorf("cuda: source %s: target %q", t.Name, w)
				}
			}
			t.Targets = words
		case "flags":
			t.Flags = append(t.Flags, words...)
		case "dynamic":
			if len(words) < 2 {
				return fmt.Errorf("cuda: source %s: dynamic wants an entry and bytes, got %q", t.Name, m[2])
			}
			n, err := strconv.Atoi(words[1])
			if err != nil || n < 0 {
				return fmt.Errorf("cuda: source %s: dynamic bytes %q", t.Name, words[1])
			}
			t.Dynamic[words[0]] = n
		}
	}
	return nil
}

// structs finds the argument blocks of a header. Every field is one 8-byte word, so an offset is an index.
func structs(name, code string) ([]Struct, error) {
	var out []Struct
	for _, m := range structStart.FindAllStringSubmatch(code, -1) {
		s := Struct{Name: m[1]}
		for decl := range strings.SplitSeq(lineComment.ReplaceAllString(m[2], ""), ";") {
			if decl = strings.TrimSpace(decl); decl == "" {
				continue
			}
			f := structField.FindStringSubmatch(decl)
			if f == nil {
				return nil, fmt.Errorf("cuda: %s: struct %s: %q is not an 8-byte word", name, s.Name, decl)
			}
			for field := range strings.SplitSeq(f[1], ",") {
				s.Fields = append(s.Fields, Field{Name: strings.TrimSpace(field), Offset: s.Bytes})
				s.Bytes += 8
			}
		}
		out = append(out, s)
	}
	return out, nil
}

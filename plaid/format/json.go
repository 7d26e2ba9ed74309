package format

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
)

// Limits of JSON files. Objects are small whatever the index; an array of document lengths
// has a few digits and a comma for each of at most 2³¹ documents.
const (
	maxObject  = 16 << 20
	maxDoclens = 1 << 34
)

// object is a JSON object whose values are looked at by name.
type object struct {
	path string
	text []byte
	keys map[string]json.RawMessage
}

func readObject(dir, name string) (*object, error) {
	text, err := readSmall(dir, name, maxObject)
	if err != nil {
		return nil, err
	}
	return parseObject(filepath.Join(dir, name), text)
}

func parseObject(path string, text []byte) (*object, error) {
	o := &object{path: path, text: text}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&o.keys); err != nil || o.keys == nil {
		at := d.InputOffset()
		if err == nil || err == io.EOF {
			return nil, &Error{File: path, Byte: at, Element: -1, Err: because(ErrCorrupt, "no JSON object")}
		}
		return nil, &Error{File: path, Byte: at, Element: -1, Err: because(ErrCorrupt, "%v", err)}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &Error{File: path, Byte: d.InputOffset(), Element: -1, Err: because(ErrCorrupt, "text after the JSON object")}
	}
	return o, nil
}

// has reports a key whose value is not null.
func (o *object) has(key string) bool {
	return o.keys[key] != nil && string(o.keys[key]) != "null"
}

// count is a whole number from 0 on; absent gives −1.
func (o *object) count(key string) (int64, error) {
	if !o.has(key) {
		return -1, nil
	}
	n, err := strconv.ParseInt(string(o.keys[key]), 10, 64)
	if err != nil || n < 0 {
		return 0, corrupt(o.path, "%s is %.40s, want a whole number from 0 on", key, o.keys[key])
	}
	return n, nil
}

// counts are whole numbers by key; absent ones are −1.
func (o *object) counts(keys ...string) ([]int64, error) {
	out := make([]int64, len(keys))
	for i, key := range keys {
		n, err := o.count(key)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// flag is a truth value; absent gives false.
func (o *object) flag(key string) (bool, error) {
	if !o.has(key) {
		return false, nil
	}
	switch string(o.keys[key]) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, corrupt(o.path, "%s is %.40s, want true or false", key, o.keys[key])
}

// child is an object inside; absent gives nil.
func (o *object) child(key string) (*object, error) {
	if !o.has(key) {
		return nil, nil
	}
	c, err := parseObject(o.path, o.keys[key])
	if err != nil {
		return nil, corrupt(o.path, "%s is no JSON object", key)
	}
	return c, nil
}

// names are the keys in order.
func (o *object) names() []string {
	names := make([]string, 0, len(o.keys))
	for key := range o.keys {
		names = append(names, key)
	}
	slices.Sort(names)
	return names
}

// readLengths reads a JSON array of token counts and appends it to lengths. Reading stops at
// a zero byte, which no such array has, so that a file costs memory only as far as it may be
// one: a hole in a file is as large as somebody likes.
func readLengths(dir, name string, lengths []int64) ([]int64, error) {
	f, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.f.Close()
	if f.size > maxDoclens {
		return nil, corrupt(f.path, "%d bytes, limit %d", f.size, int64(maxDoclens))
	}
	var text []byte
	for at := int64(0); at < f.size; at = int64(len(text)) {
		n := int(min(lengthsPiece, f.size-at))
		text = slices.Grow(text, n)[:int(at)+n]
		if err := f.readAt(text[at:], at); err != nil {
			return nil, err
		}
		if bytes.IndexByte(text[at:], 0) >= 0 {
			break // parsing fails there or before
		}
	}
	return parseLengths(f.path, text, lengths)
}

const lengthsPiece = 1 << 20

// parseLengths appends the whole numbers of a JSON array to lengths. It is several times as
// fast as the general decoder, which matters for millions of documents, and names the
// element that is wrong.
func parseLengths(path string, text []byte, lengths []int64) ([]int64, error) {
	i, first := 0, len(lengths)
	blank := func() {
		for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
			i++
		}
	}
	at := func(c byte) bool {
		blank()
		if i < len(text) && text[i] == c {
			i++
			return true
		}
		return false
	}
	wrong := func(want string) error {
		return &Error{File: path, Byte: int64(i), Element: -1,
			Err: because(ErrCorrupt, "element %d: want %s at %q", len(lengths)-first, want, text[i:min(i+12, len(text))])}
	}
	if !at('[') {
		return nil, wrong("'['")
	}
	for done := at(']'); !done; {
		blank()
		start := i
		var n int64
		for i < len(text) && text[i]-'0' < 10 {
			if n > (math.MaxInt64-9)/10 {
				return nil, wrong("a smaller number")
			}
			n = n*10 + int64(text[i]-'0')
			i++
		}
		if start == i {
			return nil, wrong("a whole number from 0 on")
		}
		lengths = append(lengths, n)
		if done = at(']'); !done && !at(',') {
			first++ // it is this element that goes on
			return nil, wrong("',' or ']'")
		}
	}
	if blank(); i < len(text) {
		return nil, wrong("the end")
	}
	return lengths, nil
}

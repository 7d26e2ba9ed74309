package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// disk is everything that changes a folder, in one place, so that tests can stop or fail
// each step.
type disk interface {
	mkdir(path string) error
	create(path string) (file, error) // empty
	open(path string) (file, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(path string) error
}

// file is an open file of a writer.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// system is the real one.
type system struct{}

func (system) mkdir(path string) error { return os.Mkdir(path, 0o777) }

func (system) create(path string) (file, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

func (system) open(path string) (file, error) { return os.OpenFile(path, os.O_RDWR, 0) }
func (system) rename(from, to string) error   { return os.Rename(from, to) }
func (system) remove(path string) error       { return os.Remove(path) }

// syncDir makes names durable. Windows has no such call, and needs none.
func (system) syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// truncate cuts a file to its committed length. Windows refuses while a reader maps the
// file; what is beyond is then written over.
func truncate(f file, size int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	if err = f.Truncate(size); runtime.GOOS == "windows" {
		return nil
	}
	return err
}

// temporary is the name of a manifest being written.
const temporary = "manifest.tmp"

// listing is what is in a folder.
type listing struct {
	newest    uint64 // generation; 0 where there is none
	manifests []string
	files     []string // payload, as entry.name gives names
	temporary bool
}

// list reads a folder. A folder that is not there is one without an index.
func list(dir string) (*listing, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, wrong(dir, -1, fmt.Errorf("%w: %w", ErrNoIndex, err))
	case err != nil:
		return nil, fail(dir, err)
	}
	l := &listing{}
	for _, e := range entries {
		name := e.Name()
		if g, ok := parseManifestName(name); ok {
			l.manifests = append(l.manifests, name)
			l.newest = max(l.newest, g)
		}
		if parseFileName(name) {
			l.files = append(l.files, name)
		}
		l.temporary = l.temporary || name == temporary
	}
	return l, nil
}

// leftovers are the files that a generation does not name; with m nil, all of ours.
func (l *listing) leftovers(m *manifest) []string {
	used := map[string]bool{}
	if m != nil {
		used[manifestName(m.generation)] = true
		for i := range m.files {
			used[m.files[i].name()] = true
		}
	}
	var out []string
	for _, names := range [][]string{l.manifests, l.files} {
		for _, name := range names {
			if !used[name] {
				out = append(out, name)
			}
		}
	}
	if l.temporary {
		out = append(out, temporary)
	}
	return out
}

// readManifest reads one generation.
func readManifest(dir string, generation uint64) (*manifest, error) {
	path := filepath.Join(dir, manifestName(generation))
	f, err := os.Open(path)
	if err != nil {
		return nil, fail(path, err)
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, fail(path, err)
	case !info.Mode().IsRegular():
		return nil, corrupt(path, "%s, want a regular file", info.Mode().Type())
	case info.Size() > manifestLimit:
		return nil, corrupt(path, "%d bytes, limit %d", info.Size(), manifestLimit)
	}
	text, err := io.ReadAll(io.LimitReader(f, manifestLimit+1))
	if err != nil {
		return nil, fail(path, err)
	}
	m, err := parseManifest(path, text)
	if err == nil && m.generation != generation {
		err = corrupt(path, "generation %d inside", m.generation)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// relist bounds how often a folder is read again for a manifest that its writer replaced in
// the middle of reading the folder, or that is not there yet.
const relist = 100

// newest reads the newest generation. Where a writer removes it between our finding and
// reading it there is a newer one; a name that stays and leads nowhere is an error.
func newest(dir string) (*manifest, error) {
	for tries, last := 0, uint64(0); ; {
		l, err := list(dir)
		if err != nil {
			return nil, err
		}
		if l.newest == 0 {
			if tries++; len(l.files) > 0 && tries < relist {
				runtime.Gosched()
				continue
			}
			return nil, wrong(dir, -1, ErrNoIndex)
		}
		m, err := readManifest(dir, l.newest)
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		if l.newest != last {
			tries, last = 0, l.newest
		}
		if tries++; tries >= relist {
			path := filepath.Join(dir, manifestName(l.newest))
			return nil, wrong(path, -1, fmt.Errorf("%w: %w", ErrMissing, err))
		}
	}
}

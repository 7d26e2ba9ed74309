package format

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/likbench/likbench/internal/filelock"
)

// tempPrefix starts the names of files being written. They lie beside their target, so that
// the rename stays on one file system.
const tempPrefix = ".likbench-"

// commit writes files of an index so that readers see all of them or none: each under a
// temporary name, synced; then renamed, metadata.json last, which is what makes an index.
type commit struct {
	dir     string
	pending []string
	step    func(op, path string) error // before each change of the disk; for tests of crashes
	sync    func(*os.File) error
	created bool // the folder is ours to remove
	lock    *filelock.Lock
	bytes   int64
	failed  bool // a file was not written: nothing will be published
}

// begin makes the folder if there is none and removes what a killed writer left in it. With
// a step, nothing is synced: tests end no machine, and a sync takes longer than the rest.
func begin(dir string, step func(op, path string) error) (*commit, error) {
	c := &commit{dir: dir, step: step, sync: func(*os.File) error { return nil }}
	if step == nil {
		step = func(string, string) error { return nil }
		c.step, c.sync = step, (*os.File).Sync
	}
	if err := step("mkdir", dir); err != nil {
		return nil, fail(dir, err)
	}
	switch err := os.Mkdir(dir, 0o777); {
	case err == nil:
		c.created = true
	case !errors.Is(err, os.ErrExist):
		return nil, fail(dir, err)
	}
	var err error
	if c.lock, err = lock(dir); err != nil {
		return nil, err
	}
	if err := c.sweep(); err != nil {
		c.lock.Release()
		return nil, err
	}
	return c, nil
}

// sweep removes what a killed writer left.
func (c *commit) sweep() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fail(c.dir, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) && e.Name() != lockName {
			if err := c.remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *commit) remove(name string) error {
	path := filepath.Join(c.dir, name)
	if err := c.step("remove", path); err != nil {
		return fail(path, err)
	}
	return fail(path, os.Remove(path))
}

// file writes one file under its temporary name, unless an earlier one failed: its error is
// the one that counts.
func (c *commit) file(name string, write func(w *bufio.Writer) error) (err error) {
	if c.failed {
		return nil
	}
	defer func() { c.failed = c.failed || err != nil }()
	path := filepath.Join(c.dir, tempPrefix+name)
	if err := c.step("create", path); err != nil {
		return fail(path, err)
	}
	c.pending = append(c.pending, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return fail(path, err)
	}
	defer func() { err = errors.Join(err, fail(path, f.Close())) }()
	w := bufio.NewWriterSize(counted{f, c}, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fail(path, err)
	}
	if err := c.step("sync", path); err != nil {
		return fail(path, err)
	}
	return fail(path, c.sync(f))
}

// counted adds up what is written.
type counted struct {
	*os.File
	c *commit
}

func (w counted) Write(b []byte) (int, error) {
	if err := w.c.step("write", w.Name()); err != nil {
		return 0, err
	}
	n, err := w.File.Write(b)
	w.c.bytes += int64(n)
	return n, err
}

// text writes a small file.
func (c *commit) text(name string, text []byte) error {
	return c.file(name, func(w *bufio.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// finish renames what was written, metadata.json last, and ends the commit if it succeeds.
func (c *commit) finish() error {
	if err := c.publish(); err != nil {
		return err
	}
	c.lock.Release()
	return nil
}

func (c *commit) publish() error {
	last := false
	for _, name := range c.pending {
		if name == metadataName {
			last = true
			continue
		}
		if err := c.rename(name); err != nil {
			return err
		}
	}
	if err := c.syncDir(c.dir); err != nil || !last {
		return err
	}
	if c.created {
		if err := c.syncDir(filepath.Dir(c.dir)); err != nil {
			return err
		}
	}
	if err := c.rename(metadataName); err != nil {
		return err
	}
	return c.syncDir(c.dir)
}

func (c *commit) rename(name string) error {
	path := filepath.Join(c.dir, name)
	if err := c.step("rename", path); err != nil {
		return fail(path, err)
	}
	return fail(path, os.Rename(filepath.Join(c.dir, tempPrefix+name), path))
}

// syncDir makes names in a folder durable. Windows has no such call, and needs none.
func (c *commit) syncDir(dir string) error {
	if err := c.step("syncdir", dir); err != nil {
		return fail(dir, err)
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return fail(dir, err)
	}
	return fail(dir, errors.Join(c.sync(d), d.Close()))
}

// abort removes what was written and not renamed, and ends the commit; failures leave it to
// the next writer.
func (c *commit) abort() {
	for _, name := range c.pending {
		if c.step("remove", filepath.Join(c.dir, tempPrefix+name)) == nil {
			_ = os.Remove(filepath.Join(c.dir, tempPrefix+name)) // absent once renamed
		}
	}
	c.lock.Release()
	if c.created && c.step("rmdir", c.dir) == nil {
		_ = os.Remove(c.dir) // fails, as it should, where something is in it
	}
}

// clear removes chunk files that a writer killed between its renames left behind, except
// those about to be replaced. The folder holds no index, so they belong to none.
func (c *commit) clear() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fail(c.dir, err)
	}
	keep := map[string]bool{}
	for _, name := range c.pending {
		keep[name] = true
	}
	for _, e := range entries {
		if name := e.Name(); !keep[name] && (leftover.MatchString(name) || ours[name]) {
			if err := c.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ours are the names, besides those of chunks, that some layout gives a file.
var ours = map[string]bool{
	"centroids.npy": true, "bucket_cutoffs.npy": true, "bucket_weights.npy": true, "avg_residual.npy": true,
	"cluster_threshold.npy": true, "ivf.npy": true, "ivf_lengths.npy": true, "plan.json": true,
	"merged_codes.npy": true, "merged_residuals.npy": true, "merged_inv_norms.npy": true,
	"merged_codes.manifest.json": true, "merged_residuals.manifest.json": true, "merged_inv_norms.manifest.json": true,
	"centroids.pt": true, "buckets.pt": true, "avg_residual.pt": true, "ivf.pid.pt": true,
}

// generation is the name of what makes a folder an index of package store.
var generation = regexp.MustCompile(`^manifest-\d{20}$`)

// vacant refuses a folder that holds an index, of package store included.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(dir, err)
	}
	for _, e := range entries {
		if generation.MatchString(e.Name()) {
			return &Error{File: filepath.Join(dir, e.Name()), Byte: -1, Element: -1, Err: fmt.Errorf("not overwritten: %w", ErrExists)}
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, metadataName)); err == nil {
		return &Error{File: filepath.Join(dir, metadataName), Byte: -1, Element: -1, Err: fmt.Errorf("not overwritten: %w", ErrExists)}
	}
	return nil
}

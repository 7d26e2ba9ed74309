package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"slices"

	"github.com/likbench/likbench/plaid/format"
)

// Report is what Check has found.
type Report struct {
	Generation uint64 // 0 where there is no readable manifest
	Documents  int64
	Live       int64
	Tokens     int64
	Bytes      int64
	Problems   []format.Problem
	Leftovers  []string // what killed writers left: files and ends of files that belong to no generation

	damaged map[kind]bool
}

// Clean reports that nothing is wrong.
func (r *Report) Clean() bool { return len(r.Problems) == 0 }

// Repairable reports that Repair can mend all that is wrong.
func (r *Report) Repairable() bool {
	return !slices.ContainsFunc(r.Problems, notRepairable)
}

// Check reads the newest generation in full: checksums of the manifest and of each block,
// offsets and ids ascending, codes below K, centroids finite, and what follows from these:
// norms and inverted lists, which are computed again. Any single byte that changed is found;
// the problem names the file and the first element that is off, or where the block starts.
// It takes no lock, changes nothing, and holds a few megabytes and 20 bytes a centroid. What
// is wrong is in the report; an error is one of the system.
func Check(dir string) (*Report, error) {
	if err := checkMachine(dir); err != nil {
		return nil, err
	}
	for {
		c := &checker{dir: dir, files: map[string]*os.File{}, report: &Report{damaged: map[kind]bool{}}}
		err := c.run()
		for _, f := range c.files {
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return nil, err
		}
		// A writer may have replaced the generation, and removed its files, meanwhile.
		if !c.missing {
			return c.report, nil
		}
		if m, err := newest(dir); err != nil || m.generation == c.report.Generation {
			return c.report, nil
		}
	}
}

// checker is one run of Check.
type checker struct {
	dir     string
	m       *manifest
	files   map[string]*os.File // those that hold at least what the manifest says
	report  *Report
	missing bool
}

// problem notes what is wrong with a file of a kind. Lists and norms can be made again.
func (c *checker) problem(k kind, err error) {
	c.report.damaged[k] = true
	c.report.Problems = append(c.report.Problems, format.Problem{Err: err, Repairable: k == fileLists || k == fileInvNorms})
}

// isProblem says whether an error is a problem of the index; others end the check.
func isProblem(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrMissing) || errors.Is(err, ErrNoIndex) || errors.Is(err, ErrUnsupported)
}

func (c *checker) run() error {
	m, err := newest(c.dir)
	if err != nil {
		if !isProblem(err) {
			return err
		}
		c.problem(0, err)
		return nil
	}
	c.m = m
	r := c.report
	r.Generation, r.Documents, r.Live, r.Tokens = m.generation, m.documents, m.documents-m.deleted, m.tokens
	r.Bytes = int64(len(m.encode()))
	for i := range m.files {
		e := &m.files[i]
		r.Bytes += e.length
		if err := c.content(e); err != nil {
			if !isProblem(err) {
				return err
			}
			c.problem(e.kind, err)
		}
	}
	for _, check := range []struct {
		kind kind
		run  func() error
	}{
		{fileCentroids, c.centroids}, {fileOffsets, c.offsets}, {fileCodes, c.codes}, {fileIDs, c.ids},
		{fileTombstones, c.tombstones}, {fileInvNorms, c.norms}, {fileLists, c.lists},
	} {
		if err := check.run(); err != nil {
			if !isProblem(err) {
				return err
			}
			c.problem(check.kind, err)
		}
	}
	return c.leftovers()
}

// leftovers are the files of other generations and bytes beyond this one.
func (c *checker) leftovers() error {
	l, err := list(c.dir)
	if err != nil {
		return err
	}
	if l.newest == c.m.generation {
		c.report.Leftovers = append(c.report.Leftovers, l.leftovers(c.m)...)
	}
	return nil
}

// content opens a file and compares its checksums.
func (c *checker) content(e *entry) error {
	path := filepath.Join(c.dir, e.name())
	f, err := openRegular(path)
	if err != nil {
		c.missing = c.missing || errors.Is(err, fs.ErrNotExist)
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < e.length {
		err = corruptByte(path, info.Size(), "ends here, %d bytes wanted", e.length)
	}
	if err != nil {
		return errors.Join(fail(path, err), f.Close())
	}
	c.files[e.name()] = f
	if beyond := info.Size() - e.length; beyond > 0 {
		c.report.Leftovers = append(c.report.Leftovers, fmt.Sprintf("%s: %d bytes at the end", e.name(), beyond))
	}
	buf := make([]byte, min(c.m.block, defaultBlock, max(e.length, 1)))
	for i, want := range e.sums {
		from, sum := int64(i)*c.m.block, uint32(0)
		end := min(from+c.m.block, e.length)
		for at := from; at < end; at += int64(len(buf)) {
			buf = buf[:min(int64(cap(buf)), end-at)]
			if _, err := f.ReadAt(buf, at); err != nil {
				return fail(path, err)
			}
			sum = crc32.Update(sum, castagnoli, buf)
		}
		if sum != want {
			return corruptByte(path, from, "checksum of %d bytes is %08x, was %08x when written", end-from, sum, want)
		}
	}
	return nil
}

// file is the open file of a kind; nil where it is not whole.
func (c *checker) file(k kind) (*os.File, string) {
	e := c.m.file(k)
	if e == nil {
		return nil, ""
	}
	return c.files[e.name()], filepath.Join(c.dir, e.name())
}

// pieces reads n elements of a file in pieces.
func pieces[T number](f *os.File, path string, n int64, visit func(from int64, part []T) error) error {
	buf, size := make([]T, min(n, 1<<15)), int64(len(asBytes(make([]T, 1))))
	for from := int64(0); from < n; from += int64(len(buf)) {
		buf = buf[:min(int64(cap(buf)), n-from)]
		if _, err := f.ReadAt(asBytes(buf), from*size); err != nil {
			return fail(path, err)
		}
		if err := visit(from, buf); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) centroids() error {
	f, path := c.file(fileCentroids)
	if f == nil {
		return nil
	}
	finite := func(from int64, part []float32) error {
		if at := notFinite(part); at >= 0 {
			return corruptElement(path, from+int64(at), "%v", part[at])
		}
		return nil
	}
	n := c.m.k * int64(c.m.dim)
	if c.m.half {
		var wide []float32
		return pieces(f, path, n, func(from int64, part []uint16) error {
			wide = slices.Grow(wide[:0], len(part))[:len(part)]
			widen(wide, part)
			return finite(from, wide)
		})
	}
	return pieces(f, path, n, finite)
}

func (c *checker) offsets() error {
	f, path := c.file(fileOffsets)
	if f == nil {
		return nil
	}
	last := int64(0)
	err := pieces(f, path, c.m.documents+1, func(from int64, part []int64) error {
		for i, v := range part {
			if v < last || v > c.m.tokens || from == 0 && i == 0 && v != 0 {
				return corruptElement(path, from+int64(i), "offset %d after %d, %d tokens", v, last, c.m.tokens)
			}
			last = v
		}
		return nil
	})
	if err == nil && last != c.m.tokens {
		err = corruptElement(path, c.m.documents, "last offset %d, %d tokens", last, c.m.tokens)
	}
	return err
}

func (c *checker) codes() error {
	f, path := c.file(fileCodes)
	if f == nil {
		return nil
	}
	return pieces(f, path, c.m.tokens, func(from int64, part []int32) error {
		if at := outside(part, c.m.k); at >= 0 {
			return corruptElement(path, from+int64(at), "code %d of %d", part[at], c.m.k)
		}
		return nil
	})
}

func (c *checker) ids() error {
	f, path := c.file(fileIDs)
	if f == nil {
		return nil
	}
	last := int64(-1)
	return pieces(f, path, c.m.documents, func(from int64, part []int64) error {
		for i, id := range part {
			if id <= last || id >= c.m.nextID {
				return corruptElement(path, from+int64(i), "id %d after %d, %d is free", id, last, c.m.nextID)
			}
			last = id
		}
		return nil
	})
}

func (c *checker) tombstones() error {
	f, path := c.file(fileTombstones)
	if f == nil {
		return nil
	}
	set, words := int64(0), (c.m.documents+31)/32
	err := pieces(f, path, words, func(from int64, part []int32) error {
		for i, w := range part {
			set += int64(bits.OnesCount32(uint32(w)))
			if used := c.m.documents - 32*(from+int64(i)); used < 32 && uint32(w)>>used != 0 {
				return corruptElement(path, from+int64(i), "bits beyond %d documents", c.m.documents)
			}
		}
		return nil
	})
	if err == nil && set != c.m.deleted {
		err = corrupt(path, "%d documents deleted, want %d", set, c.m.deleted)
	}
	return err
}

func notRepairable(p format.Problem) bool { return !p.Repairable }

package store

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// normTokens is how many norms are computed at a time.
const normTokens = 1 << 12

// norms computes each norm again. Where what it follows from is damaged, the first difference
// tells which token that is about.
func (c *checker) norms() error {
	f, path := c.file(fileInvNorms)
	codes, _ := c.file(fileCodes)
	rows, _ := c.file(fileResiduals)
	cells, _ := c.file(fileCentroids)
	if f == nil || codes == nil || rows == nil || cells == nil || c.m.tokens == 0 {
		return nil
	}
	n, err := newNormer(c.dir, c.m)
	if err != nil {
		return err
	}
	defer func() { _ = n.release() }()
	workers := int64(runtime.GOMAXPROCS(0))
	errs := make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			own := &normer{decoder: n.decoder, scratch: make([]float32, c.m.dim)}
			errs[i] = c.someNorms(own, path, i*normTokens, workers*normTokens)
		})
	}
	all.Wait()
	return first(errs)
}

// first is the error about the lowest element, or another one.
func first(errs []error) error {
	var best error
	for _, err := range errs {
		e, old := (*Error)(nil), (*Error)(nil)
		if best == nil || errors.As(err, &e) && errors.As(best, &old) && e.Element < old.Element {
			best = err
		}
	}
	return best
}

// someNorms compares the norms of the pieces at from, from+step, ….
func (c *checker) someNorms(n *normer, path string, from, step int64) error {
	f, _ := c.file(fileInvNorms)
	stored, made := make([]float32, min(c.m.tokens, normTokens)), make([]float32, min(c.m.tokens, normTokens))
	in := newTokenInput(c.m)
	in.codesFile, _ = c.file(fileCodes)
	in.rowsFile, _ = c.file(fileResiduals)
	for ; from < c.m.tokens; from += step {
		codes, rows, err := in.read(from)
		if err != nil {
			return fail(path, err)
		}
		if outside(codes, c.m.k) >= 0 { // reported as such
			continue
		}
		stored, made = stored[:len(codes)], made[:len(codes)]
		if _, err := f.ReadAt(asBytes(stored), 4*from); err != nil {
			return fail(path, err)
		}
		if err := n.norms(made, codes, rows); err != nil {
			return err
		}
		for i, v := range stored {
			if math.Float32bits(v) != math.Float32bits(made[i]) {
				return corruptElement(path, from+int64(i), "inverse norm %v, codes and residuals give %v", v, made[i])
			}
		}
	}
	return nil
}

// tokenInput reads codes and residuals in pieces.
type tokenInput struct {
	codesFile, rowsFile io.ReaderAt
	row, total          int64
	codes               []int32
	rows                []byte
}

func newTokenInput(m *manifest) *tokenInput {
	n := min(m.tokens, normTokens)
	return &tokenInput{row: m.row(), total: m.tokens, codes: make([]int32, n), rows: make([]byte, n*m.row())}
}

// read is the piece from a token on; the slices are reused.
func (t *tokenInput) read(from int64) ([]int32, []byte, error) {
	n := min(normTokens, t.total-from)
	codes, rows := t.codes[:n], t.rows[:n*t.row]
	if _, err := t.codesFile.ReadAt(asBytes(codes), 4*from); err != nil {
		return nil, nil, err
	}
	_, err := t.rowsFile.ReadAt(rows, from*t.row)
	return codes, rows, err
}

// lists derives each list file again.
func (c *checker) lists() error {
	codes, codesPath := c.file(fileCodes)
	offsets, offsetsPath := c.file(fileOffsets)
	if codes == nil || offsets == nil {
		return nil
	}
	in := &tokens{codes: codes, codesPath: codesPath, offsets: offsets, offsetsPath: offsetsPath, total: c.m.tokens}
	for _, e := range c.m.segments() {
		f := c.files[e.name()]
		if f == nil {
			continue
		}
		err := derive(c.m.k, in, e.first, e.count, defaultBudget, c.compare(f, &e))
		if err == nil || errors.Is(err, ErrCorrupt) && c.report.damaged[fileOffsets] {
			continue // offsets that descend have been reported as such
		}
		return err
	}
	return nil
}

// compare takes the parts of a list file that are to be found in f.
func (c *checker) compare(f *os.File, e *entry) sink {
	path, at := filepath.Join(c.dir, e.name()), listsAt(c.m.k)
	pairs := (e.length - at) / 4
	return sink{
		offsets: func(want []int64) error {
			err := pieces(f, path, c.m.k+1, func(from int64, got []int64) error {
				for i, v := range got {
					if w := want[from+int64(i)]; v != w {
						return corruptElement(path, from+int64(i), "list offset %d, codes give %d", v, w)
					}
				}
				return nil
			})
			if err == nil && want[c.m.k] != pairs {
				err = corrupt(path, "%d documents in lists, codes give %d", pairs, want[c.m.k])
			}
			return err
		},
		documents: func(from int64, want []int32) error {
			part := io.NewSectionReader(f, at+4*from, 4*int64(len(want)))
			got := make([]int32, min(len(want), 1<<15))
			for done := 0; done < len(want); done += len(got) {
				got = got[:min(cap(got), len(want)-done)]
				if _, err := io.ReadFull(part, asBytes(got)); err != nil {
					return fail(path, err)
				}
				for i, v := range got {
					if w := want[done+i]; v != w {
						return corruptElement(path, from+int64(done+i), "document %d, codes give %d", v, w)
					}
				}
			}
			return nil
		},
	}
}

// Repair makes anew what Check finds wrong and is derivable, inverted lists and inverse
// norms, commits that as a generation, and removes what killed writers left. It returns the
// report of what it found. It fails with the first problem that is not derivable, and then
// changes nothing; otherwise with the errors of OpenWriter and Commit.
func Repair(dir string) (*Report, error) { return repair(dir, system{}) }

func repair(dir string, d disk) (report *Report, err error) {
	for {
		if report, err = Check(dir); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(report.Problems, notRepairable); i >= 0 {
			return report, report.Problems[i].Err
		}
		w, err := openWriter(dir, d, report.damaged)
		if err != nil {
			return report, err
		}
		if w.base.generation == report.Generation {
			return report, errors.Join(w.mend(report.damaged), w.Close())
		}
		// Another writer has committed meanwhile: what it wrote is to be looked at, too.
		if err := w.Close(); err != nil {
			return report, err
		}
	}
}

// mend makes files of damaged kinds anew and commits them.
func (w *Writer) mend(damaged map[kind]bool) error {
	if damaged[fileLists] {
		w.next.drop(fileLists, 0)
		w.dirty = true
	}
	if damaged[fileInvNorms] {
		if err := w.renorm(); err != nil {
			return err
		}
	}
	_, err := w.Commit()
	return err
}

// renorm writes all norms to a new file.
func (w *Writer) renorm() error {
	w.next.drop(fileInvNorms, 0)
	w.next.add(w.next.fresh(fileInvNorms))
	w.touched, w.dirty = true, true
	if err := w.make(fileInvNorms); err != nil {
		return err
	}
	in := newTokenInput(w.next)
	in.codesFile, in.rowsFile = w.open[fileCodes], w.open[fileResiduals]
	for from := int64(0); from < w.next.tokens; from += normTokens {
		codes, rows, err := in.read(from)
		if err != nil {
			return fail(w.dir, err)
		}
		norms, err := w.invNorms(codes, rows)
		if err != nil {
			return err
		}
		if err := w.put(fileInvNorms, asBytes(norms)); err != nil {
			return err
		}
	}
	return nil
}

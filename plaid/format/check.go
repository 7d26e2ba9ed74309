package format

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/likbench/likbench/plaid/codec"
)

// Problem is something wrong with an index.
type Problem struct {
	Err        error // an *Error: the file, and the first offending element where there is one
	Repairable bool  // by Repair, from codes, residuals and document lengths, which are known to be right
}

func (p Problem) String() string {
	if p.Repairable {
		return p.Err.Error() + " (repairable)"
	}
	return p.Err.Error()
}

// Report is what Check has found.
type Report struct {
	Flavour   Flavour // 0 where no index could be opened
	Documents int
	Tokens    int64
	Problems  []Problem
	Warnings  []error  // odd, but no problem
	Leftovers []string // chunk files that belong to no chunk
}

// Clean reports that nothing is wrong.
func (r *Report) Clean() bool { return len(r.Problems) == 0 }

// Repairable reports that Repair can mend all that is wrong.
func (r *Report) Repairable() bool {
	for _, p := range r.Problems {
		if !p.Repairable {
			return false
		}
	}
	return true
}

func (r *Report) add(err error, repairable bool) {
	if err != nil {
		r.Problems = append(r.Problems, Problem{err, repairable})
	}
}

// Check reads every file of an index in full, and compares what follows from codes,
// residuals and document lengths with what is stored: codes below K, tables ascending,
// inverted lists in order with every pair of centroid and document once, norms, counts,
// merged copies, sums of zip entries. It changes nothing. What is wrong is in the report; an
// error is one of the system.
func Check(dir string) (*Report, error) {
	r, x, err := check(dir)
	if x != nil {
		err = errors.Join(err, x.Close())
	}
	return r, err
}

func check(dir string) (*Report, *Index, error) {
	r := &Report{}
	x, err := open(dir, true, func() {})
	if err != nil {
		if e := (*Error)(nil); !errors.As(err, &e) {
			return r, nil, err
		}
		r.add(err, false)
		return r, nil, nil
	}
	r.Flavour, r.Documents, r.Tokens = x.flavour, x.Documents(), x.Tokens()
	for _, err := range append(x.damage, x.counts...) {
		r.add(err, true)
	}
	for _, w := range x.warnings {
		if !contains(x.counts, w) {
			r.Warnings = append(r.Warnings, w)
		}
	}
	if r.Leftovers, err = x.Leftovers(); err != nil {
		return r, x, err
	}
	x.checkTables(r)
	if x.checkCodes(r) {
		x.checkLists(r)
		x.checkNorms(r)
	}
	x.checkSpare(r)
	return r, x, x.checkSums(r)
}

func contains(errs []error, err error) bool {
	for _, e := range errs {
		if e == err {
			return true
		}
	}
	return false
}

// checkTables looks for cut points and weights that descend; a duplicate is legal.
func (x *Index) checkTables(r *Report) {
	names := [2]string{"bucket_cutoffs.npy", "bucket_weights.npy"}
	if x.flavour == ColBERT {
		names = [2]string{"buckets.pt", "buckets.pt"}
	}
	for i, values := range [][]float32{x.cutoffs, x.weights} {
		for j := 1; j < len(values); j++ {
			if values[j] < values[j-1] {
				r.add(corruptAt(x.path(names[i]), int64(j), "%v after %v", values[j], values[j-1]), false)
				break
			}
		}
	}
}

// checkCodes reads all codes and residuals, and reports whether they are good to derive from.
func (x *Index) checkCodes(r *Report) bool {
	ok := true
	codes, rows := make([]int32, codeBlock), make([]byte, codeBlock*x.row)
	for _, s := range x.segments {
		err := blocks(s.rows, func(from, n int64) error {
			return errors.Join(x.ReadCodes(codes[:n], s.from+from), x.ReadResiduals(rows[:n*int64(x.row)], s.from+from))
		})
		r.add(err, false)
		ok = ok && err == nil
	}
	return ok
}

// checkLists compares stored lists with those the codes make. Lists that contradict
// themselves can be made again, and lists that an update did not get to; of others that
// contradict the codes nobody knows which are wrong, and lists made again would hide a wrong
// code for good.
func (x *Index) checkLists(r *Report) {
	if x.lists == nil {
		return
	}
	want, err := BuildLists(x)
	if err != nil {
		r.add(err, false)
		return
	}
	var have []int32
	d := difference{x: x, in: make([]bool, x.Documents()), out: make([]bool, x.Documents())}
	for c := range x.k {
		if have, err = x.ReadLists(have[:0], c, 1); err != nil {
			r.add(err, true)
			return
		}
		d.compare(want.Documents[want.Offsets[c]:want.Offsets[c+1]], have, c)
	}
	// ColBERT's ids may go on beyond the lists.
	switch {
	case d.first == nil:
	case x.flavour != ColBERT && x.lists.offsets[x.k] < x.lists.ids.len():
		r.add(d.first, true)
	case d.short():
		r.add(corruptAt(x.lists.ids.path, d.at, "lists lack documents, %d entries in all: document %d in the list of centroid %d first", d.missing, d.document, d.list), true)
	default:
		r.add(d.first, false)
	}
}

// difference is what stored lists have other than the lists that the codes make.
type difference struct {
	x              *Index
	first          error
	at             int64 // in the ids, of the first entry that is missing
	document       int32
	list           int
	in, out        []bool // of each document: some list has it, some list that is stored lacks it
	missing, extra int64
	cut            int64 // of those missing, in lists beyond the ones that are stored
}

// short reports lists that an update did not get to, rather than a wrong code: that one leaves
// an entry too many in the list of the right code, or a document that other lists have, and
// never two entries missing. Updates leave documents out of all lists, when they end before
// the lists are written, and lists out from fast-plaid's num_partitions on.
func (d *difference) short() bool {
	if d.extra > 0 {
		return false
	}
	for j, out := range d.out {
		if out && d.in[j] {
			return false
		}
	}
	return d.missing > d.cut || d.cut > 1
}

// compare adds what list c has other than want.
func (d *difference) compare(want, have []int32, c int) {
	const wrong = "the list, or a code of the document, is wrong; `likbench plaid convert` makes lists anew from the codes"
	ids, from := d.x.lists.ids.path, d.x.lists.offsets[c]
	for i, j := 0, 0; i < len(want) || j < len(have); {
		at := from + int64(j)
		switch {
		case i >= len(want) || j < len(have) && have[j] < want[i]:
			if d.extra++; d.first == nil {
				d.first = corruptAt(ids, at, "document %d in the list of centroid %d owns no token of it: %s", have[j], c, wrong)
			}
			j++
		case j >= len(have) || have[j] > want[i]:
			if d.first == nil {
				d.first = corruptAt(ids, at, "document %d is missing in the list of centroid %d: %s", want[i], c, wrong)
			}
			if d.missing == 0 {
				d.at, d.document, d.list = at, want[i], c
			}
			if d.missing++; c >= d.x.lists.stored {
				d.cut++
			} else {
				d.out[want[i]] = true
			}
			i++
		default:
			d.in[want[i]] = true
			i, j = i+1, j+1
		}
	}
}

// checkNorms compares stored inverse norms with the vectors. Both are float32 sums of d
// squares, in whatever order, a root and a quotient. One that is no number can be computed
// again; where a number disagrees, it may be the vector that is wrong.
func (x *Index) checkNorms(r *Report) {
	d, err := x.Decoder()
	if err != nil {
		r.add(err, false)
		return
	}
	v := make([]float32, x.dim)
	for i := range x.segments {
		if s := &x.segments[i]; s.norms != nil {
			malformed, differs := x.compareNorms(s, d, v)
			r.add(malformed, true)
			r.add(differs, false)
		}
	}
}

// compareNorms finds the first stored norm of a segment that is no number, and the first that
// is not the vector's.
func (x *Index) compareNorms(s *segment, d *codec.Decoder, v []float32) (malformed, differs error) {
	limit := float64(x.dim+4) * 0x1p-24
	codes, norms, row := make([]int32, 1), make([]float32, 1), make([]byte, x.row)
	for i := int64(0); i < s.rows && differs == nil; i++ {
		if err := s.readNorms(norms, i); err != nil {
			if malformed == nil {
				malformed = err
			}
			continue
		}
		token := s.from + i
		if err := errors.Join(x.ReadCodes(codes, token), x.ReadResiduals(row, token)); err != nil {
			return malformed, err
		}
		want, err := d.InvNorm(v, int64(codes[0]), row)
		if err != nil {
			return malformed, err
		}
		if !(math.Abs(float64(norms[0])-float64(want)) <= limit*float64(want)) {
			differs = corruptAt(s.norms.path, i, "inverse norm %v of a vector with %v: the norm, or the code, residuals or centroid of token %d, is wrong", norms[0], want, token)
		}
	}
	return malformed, differs
}

// checkSpare compares merged files with the chunk files they are a copy of. A copy of other
// chunks is a stale one, from the first chunk on that was written since; where another chunk
// differs, either may be wrong, unless it is in norms, which are compared with the vectors.
func (x *Index) checkSpare(r *Report) {
	if x.spare == nil {
		return
	}
	for _, part := range []struct {
		copy  *tensor
		chunk func(s *segment) *tensor
		width int64
		of    *manifest
	}{
		{x.spare.codes, func(s *segment) *tensor { return s.codes }, 8, x.manifests[0]},
		{x.spare.residuals, func(s *segment) *tensor { return s.residuals }, int64(x.row), x.manifests[1]},
		{x.spare.norms, func(s *segment) *tensor { return s.norms }, 4, nil},
	} {
		if part.copy == nil {
			continue
		}
		if part.copy.rows() < x.Tokens() || len(part.copy.shape) == 2 && part.copy.shape[1] != x.row {
			r.add(corrupt(part.copy.path, "shape %v for %d tokens", part.copy.shape, x.Tokens()), true)
			continue
		}
		stale := x.stale || part.copy == x.spare.norms
		for i := range x.segments {
			chunk := part.chunk(&x.segments[i])
			if chunk == nil || chunk.item() != part.copy.item() {
				continue
			}
			stale = stale || part.of.older(chunk)
			if err := sameBytes(part.copy, chunk, x.segments[i].from, x.segments[i].rows, part.width); err != nil {
				r.add(err, stale)
				break
			}
		}
	}
}

// sameBytes compares rows of width bytes: those of chunk with those of copy from from on.
func sameBytes(copy, chunk *tensor, from, rows, width int64) error {
	a, b := make([]byte, codeBlock*width), make([]byte, codeBlock*width)
	return blocks(rows, func(at, n int64) error {
		if err := errors.Join(copy.readAt(a[:n*width], copy.at+(from+at)*width), chunk.readAt(b[:n*width], chunk.at+at*width)); err != nil {
			return err
		}
		for i := int64(0); i < n; i++ {
			if !bytes.Equal(a[i*width:(i+1)*width], b[i*width:(i+1)*width]) {
				return corruptAt(copy.path, from+at+i, "differs from %s, and one of the two is wrong", chunk.path)
			}
		}
		return nil
	})
}

// checkSums reads zip entries against their sums.
func (x *Index) checkSums(r *Report) error {
	for _, f := range x.files {
		if !strings.HasSuffix(f.path, ".pt") {
			continue
		}
		t, err := torchOf(f)
		if err != nil {
			r.add(fail(f.path, err), false)
			continue
		}
		if err := t.verify(); err != nil {
			r.add(err, strings.HasSuffix(f.path, "ivf.pid.pt"))
		}
	}
	return nil
}

// table is the index's table of buckets.
func (x *Index) table() codec.Table {
	return codec.Table{Bits: x.bits, Cutoffs: x.cutoffs, Weights: x.weights}
}

// Table returns the cut points and weights as one; the slices are shared.
func (x *Index) Table() (*codec.Table, error) {
	t := x.table()
	if x.cutoffs == nil {
		return nil, fmt.Errorf("format: %s: cutoffs: %w", x.dir, ErrMissing)
	}
	return &t, t.Check()
}

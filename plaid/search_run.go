package plaid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernels"
)

// sequence is the launch sequence that a searcher runs: some queries of a call, with one plan.
type sequence struct {
	ctx    context.Context
	c      *call
	group  []int
	p      plan
	sh     shape
	screen Screen
	norms  []float64 // of the call's queries
	scales []canon.Scale
	slack  []float64 // by how much a screened score may be wrong, per query
	floor  float64   // documents that score less are not asked for
	apart  bool      // the screen's forms of the queries go up when what needs none is under way
	timed  bool
}

// listed says what the listing holds, so that scans of all documents upload it once.
type listed struct {
	rows int64
	all  bool
}

// mark is a point in time between stages.
type mark struct {
	name  string
	event backend.Event
}

func cancelled(err error) error { return fmt.Errorf("plaid: search: %w", err) }

// sequence answers the queries of a group. Exact scores decide what a screen leaves open: what
// may reach the k-th of them, or floor, is scored.
func (s *Searcher) sequence(ctx context.Context, c *call, group []int, floor float64) error {
	r := &s.run
	r.floor = floor
	r.ctx, r.c, r.group, r.p, r.timed, r.norms = ctx, c, group, c.plans[group[0]], c.o.Timings, s.norms
	if err := s.start(firstLast(c.k)); err != nil {
		return err
	}
	if err := s.launches(); err != nil {
		return err
	}
	return s.collect()
}

// start sizes the sequence, grows what is too small and uploads the queries.
func (s *Searcher) start(last int64) error {
	r := &s.run
	q, sh := r.c.queries, shape{nq: int64(len(r.group))}
	for _, i := range r.group {
		n := q.Offsets[i+1] - q.Offsets[i]
		sh.tq, sh.longest = sh.tq+n, max(sh.longest, n)
	}
	n := int64(s.ix.Len())
	switch r.p.method {
	case MethodProbe:
		sh.probe, sh.cand = int64(r.p.probe), n
		sh.first = min(int64(r.p.first), n)
		sh.keep = min(int64(r.p.exact), n)
		if sh.first > 0 {
			sh.keep = min(sh.keep, sh.first)
		}
		sh.list = sh.keep
	default:
		sh.list = int64(len(s.sel.docs))
	}
	r.screen, sh.last = ScreenNone, sh.list
	if work := s.exactWork(sh); screenFewer*last < sh.list || 2*last < sh.list && work > largeWork {
		if err := s.needScreen(); err != nil {
			return err
		}
		if s.form != ScreenNone && s.screenable() && (s.measuring || s.ix.screens.pays(work, float64(last)/float64(sh.list))) {
			r.screen, sh.last = s.form, last
			if !s.measuring {
				sh.last = max(last, min(s.spare(sh.nq), sh.list/screenFewer))
			}
			sh.settle = min(sh.list, max(s.room/sh.nq, 1))
		}
	}
	r.sh = sh
	if err := s.reserve(sh); err != nil {
		return err
	}
	r.apart = s.goApart()
	return s.uploadQueries()
}

// goApart reports whether to make the screen's forms of the queries while the device is at
// work: it has to be one that goes on by itself, and there has to be something to do.
func (s *Searcher) goApart() bool {
	r := &s.run
	if r.screen == ScreenNone || s.measuring || r.timed || s.apart < 0 || r.p.method != MethodProbe && r.screen != ScreenInt8 {
		return false
	}
	_, alone := s.stream.(backend.GraphCapturer)
	return s.apart > 0 || alone && s.v.upload >= pinFrom
}

// firstLast is how many documents a screen leaves at first: enough to tell the first k apart
// from the rest on every collection that was measured.
func firstLast(k int) int64 { return int64(2*k + 16) }

// spare is the documents of each query that a device with so many units scores side by side: a
// screen may leave them in the time that fewer take, and leaves less open then.
func (s *Searcher) spare(nq int64) int64 { return int64(s.ix.dev.Info().Units) / max(nq, 1) }

// screenFewer is how many times fewer documents a screen has to leave, to be worth it for
// few of them.
const screenFewer = 4

// largeWork is the multiply-adds of exact scores that take longer than some launches on any
// device: it is worth finding out what a screen would take.
const largeWork = 1 << 28

// exactWork is the multiply-adds of scoring the lists of all queries exactly.
func (s *Searcher) exactWork(sh shape) float64 {
	return float64(sh.tq) * float64(sh.list) * s.ix.meanLength() * float64(s.ix.dim)
}

// needScreen settles the screen at the first call that can use one, and makes room for it.
func (s *Searcher) needScreen() (err error) {
	if s.form == ScreenAuto {
		if s.form, err = s.ix.chooseScreen(); err == nil && s.form != ScreenNone {
			s.have = shape{}
			err = s.renew(&s.work)
		}
	}
	return err
}

// reserve makes room for a shape.
func (s *Searcher) reserve(sh shape) error {
	if !s.have.covers(sh) || s.work == nil {
		have := s.have.grown(sh, s.ix)
		if err := s.renew(&s.work); err != nil {
			return err
		}
		s.have = shape{}
		var err error
		if s.work, err = alloc(s.ix.dev, s.layout(have).size); err != nil {
			return err
		}
		s.have = have
		s.most = s.layout(have)
		if err := s.hostSide(); err != nil {
			return err
		}
	}
	if rows := s.have.nq * max(s.have.list, s.have.last) * 4; s.run.p.method != MethodProbe && (s.listing == nil || s.listing.Len() < rows) {
		if err := s.renew(&s.listing); err != nil {
			return err
		}
		s.listed = listed{}
		var err error
		if s.listing, err = alloc(s.ix.dev, rows); err != nil {
			return err
		}
	}
	s.v = s.layout(sh)
	s.in = s.blocks.up.words
	if s.v.upload < pinFrom {
		s.in = s.blocks.small.words
	}
	s.forms = s.in[s.v.forms/8:]
	return nil
}

// hostSide makes room for what goes up and what comes down.
func (s *Searcher) hostSide() error {
	pin, _ := s.ix.dev.(backend.PinnedAllocator)
	err := errors.Join(s.blocks.small.renew(nil, min(s.most.upload, pinFrom)), s.blocks.up.free(), s.blocks.forms.free(),
		s.blocks.down.renew(pin, s.most.size-s.most.download))
	if err == nil && s.most.upload >= pinFrom {
		err = s.blocks.up.renew(pin, s.most.upload)
	}
	s.out = s.blocks.down.words
	if err != nil {
		s.have = shape{} // nothing may be taken for granted
	}
	return err
}

// renew frees a buffer that is too small, if there is one, with what was recorded and
// prepared for it.
func (s *Searcher) renew(b *backend.Buffer) error {
	s.gen++
	err := s.forget()
	if *b == nil {
		return err
	}
	old := *b
	*b = nil
	return errors.Join(err, s.stream.Sync(), old.Free())
}

// part is a dense view in the host side of the block that starts at base.
func part[T any](block []int64, base int64, v *backend.View) []T {
	var t T
	n := v.Bytes() / int64(unsafe.Sizeof(t))
	if n == 0 {
		return nil
	}
	at := unsafe.Add(unsafe.Pointer(unsafe.SliceData(block)), v.Off-base)
	return unsafe.Slice((*T)(at), n)
}

// uploadQueries fills the block that goes up: offsets, scales, tokens in each form, or all but
// the screen's.
func (s *Searcher) uploadQueries() error {
	r, v, d := &s.run, &s.v, int64(s.ix.dim)
	off := part[int64](s.in, 0, &v.queryOff.View)
	approx, exact, screen := part[int32](s.in, 0, &v.approxShift), part[int32](s.in, 0, &v.shift), part[int32](s.in, 0, &v.screenShift)
	tokens := part[float32](s.in, 0, &v.query)
	r.scales = r.scales[:0]
	at := int64(0)
	off[0] = 0
	for e, i := range r.group {
		n, norm := int64(len(r.c.tokens(i)))/d, r.norms[i]
		a, err := scale(n, norm, s.ix.dim, s.ix.centroidNorm)
		x, err2 := scale(n, norm, s.ix.dim, s.ix.tokenNorm)
		if err := errors.Join(err, err2); err != nil {
			return fmt.Errorf("plaid: query %d: %w: %w: %w", i, ErrQuery, err, backend.ErrArgument)
		}
		// A screened score may exceed the bound of exact ones a little.
		approx[e], exact[e], screen[e] = int32(a.Shift()), int32(x.Shift()), int32(x.Shift()-1)
		r.scales = append(r.scales, x)
		at += n
		off[e+1] = at
	}
	r.slack = slices.Grow(r.slack[:0], len(r.group))[:len(r.group)]
	size, workers := v.upload, int(at*d)
	if r.apart {
		size, workers = v.forms, 0 // copies alone take less time than sharing them
	}
	eachQuery(len(r.group), workers, func(_, e int) {
		q := r.c.tokens(r.group[e])
		copy(tokens[off[e]*d:], q)
		if !r.apart {
			r.slack[e] = s.screened(off[e], q, r.norms[r.group[e]])
		}
	})
	if err := s.stream.Upload(s.work, 0, raw(s.in[:size/8])); err != nil {
		return err
	}
	if err := s.uploadListing(); err != nil {
		return err
	}
	if s.sel.all || r.p.method != MethodProbe {
		return s.mark("upload")
	}
	if err := s.stream.Upload(s.work, v.allowed.Off, raw(s.sel.words)); err != nil {
		return err
	}
	return s.mark("upload")
}

// uploadForms fills and uploads what uploadQueries left out. It takes memory that is not
// page-locked: a transfer from there does not wait for what is under way.
func (s *Searcher) uploadForms() error {
	r, v := &s.run, &s.v
	if need := v.upload - v.forms; int64(len(s.blocks.forms.words))*8 < need {
		if err := s.blocks.forms.renew(nil, s.most.upload-s.most.forms); err != nil {
			return err
		}
	}
	s.forms = s.blocks.forms.words
	off, d := part[int64](s.in, 0, &v.queryOff.View), int64(s.ix.dim)
	eachQuery(len(r.group), int(off[len(r.group)]*d), func(_, e int) {
		r.slack[e] = s.screened(off[e], r.c.tokens(r.group[e]), r.norms[r.group[e]])
	})
	return s.stream.Upload(s.work, v.forms, raw(s.forms[:(v.upload-v.forms)/8]))
}

// enqueue launches the stages.
func (s *Searcher) enqueue() error {
	if err := s.approach(); err != nil {
		return err
	}
	return s.rank()
}

// approach launches the stages before those that rank.
func (s *Searcher) approach() error {
	switch {
	case s.run.p.method == MethodProbe:
		return s.reach()
	case s.run.screen == ScreenInt8:
		return launch(s, &s.steps.centroids, kernels.CentroidScores, fillCentroids, "centroids")
	}
	return nil
}

// uploadListing lists every allowed document for every query of a scan.
func (s *Searcher) uploadListing() error {
	r := &s.run
	if r.p.method != MethodScan {
		return nil
	}
	if s.listed.all && s.sel.all && s.listed.rows >= r.sh.nq {
		return nil
	}
	s.listed = listed{}
	row := raw(s.sel.docs)
	for i := range r.sh.nq {
		if err := s.stream.Upload(s.listing, i*int64(len(row)), row); err != nil {
			return err
		}
	}
	s.listed = listed{rows: r.sh.nq, all: s.sel.all}
	return nil
}

// rank scores the list: in a cheaper arithmetic to find what may be among the first k, and
// exactly.
func (s *Searcher) rank() error {
	var err error
	switch s.run.screen {
	case ScreenF16:
		err = launch(s, &s.steps.half, kernels.ResidualMaxSim, fillHalf, "screen")
	case ScreenInt8:
		err = launch(s, &s.steps.small, kernels.ResidualMaxSimInt8, fillSmall, "screen")
	}
	if err != nil {
		return err
	}
	if s.run.screen != ScreenNone {
		if err := launch(s, &s.steps.topScreened, kernels.TopK, fillTopScreened, "screen"); err != nil {
			return err
		}
	}
	if err := launch(s, &s.steps.exact, kernels.ResidualMaxSim, fillExact, "exact"); err != nil {
		return err
	}
	return nil
}

// mark ends a stage.
func (s *Searcher) mark(name string) error {
	if !s.run.timed {
		return nil
	}
	e, err := s.stream.Record()
	if err != nil {
		return err
	}
	s.marks = append(s.marks, mark{name, e})
	return nil
}

// stages turns marks into times, those of one name added up.
func (s *Searcher) stages() (times []StageTime, err error) {
	for i, m := range s.marks {
		var d time.Duration
		if i > 0 {
			var e error
			d, e = m.event.Elapsed(s.marks[i-1].event)
			err = errors.Join(err, e)
			if n := len(times); n > 0 && times[n-1].Name == m.name {
				times[n-1].Time += d
			} else {
				times = append(times, StageTime{m.name, d})
			}
		}
	}
	for _, m := range s.marks {
		err = errors.Join(err, m.event.Close())
	}
	s.marks = s.marks[:0]
	return times, err
}

package plaid

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/likbench/likbench/backend"
)

const (
	// screenFrom is the tokens of an index from which a screen is worth its own launches.
	screenFrom = 1 << 14
	// screenSample is the tokens that screens are first compared on; the sample grows by
	// screenGrows until it takes screenTime, and several times as long as the one before, so
	// that launches, and whoever else uses the device, do not decide, and a slow one is not
	// kept waiting.
	screenSample = 1 << 9
	screenGrows  = 16
	screenTime   = 200 * time.Microsecond
	screenQuery  = 32 // tokens
	// screenRounds are run in turn, and the best time of each screen counts: what else the
	// machine does meets all of them.
	screenRounds = 5
)

// trial is a screen that is being compared.
type trial struct {
	screen   Screen
	s        *Searcher
	best     time.Duration
	admitted bool    // by the device and the index
	work     float64 // multiply-adds of exact scores
}

// fastestScreen compares the screens, and no screen, on documents of the index. Which one it
// takes changes times only.
func (ix *Index) fastestScreen() (Screen, error) {
	before := time.Duration(math.MaxInt64 / screenGrows)
	for sample := int64(screenSample); ; sample *= screenGrows {
		best, err := ix.compareScreens(sample)
		if err != nil {
			return "", err
		}
		if best.best >= max(screenTime, before*screenGrows/4) || sample >= ix.tokens {
			return best.screen, nil
		}
		before = best.best
	}
}

// compareScreens runs each screen that the device and the index admit on documents with a
// number of tokens in all.
func (ix *Index) compareScreens(tokens int64) (best trial, err error) {
	var trials []*trial
	defer func() {
		for _, t := range trials {
			err = errors.Join(err, t.s.Close())
		}
	}()
	for _, screen := range []Screen{ScreenInt8, ScreenF16, ScreenNone} {
		t, err := ix.newTrial(screen, tokens)
		if err != nil {
			return best, err
		}
		trials = append(trials, t)
	}
	best.best = math.MaxInt64
	for range screenRounds {
		for _, t := range trials {
			if err := t.run(); err != nil {
				return best, err
			}
		}
	}
	for _, t := range trials {
		time := t.best
		if t.screen == ScreenNone { // a screen spares work for certain: a little noise is not to hide that
			time += time / 4
		}
		if time < best.best {
			best = trial{screen: t.screen, best: time}
		}
	}
	sc := &ix.screens
	sc.screenTime, sc.exactTime = best.best.Seconds()/trials[0].work, trials[len(trials)-1].best.Seconds()/trials[0].work
	return best, nil
}

// newTrial makes a searcher that is ready to screen.
func (ix *Index) newTrial(screen Screen, tokens int64) (*trial, error) {
	stream, err := ix.dev.NewStream()
	if err != nil {
		return nil, err
	}
	s := &Searcher{ix: ix, stream: stream, form: screen, measuring: true}
	s.sel.words = ix.words
	for s.sel.tokens < tokens && len(s.sel.docs) < len(ix.docs) {
		j := ix.docs[len(s.sel.docs)]
		s.sel.docs = append(s.sel.docs, j)
		s.sel.tokens += ix.offsets[j+1] - ix.offsets[j]
	}
	n := min(screenQuery, ix.k)
	c := &call{queries: Tokens{Vectors: ix.centroids[:n*ix.dim], Offsets: []int64{0, int64(n)}, Dim: ix.dim}, k: 1, o: &SearchOptions{}}
	r := &s.run
	r.ctx, r.c, r.group, r.p, r.norms = context.Background(), c, []int{0}, plan{method: MethodScan}, []float64{maxNorm(c.tokens(0), ix.dim)}
	if err = s.start(1); err == nil && r.screen == screen {
		// Centroid scores are made here, once: in a search they serve more tokens than here.
		err = errors.Join(s.enqueue(), s.stream.Sync())
	}
	if err != nil && !errors.Is(err, backend.ErrUnsupported) {
		return nil, errors.Join(err, s.Close())
	}
	return &trial{screen: screen, s: s, best: math.MaxInt64, admitted: err == nil && r.screen == screen,
		work: float64(n) * float64(s.sel.tokens) * float64(ix.dim)}, nil
}

// run times the trial once more.
func (t *trial) run() error {
	if !t.admitted {
		return nil
	}
	start := time.Now()
	if err := errors.Join(t.s.rank(), t.s.stream.Sync()); err != nil {
		return err
	}
	t.best = min(t.best, time.Since(start))
	return nil
}

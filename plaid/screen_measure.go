package plaid

import (
	"context"
	"errors"
	"time"

	"github.com/likbench/likbench/backend"
)

const (
	// screenFrom is the tokens of an index from which a screen is worth its own launches.
	screenFrom = 1 << 14
	// screenSample is the tokens that screens are first compared on; the sample grows until
	// it takes screenTime, so that launches do not decide for a fast device and a slow one
	// is not kept waiting.
	screenSample = 1 << 12
	screenTime   = 200 * time.Microsecond
	screenQuery  = 32 // tokens
)

// fastestScreen compares the screens, and no screen, on documents of the index. Which one it
// takes changes times only.
func (ix *Index) fastestScreen() (Screen, error) {
	for sample := int64(screenSample); ; sample *= 16 {
		best, least := ScreenNone, time.Duration(-1)
		for _, screen := range []Screen{ScreenInt8, ScreenF16, ScreenNone} {
			t, err := ix.timeScreen(screen, sample)
			if errors.Is(err, backend.ErrUnsupported) {
				continue
			}
			if err != nil {
				return "", err
			}
			if screen == ScreenNone { // a screen spares work for certain: a little noise is not to hide that
				t += t / 4
			}
			if least < 0 || t < least {
				best, least = screen, t
			}
		}
		if least >= screenTime || sample >= ix.tokens {
			return best, nil
		}
	}
}

// timeScreen is the time of scoring documents with a number of tokens in all, the best one of
// several.
func (ix *Index) timeScreen(screen Screen, tokens int64) (best time.Duration, err error) {
	stream, err := ix.dev.NewStream()
	if err != nil {
		return 0, err
	}
	s := &Searcher{ix: ix, stream: stream, form: screen, measuring: true}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.sel.words = ix.words
	for n := int64(0); n < tokens && len(s.sel.docs) < len(ix.docs); {
		j := ix.docs[len(s.sel.docs)]
		s.sel.docs = append(s.sel.docs, j)
		n += ix.offsets[j+1] - ix.offsets[j]
	}
	n := min(screenQuery, ix.k)
	c := &call{queries: Tokens{Vectors: ix.centroids[:n*ix.dim], Offsets: []int64{0, int64(n)}, Dim: ix.dim}, k: 1, o: &SearchOptions{}}
	r := &s.run
	r.ctx, r.c, r.group, r.p, r.norms = context.Background(), c, []int{0}, plan{method: MethodScan}, []float64{maxNorm(c.tokens(0), ix.dim)}
	if err := s.start(1); err != nil {
		return 0, err
	}
	if r.screen != screen { // it cannot serve this index
		return 0, &backend.UnsupportedError{Backend: ix.dev.Backend().Name(), Kernel: "screen", Variant: string(screen), Reason: "the index does not suit it"}
	}
	for range 4 { // the first one prepares
		start := time.Now()
		if err := s.enqueue(); err != nil {
			return 0, err
		}
		if err := s.stream.Sync(); err != nil {
			return 0, err
		}
		if t := time.Since(start); best == 0 || t < best {
			best = t
		}
	}
	return best, nil
}

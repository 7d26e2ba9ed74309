package plaid

import (
	"errors"
	"fmt"
	"math"

	"github.com/likbench/likbench/backend"
)

// Trials compares the screens on samples of sizes that choosing one goes through, and says
// what was chosen.
func (ix *Index) Trials() (text string, err error) {
	chosen, err := ix.chooseScreen()
	if err != nil {
		return "", err
	}
	text = fmt.Sprintf("screen %q, inverse norms up to %.3g; microseconds by", chosen, ix.invMax)
	for sample := int64(screenSample); sample <= ix.tokens; sample *= screenGrows {
		text += fmt.Sprintf(" %d tokens:", sample)
		for _, screen := range []Screen{ScreenInt8, ScreenF16, ScreenNone} {
			t, err := ix.newTrial(screen, sample)
			if err != nil {
				return text, err
			}
			for range screenRounds {
				err = errors.Join(err, t.run())
			}
			if err = errors.Join(err, t.s.Close()); err != nil {
				return text, err
			}
			if t.best < math.MaxInt64 {
				text += fmt.Sprintf(" %s %d", screen, t.best.Microseconds())
			}
		}
	}
	return text, nil
}

// Apart makes a searcher send the screen's forms of queries up by themselves, or never.
func (s *Searcher) Apart(yes bool) {
	if s.apart = -1; yes {
		s.apart = 1
	}
}

// Narrow makes a searcher take what a screen left open in small parts, up to whole of its scores
// at once.
func (s *Searcher) Narrow(whole int64) { s.room, s.whole, s.portion = 100, whole, 7 }

// ExactElsewhere is the choice of preset Exact for a query of tq tokens on a device with memory
// of its own.
func (ix *Index) ExactElsewhere(tq, k int) (Method, string) {
	far := &Index{dim: ix.dim, k: ix.k, docs: ix.docs, liveTokens: ix.liveTokens}
	far.mem.weight.Buf = struct{ backend.Buffer }{}
	return far.exactMethod(tq, k, &selection{docs: ix.docs, tokens: ix.liveTokens}, &SearchOptions{Preset: Exact})
}

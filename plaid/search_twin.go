package plaid

import (
	"context"
	"errors"
)

// twinFrom is the tokens of a batch from which two searchers take a half each, where the
// device is not the host: while it works for one, the host prepares the other's queries and
// reads its results.
const twinFrom = 1024

// both answers the queries of a call.
func (s *Searcher) both(ctx context.Context, c *call) error {
	half, err := s.halve(c)
	if half == nil || err != nil {
		return errors.Join(err, s.answer(ctx, c))
	}
	done := make(chan error, 1)
	go func() { done <- s.twin.answer(ctx, half) }()
	err = s.answer(ctx, c)
	if other := <-done; err == nil {
		err = other
	}
	return err
}

// halve takes half of the tokens of a large batch off a call, for the twin, which is made
// here; nil where there is nothing to gain.
func (s *Searcher) halve(c *call) (*call, error) {
	tokens := int64(0)
	for _, i := range c.todo {
		tokens += c.queries.Offsets[i+1] - c.queries.Offsets[i]
	}
	if !s.split || tokens < twinFrom || len(c.todo) < 2 || c.o.Timings {
		return nil, nil
	}
	if s.twin == nil {
		var err error
		if s.twin, err = s.ix.NewSearcher(); err != nil {
			return nil, err
		}
	}
	s.twin.sel, s.twin.norms = s.sel, s.norms
	at, n := 0, int64(0)
	for ; 2*n < tokens; at++ {
		n += c.queries.Offsets[c.todo[at]+1] - c.queries.Offsets[c.todo[at]]
	}
	other := *c // hits, statistics and plans are those of both, each query's its own
	other.todo, c.todo = c.todo[at:], c.todo[:at:at]
	return &other, nil
}

// answer is all, with nothing left on the stream if it fails.
func (s *Searcher) answer(ctx context.Context, c *call) error {
	err := s.all(ctx, c)
	if err == nil {
		return nil
	}
	// A failed launch may have left work and a status behind, and events.
	err = errors.Join(err, s.stream.Sync())
	for _, m := range s.marks {
		err = errors.Join(err, m.event.Close())
	}
	s.marks = s.marks[:0]
	return err
}

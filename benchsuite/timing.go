package benchsuite

import (
	"context"
	"fmt"
	"time"

	"github.com/likbench/likbench/backend"
)

// timer repeats an operation by the protocol.
type timer struct {
	clock      Clock
	resolution time.Duration
	budget     time.Duration // for one measurement, warm-up included
}

const (
	minWarm    = 5
	minRepeats = 5
	maxRepeats = 2000

	// frozen is the operations after which a clock that has not moved stands still: at 50 ns
	// each they take longer than the coarsest step.
	frozen = 1_000_000
)

// run warms up, then samples op, which performs n operations and returns how long they
// took by some clock; n grows until a sample covers enough steps of the clock. Samples are
// in nanoseconds per operation.
func (t *timer) run(ctx context.Context, op func(n int) (time.Duration, error)) ([]float64, error) {
	start := t.clock.Now()
	n := 1
	var took time.Duration
	for warm := 0; ; warm++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if took, err = op(n); err != nil {
			return nil, err
		}
		if took < 0 {
			return nil, fmt.Errorf("benchsuite: an operation took %v: %w", took, ErrClock)
		}
		if took == 0 && n >= frozen {
			return nil, fmt.Errorf("benchsuite: %d operations take no time on a clock with steps of %v: %w", n, t.resolution, ErrClock)
		}
		if took < minSteps*t.resolution && n < 1<<24 {
			n *= grow(took, minSteps*t.resolution)
			warm = -1
			continue
		}
		if warm >= minWarm && (t.clock.Now()-start > t.budget/5 || warm > 200) {
			break
		}
	}
	return t.sample(ctx, n, start, op)
}

func (t *timer) sample(ctx context.Context, n int, start time.Duration, op func(int) (time.Duration, error)) ([]float64, error) {
	var out []float64
	for len(out) < minRepeats || len(out) < maxRepeats && t.clock.Now()-start < t.budget {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := op(n)
		if err != nil {
			return nil, err
		}
		if d <= 0 {
			return nil, fmt.Errorf("benchsuite: an operation took %v: %w", d, ErrClock)
		}
		out = append(out, float64(d.Nanoseconds())/float64(n))
	}
	return out, nil
}

// grow is the factor by which a sample must hold more operations.
func grow(took, want time.Duration) int {
	if took <= 0 {
		return 10
	}
	return int(min(max(want/took+1, 2), 10))
}

// wallOp launches and waits for each operation.
func (t *timer) wallOp(s backend.Stream, launch func() error) func(int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		from := t.clock.Now()
		for range n {
			if err := launch(); err != nil {
				return 0, err
			}
			if err := s.Sync(); err != nil {
				return 0, err
			}
		}
		return t.clock.Now() - from, nil
	}
}

// backToBack is the most operations between two events: enough to hide the launch cost of
// the first, too few to fill the driver's queue.
const backToBack = 16

// longOp is the time from which one launch hides its own cost: the wall time is the
// device's, to 0.2 % of a 10 µs launch.
const longOp = 5 * time.Millisecond

// deviceOp launches batch operations back to back between two events.
func (t *timer) deviceOp(s backend.Stream, batch int, launch func() error) func(int) (time.Duration, error) {
	return func(n int) (took time.Duration, err error) {
		from, err := s.Record()
		if err != nil {
			return 0, err
		}
		defer from.Close()
		for range n * batch {
			if err := launch(); err != nil {
				return 0, err
			}
		}
		to, err := s.Record()
		if err != nil {
			return 0, err
		}
		defer to.Close()
		if err := s.Sync(); err != nil {
			return 0, err
		}
		took, err = to.Elapsed(from)
		return took / time.Duration(batch), err
	}
}

package benchsuite

import (
	"errors"
	"fmt"
	"time"
)

// Clock tells time. The resolution of real clocks runs from nanoseconds to 15.6 ms.
type Clock interface{ Now() time.Duration }

// wall is the process's monotonic clock.
type wall struct{ start time.Time }

func (w wall) Now() time.Duration { return time.Since(w.start) }

// WallClock returns the monotonic clock of this process.
func WallClock() Clock { return wall{time.Now()} }

// ErrClock is a clock that cannot be measured with.
var ErrClock = errors.New("unusable clock")

// maxReads bounds the search for a step: at 20 ns a read, 100 ms.
const maxReads = 5_000_000

// Resolution is the smallest step the clock was seen to take, over a few steps.
func Resolution(c Clock) (time.Duration, error) {
	least := time.Duration(0)
	last := c.Now()
	steps := 0
	for range maxReads {
		now := c.Now()
		if now < last {
			return 0, fmt.Errorf("benchsuite: clock went back from %v to %v: %w", last, now, ErrClock)
		}
		if d := now - last; d > 0 {
			if least == 0 || d < least {
				least = d
			}
			if steps++; steps == 8 {
				return least, nil
			}
		}
		last = now
	}
	if least > 0 {
		return least, nil
	}
	return 0, fmt.Errorf("benchsuite: clock stood still for %d reads: %w", maxReads, ErrClock)
}

// minSteps is the clock steps that a sample covers: 1 % of quantisation at most.
const minSteps = 100

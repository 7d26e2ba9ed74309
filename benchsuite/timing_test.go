package benchsuite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sequence is a clock that shows given times, then the last one for ever.
type sequence []time.Duration

func (s *sequence) Now() time.Duration {
	t := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	return t
}

func TestResolution(t *testing.T) {
	for _, step := range []time.Duration{100 * time.Nanosecond, time.Millisecond, 15600 * time.Microsecond} {
		got, err := Resolution(&steps{step: step, read: 20 * time.Nanosecond})
		require.NoError(t, err)
		require.Equal(t, step, got)
	}
	got, err := Resolution(WallClock())
	require.NoError(t, err)
	require.Positive(t, got)
}

func TestResolutionRefuses(t *testing.T) {
	_, err := Resolution(&sequence{5, 7, 6})
	require.ErrorIs(t, err, ErrClock)
	require.EqualError(t, err, "benchsuite: clock went back from 7ns to 6ns: unusable clock")
	_, err = Resolution(&sequence{5})
	require.ErrorIs(t, err, ErrClock)
	require.EqualError(t, err, "benchsuite: clock stood still for 5000000 reads: unusable clock")
}

// A kernel of 9 µs on coarse clocks: samples grow until 100 steps are covered, and the
// rate is right to the quantisation that is left.
func TestTimerOnCoarseClocks(t *testing.T) {
	const cost = 9 * time.Microsecond
	for _, step := range []time.Duration{100 * time.Nanosecond, time.Millisecond, 15600 * time.Microsecond} {
		t.Run(step.String(), func(t *testing.T) {
			clock := &steps{step: step}
			timer := timer{clock, step, 100 * time.Millisecond}
			calls, largest := 0, 0
			op := func(n int) (time.Duration, error) {
				calls, largest = calls+1, max(largest, n)
				from := clock.Now()
				clock.now += time.Duration(n) * cost
				return clock.Now() - from, nil
			}
			samples, err := timer.run(t.Context(), op)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(samples), minRepeats)
			require.GreaterOrEqual(t, calls, len(samples)+minWarm)
			require.GreaterOrEqual(t, time.Duration(largest)*cost, minSteps*step-step)
			for _, s := range samples {
				require.InEpsilon(t, float64(cost.Nanoseconds()), s, 1./minSteps+1e-9)
			}
		})
	}
}

func TestTimerRefusesClocks(t *testing.T) {
	timer := timer{&steps{step: 1, read: 1}, time.Microsecond, time.Millisecond}
	_, err := timer.run(t.Context(), func(int) (time.Duration, error) { return -time.Nanosecond, nil })
	require.ErrorIs(t, err, ErrClock)
	require.ErrorContains(t, err, "took -1ns")

	_, err = timer.run(t.Context(), func(int) (time.Duration, error) { return 0, nil })
	require.ErrorIs(t, err, ErrClock)
	require.ErrorContains(t, err, "operations take no time on a clock with steps of 1µs")

	warm := 0
	_, err = timer.run(t.Context(), func(int) (time.Duration, error) {
		if warm++; warm > 300 {
			return 0, nil // the clock stops after the warm-up
		}
		return time.Second, nil
	})
	require.ErrorIs(t, err, ErrClock)
}

func TestTimerPassesErrorsAndCancellation(t *testing.T) {
	timer := timer{&steps{step: 1, read: 1}, 1, time.Hour}
	broken := errors.New("broken")
	_, err := timer.run(t.Context(), func(int) (time.Duration, error) { return 0, broken })
	require.ErrorIs(t, err, broken)

	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err = timer.run(ctx, func(int) (time.Duration, error) {
		if calls++; calls == 20 {
			cancel()
		}
		return time.Second, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 20, calls)
}

func TestSummarize(t *testing.T) {
	require.Equal(t, Spread{}, Summarize(nil))
	require.Equal(t, Spread{Median: 3, Min: 3, N: 1}, Summarize([]float64{3}))
	// Sorted 1 2 4 8: quartiles at ranks .75, 1.5 and 2.25.
	require.Equal(t, Spread{Median: 3, IQR: 5 - 1.75, Min: 1, N: 4}, Summarize([]float64{8, 1, 4, 2}))
	// Sorted 1 2 3 4 10: quartiles are order statistics.
	require.Equal(t, Spread{Median: 3, IQR: 2, Min: 1, N: 5}, Summarize([]float64{10, 4, 3, 2, 1}))
}

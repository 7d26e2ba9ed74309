package plaid

import (
	"fmt"
	"time"
)

// Stats say what a query took.
type Stats struct {
	Preset Preset
	Method Method
	Reason string // of each automatic choice
	Screen Screen // arithmetic that sorted out documents before exact scores, "" for none

	Probe        int   // cells of each query token, in the last round
	Rounds       int   // of probing; more than one where it was widened
	Cells        int   // distinct ones that were probed
	Candidates   int   // documents reached
	Approximated int   // documents scored by their centroids, or bounded by them
	Screened     int   // documents scored in the arithmetic of Screen
	Exact        int   // documents scored exactly
	Pruned       int   // allowed documents without an exact score that a bound excluded, with proof
	Exhaustive   bool  // the answer is that of scoring every allowed document, proven
	Bytes        int64 // of index and scores that were read, documents taken at the mean length

	Batch   int // queries that ran together; times are those of all of them
	Stages  []StageTime
	Elapsed time.Duration // on the wall
}

// StageTime is the device time of a stage, of the last round.
type StageTime struct {
	Name string
	Time time.Duration
}

func (s *Stats) String() string {
	text := fmt.Sprintf("%s by %s (%s): %d cells, %d candidates, %d approximated, %d screened, %d exact, %d pruned, %d bytes, %v",
		s.Preset, s.Method, s.Reason, s.Cells, s.Candidates, s.Approximated, s.Screened, s.Exact, s.Pruned, s.Bytes, s.Elapsed)
	for _, t := range s.Stages {
		text += fmt.Sprintf(", %s %v", t.Name, t.Time)
	}
	return text
}

package build

import (
	"fmt"
	"time"

	"github.com/likbench/likbench/backend/kernel"
)

// Stage is a part of a build.
type Stage string

// The stages of a build, in order. Given centroids leave out Sample and Centroids, a given
// table Table.
const (
	Scan      Stage = "scan"      // reading the collection: lengths, checks, checksum
	Sample    Stage = "sample"    // reading the sample
	Centroids Stage = "centroids" // k-means
	Table     Stage = "table"     // buckets of residuals
	Encode    Stage = "encode"    // codes and residuals of every document
	Write     Stage = "write"     // into the index
)

// Progress is how far a build has come. Totals are 0 where they are not known yet.
type Progress struct {
	Stage                  Stage
	Iteration, Iterations  int // of k-means, from 1
	Documents, OfDocuments int64
	Tokens, OfTokens       int64 // of the stage or, in k-means, of the iteration
}

// StageTime is how long a stage took.
type StageTime struct {
	Stage Stage
	Time  time.Duration
}

// Statistics are figures of a build. All but times, memory and resumed chunks follow from
// collection and options.
type Statistics struct {
	Documents, Empty int64 // empty: without tokens
	Tokens           int64
	OddNorms         int64 // tokens, before any normalisation, of a norm outside 1 ± 0.01
	SampledDocuments int64 // with tokens
	SampledTokens    int64
	TrainingTokens   int64 // the sample, thinned to Options.PointsPerCentroid
	HeldOut          int64 // tokens that the table was measured on
	Centroids        int64
	Iterations       int   // of k-means in this run
	Converged        bool  // the last one changed nothing
	Reseeded         int64 // cells that lost all tokens and were moved
	Chunks           int   // of the index
	Resumed          int   // of Chunks, those that an earlier run had finished
	Resident         bool  // the sample stayed on the device
	DevicePeak       int64 // bytes, 0 where the device does not say
	Stages           []StageTime
	Fallbacks        []kernel.FallbackCount // launches that the device could not run
}

// Warnings are what a person should hear about a build that worked.
func (s *Statistics) Warnings() []string {
	var out []string
	if s.OddNorms > 0 {
		out = append(out, fmt.Sprintf("%d of %d tokens have a norm outside 1 ± %g: scores are products with normalised vectors", s.OddNorms, s.Tokens, oddNorm))
	}
	for _, f := range s.Fallbacks {
		out = append(out, fmt.Sprintf("%s ran on the host %d times: %s", f.Kernel, f.Launches, f.Reason))
	}
	return out
}

// report tells the caller and keeps the time of stages.
func (b *builder) report(p Progress) {
	b.enter(p.Stage)
	if b.o.Progress != nil {
		b.o.Progress(p)
	}
}

// enter ends the running stage, if it is another, and starts this one.
func (b *builder) enter(s Stage) {
	if b.stage == s {
		return
	}
	b.leave()
	b.stage, b.since = s, time.Now()
}

func (b *builder) leave() {
	if b.stage != "" {
		b.stats.Stages = append(b.stats.Stages, StageTime{b.stage, time.Since(b.since)})
	}
	b.stage = ""
}

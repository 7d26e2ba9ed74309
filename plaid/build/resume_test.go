package build

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/plaid/store"
)

var errKilled = errors.New("killed here")

// files are the contents of a folder, by name.
func files(t *testing.T, dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range entries {
		require.False(t, e.IsDir(), e.Name())
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		out[e.Name()] = string(raw)
	}
	return out
}

// A build stopped at any point, or at one after another, is finished by later runs with the
// same files; what was finished is not done again.
func TestResumed(t *testing.T) {
	docs, dev := clustered(1, 50, 14, 16), fast(t)
	o := Options{Seed: 7, ChunkTokens: 70, Centroids: 20, Iterations: 3}
	whole := filepath.Join(t.TempDir(), "whole")
	var points []string
	all := o
	all.halt = func(point string) error { points = append(points, point); return nil }
	s, err := Build(ctx(), dev, whole, docs, all)
	require.NoError(t, err)
	want := files(t, whole)
	require.Greater(t, s.Chunks, 3)
	require.Contains(t, points, "after chunk-00000002")

	for _, point := range points {
		dir := filepath.Join(t.TempDir(), "x")
		killed := o
		killed.halt = func(p string) error {
			if p == point {
				return errKilled
			}
			return nil
		}
		_, err := Build(ctx(), dev, dir, docs, killed)
		require.ErrorIs(t, err, errKilled, point)
		s, err := Build(ctx(), dev, dir, docs, o)
		require.NoError(t, err, point)
		require.Equal(t, want, files(t, dir), point)
		if strings.HasPrefix(point, "after chunk-00000002") {
			require.Equal(t, 3, s.Resumed)
			require.Zero(t, s.Iterations)
		}
	}

	dir, runs := filepath.Join(t.TempDir(), "x"), 0
	for left := points; ; runs++ {
		step := o
		step.halt = func(p string) error {
			if len(left) > 0 && p == left[0] && strings.HasPrefix(p, "after") {
				left = left[1:]
				return errKilled
			}
			if len(left) > 0 && p == left[0] {
				left = left[1:]
			}
			return nil
		}
		if _, err := Build(ctx(), dev, dir, docs, step); err == nil {
			break
		}
	}
	require.Greater(t, runs, 5)
	require.Equal(t, want, files(t, dir))
}

// Another collection, or other options, find the area taken; Restart takes it.
func TestUnfinishedOfAnother(t *testing.T) {
	docs, dev, dir := clustered(1, 50, 14, 16), fast(t), filepath.Join(t.TempDir(), "x")
	o := Options{Seed: 7, ChunkTokens: 70, Centroids: 20}
	killed := o
	killed.halt = func(p string) error {
		if p == "after chunk-00000001" {
			return errKilled
		}
		return nil
	}
	_, err := Build(ctx(), dev, dir, docs, killed)
	require.ErrorIs(t, err, errKilled)

	other := o
	other.Seed++
	_, err = Build(ctx(), dev, dir, docs, other)
	require.ErrorIs(t, err, ErrUnfinished)
	require.ErrorContains(t, err, "other options")
	changed := *docs
	changed.Vectors = append([]float32(nil), docs.Vectors...)
	changed.Vectors[100] = math.Nextafter32(changed.Vectors[100], 2)
	_, err = Build(ctx(), dev, dir, &changed, o)
	require.ErrorIs(t, err, ErrUnfinished)
	require.ErrorContains(t, err, "another collection")

	require.NoError(t, os.Truncate(filepath.Join(dir, AreaName, chunkFile(1)), 100))
	s, err := Build(ctx(), dev, filepath.Join(t.TempDir(), "y"), docs, o)
	require.NoError(t, err)
	require.Zero(t, s.Resumed)
	require.NoError(t, os.WriteFile(filepath.Join(dir, AreaName, stateFile), []byte("x"), 0o666))
	_, err = Build(ctx(), dev, dir, docs, o)
	require.ErrorIs(t, err, ErrCorrupt)
	other.Restart = true
	s, err = Build(ctx(), dev, dir, docs, other)
	require.NoError(t, err)
	require.Zero(t, s.Resumed)
	_, err = Build(ctx(), dev, dir, docs, other)
	require.ErrorIs(t, err, store.ErrExists)
}

// A torn chunk is made again, with those after it.
func TestTornChunk(t *testing.T) {
	docs, dev, dir := clustered(1, 50, 14, 16), fast(t), filepath.Join(t.TempDir(), "x")
	o := Options{Seed: 7, ChunkTokens: 70, Centroids: 20}
	killed := o
	killed.halt = func(p string) error {
		if p == "after chunk-00000002" {
			return errKilled
		}
		return nil
	}
	_, err := Build(ctx(), dev, dir, docs, killed)
	require.ErrorIs(t, err, errKilled)
	require.NoError(t, os.Truncate(filepath.Join(dir, AreaName, chunkFile(1)), 100))
	s, err := Build(ctx(), dev, dir, docs, o)
	require.NoError(t, err)
	require.Equal(t, 1, s.Resumed)
}

// Two builds in one folder: the second is refused and disturbs nothing.
func TestLocked(t *testing.T) {
	docs, dev, dir := clustered(1, 20, 14, 16), fast(t), filepath.Join(t.TempDir(), "x")
	o := Options{Centroids: 4}
	o.halt = func(p string) error {
		if p == "before codec" {
			_, err := Build(ctx(), dev, dir, docs, Options{Centroids: 4})
			require.ErrorIs(t, err, store.ErrLocked)
		}
		return nil
	}
	_, err := Build(ctx(), dev, dir, docs, o)
	require.NoError(t, err)
}

// A cancelled build says why it stopped, and goes on later.
func TestCancelled(t *testing.T) {
	docs, dev := clustered(1, 50, 14, 16), fast(t)
	why := errors.New("enough")
	for _, stage := range []Stage{Scan, Sample, Centroids, Table, Encode} {
		dir := filepath.Join(t.TempDir(), "x")
		c, cancel := context.WithCancelCause(ctx())
		o := Options{ChunkTokens: 70, Centroids: 20}
		seen := o
		seen.Progress = func(p Progress) {
			if p.Stage == stage {
				cancel(why)
			}
		}
		_, err := Build(c, dev, dir, docs, seen)
		require.ErrorIs(t, err, why, stage)
		_, err = Build(ctx(), dev, dir, docs, o)
		require.NoError(t, err)
	}
}

// Progress ascends within a stage and stages come in order.
func TestProgressAndStatistics(t *testing.T) {
	docs := clustered(1, 50, 14, 16)
	for i := range docs.Vectors[:32] {
		docs.Vectors[i] *= 2
	}
	var stages []Stage
	var last Progress
	o := Options{ChunkTokens: 70, Centroids: 20, Progress: func(p Progress) {
		if len(stages) == 0 || stages[len(stages)-1] != p.Stage {
			stages = append(stages, p.Stage)
		} else if p.Iteration == last.Iteration {
			require.GreaterOrEqual(t, p.Tokens, last.Tokens)
		}
		if p.OfTokens > 0 {
			require.LessOrEqual(t, p.Tokens, p.OfTokens)
		}
		last = p
	}}
	s, err := Build(ctx(), fast(t), filepath.Join(t.TempDir(), "x"), docs, o)
	require.NoError(t, err)
	require.Equal(t, []Stage{Scan, Sample, Centroids, Table, Encode, Write}, stages)
	require.Len(t, s.Stages, 6)
	require.Equal(t, int64(2), s.OddNorms)
	require.Contains(t, s.Warnings()[0], "2 of")
	require.Equal(t, docs.Offsets[50], s.Tokens)
	require.Equal(t, s.Tokens, s.TrainingTokens)
	require.Positive(t, s.DevicePeak)
	require.Equal(t, int64(20), s.Centroids)
}

// TestNormBeyondScores: a token whose rebuilt squares overflow float32 would score 0 everywhere.
func TestNormBeyondScores(t *testing.T) {
	docs := &Arrays{Components: 8, Vectors: make([]float32, 32), Offsets: []int64{0, 1, 1, 4}}
	for i := range docs.Vectors {
		docs.Vectors[i] = float32(i%5) - 2
	}
	docs.Vectors[17] = 1e19
	_, _, err := InMemory(ctx(), fast(t), docs, Options{})
	require.ErrorIs(t, err, ErrNorm)
	require.ErrorContains(t, err, "build: document 2: a norm of 1e+19")
	_, _, err = InMemory(ctx(), fast(t), docs, Options{Normalize: true})
	require.NoError(t, err)
}

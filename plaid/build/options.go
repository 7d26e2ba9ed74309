package build

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/likbench/likbench/plaid/codec"
)

// Options say how an index is built. Those of the first group decide its bytes, together
// with the collection and nothing else: not the backend, the number of workers or memory.
type Options struct {
	Bits              int    // residual bits a component: 1, 2, 4 or 8; 0 = 2
	Centroids         int    // 0 = 2^⌊log2(16·√tokens)⌋; never more than the sample has tokens
	Iterations        int    // of k-means, at most; 0 = 4
	PointsPerCentroid int    // training tokens, at most; 0 = 256
	Sample            int    // sampled documents; 0 = 1 + ⌊16·√(120·documents)⌋
	ChunkTokens       int    // tokens encoded and stored together; 0 = 32 MiB of vectors
	Seed              uint64 // of every draw
	Normalize         bool   // divide tokens by max(‖x‖, 1e-6), in float64, rounded once
	// Codec holds centroids to use instead of k-means. Its table may be absent (no Cutoffs
	// and no Weights) and is then measured.
	Codec *Codec

	// AllowEmpty makes a collection without tokens an index that finds nothing.
	AllowEmpty bool
	// Restart discards the building area of an unfinished build, whatever it is of.
	Restart bool
	// DeviceMemory is the bytes of vectors to keep on the device; 0 = half of what is free.
	// A sample beyond it is read again for each iteration.
	DeviceMemory int64
	// Progress is called on the goroutine of the build, at least once a stage.
	Progress func(Progress)

	halt func(point string) error // tests: stop here
}

// maxChunkTokens bounds the indices of a chunk.
const maxChunkTokens = 1 << 30

// filled returns the options with defaults in place of zeros, checked for d components.
func (o Options) filled(d int) (Options, error) {
	if o.Bits == 0 {
		o.Bits = 2
		if o.Codec != nil && o.Codec.Bits != 0 {
			o.Bits = o.Codec.Bits
		}
	}
	for _, f := range []struct {
		name  string
		value *int
		or    int
	}{
		{"centroids", &o.Centroids, 0}, {"iterations", &o.Iterations, 4}, {"points per centroid", &o.PointsPerCentroid, 256},
		{"sampled documents", &o.Sample, 0}, {"chunk tokens", &o.ChunkTokens, min(max(1<<23/max(d, 1), 1<<12), 1<<20)},
	} {
		if *f.value < 0 || *f.value > math.MaxInt32 {
			return o, fmt.Errorf("build: %d %s: %w", *f.value, f.name, ErrOptions)
		}
		if *f.value == 0 {
			*f.value = f.or
		}
	}
	o.ChunkTokens = min(o.ChunkTokens, maxChunkTokens)
	if o.DeviceMemory < 0 {
		return o, fmt.Errorf("build: %d bytes of device memory: %w", o.DeviceMemory, ErrOptions)
	}
	if _, err := codec.RowBytes(d, o.Bits); err != nil {
		return o, fmt.Errorf("build: %d components of %d bits: %w", d, o.Bits, err)
	}
	return o, o.checkCodec(d)
}

func (o *Options) checkCodec(d int) error {
	c := o.Codec
	if c == nil {
		return nil
	}
	switch {
	case c.Dim != d:
		return fmt.Errorf("build: centroids of %d components for tokens of %d: %w", c.Dim, d, ErrWidth)
	case c.Bits != 0 && c.Bits != o.Bits:
		return fmt.Errorf("build: %d bits asked for, a table of %d given: %w", o.Bits, c.Bits, ErrOptions)
	case len(c.Centroids) == 0 || len(c.Centroids)%d != 0 || len(c.Centroids)/d > math.MaxInt32:
		return fmt.Errorf("build: %d values of centroids of %d components: %w", len(c.Centroids), d, ErrOptions)
	case o.Centroids != 0 && o.Centroids != len(c.Centroids)/d:
		return fmt.Errorf("build: %d centroids asked for, %d given: %w", o.Centroids, len(c.Centroids)/d, ErrOptions)
	}
	for i, v := range c.Centroids {
		if v-v != 0 {
			return fmt.Errorf("build: centroid %d, component %d is %v: %w", i/d, i%d, v, ErrOptions)
		}
	}
	if !hasTable(c) {
		return nil
	}
	if err := (&codec.Table{Bits: o.Bits, Cutoffs: c.Cutoffs, Weights: c.Weights}).Check(); err != nil {
		return fmt.Errorf("build: given table: %w", err)
	}
	return nil
}

// hasTable reports that a codec is complete.
func hasTable(c *Codec) bool { return len(c.Cutoffs) > 0 || len(c.Weights) > 0 }

// hash names everything that decides the bytes of an index but the collection.
func (o *Options) hash(d int) string {
	h := sha256.New()
	normalize := uint64(0)
	if o.Normalize {
		normalize = 1
	}
	for _, v := range []uint64{formatVersion, uint64(d), uint64(o.Bits), uint64(o.Centroids), uint64(o.Iterations),
		uint64(o.PointsPerCentroid), uint64(o.Sample), uint64(o.ChunkTokens), o.Seed, normalize} {
		binary.Write(h, binary.LittleEndian, v)
	}
	if c := o.Codec; c != nil {
		for _, part := range [][]float32{c.Centroids, c.Cutoffs, c.Weights, c.AverageResidual, {c.Threshold}} {
			binary.Write(h, binary.LittleEndian, uint64(len(part)))
			h.Write(bytesOf(part))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
)

// Codec is the centroids and the table of buckets of an index.
type Codec = store.Codec

// builder is one run of a build.
type builder struct {
	c   Collection
	d   int
	dev backend.Device
	o   Options

	room   block
	census census
	plan   *plan
	area   *area
	engine *engine

	resident bool // all training tokens are in the engine's window
	whole    bool // and they are all tokens, in order
	heldOut  []float32
	thinned  []float32 // room

	centroids []float32
	iteration int
	converged bool

	drift *Drift // of an addition
	stats Statistics
	stage Stage
	since time.Time
}

func newBuilder(dev backend.Device, c Collection, o Options) (*builder, error) {
	d := c.Dim()
	o, err := o.filled(d)
	if err != nil {
		return nil, err
	}
	return &builder{c: c, d: d, dev: dev, o: o}, nil
}

// reader reads the collection as tokens are built from, and checks that it has not changed.
func (b *builder) reader(limit int64) *reader {
	return &reader{c: b.c, d: b.d, total: b.census.tokens, limit: limit, normalize: b.o.Normalize, lens: b.census.lens, room: &b.room}
}

// Build makes the index of a collection in the folder dir, which is made if there is none
// (its parent has to exist), and returns figures about it.
//
// Until the index is committed, what is finished is kept in the folder's building area:
// after an error, or after the process was killed, a further Build with the same options
// and collection continues after the last complete chunk, and the files of the index come
// out the same.
//
// It fails with store.ErrExists for a folder that holds an index, store.ErrLocked where
// another build is at work, ErrUnfinished for the building area of another build, ErrEmpty,
// ErrOptions, ErrChanged, an *InputError that names document and token, the error that the
// collection gave, that of the context, or of the device or the file system.
func Build(ctx context.Context, dev backend.Device, dir string, c Collection, o Options) (*Statistics, error) {
	b, err := newBuilder(dev, c, o)
	if err != nil {
		return nil, err
	}
	exists, err := occupied(dir)
	if err != nil {
		return nil, err
	}
	if err := b.measureInput(ctx); err != nil {
		return nil, err
	}
	b.area, err = openArea(dir, b.o.hash(b.d), b.census.digest, o.Restart, o.halt)
	if err != nil {
		return nil, err
	}
	b.stats.Resumed = b.stats.Chunks
	if !exists {
		b.stats.Resumed = 0
		err = b.run(ctx, &indexSink{b: b, dir: dir})
	}
	if err == nil {
		err = b.area.remove()
	}
	if err = errors.Join(err, b.area.release()); err != nil {
		return nil, err
	}
	b.leave()
	return &b.stats, nil
}

// InMemory is Build without a folder: the index in memory, which cannot be resumed.
func InMemory(ctx context.Context, dev backend.Device, c Collection, o Options) (*format.Memory, *Statistics, error) {
	b, err := newBuilder(dev, c, o)
	if err != nil {
		return nil, nil, err
	}
	if err := b.measureInput(ctx); err != nil {
		return nil, nil, err
	}
	sink := &memorySink{m: &format.Memory{Components: b.d, Width: b.o.Bits, DocumentOffsets: []int64{0}}}
	if err := b.run(ctx, sink); err != nil {
		return nil, nil, err
	}
	b.leave()
	return sink.m, &b.stats, nil
}

// occupied reports an index that an interrupted build committed, whose area is still there.
// Any other index fails with store.ErrExists.
func occupied(dir string) (bool, error) {
	x, err := store.Open(dir)
	if err == nil {
		err = x.Close()
		if _, none := os.Stat(filepath.Join(dir, AreaName, stateFile)); err == nil && none != nil {
			err = fmt.Errorf("build: %s: %w", dir, store.ErrExists)
		}
		return true, err
	}
	if !errors.Is(err, store.ErrNoIndex) {
		return false, err
	}
	if _, err := os.Lstat(filepath.Join(dir, "metadata.json")); err == nil {
		return false, fmt.Errorf("build: %s: of another format: %w", dir, store.ErrExists)
	}
	return false, nil
}

// measureInput reads the collection for the first time and draws the plan.
func (b *builder) measureInput(ctx context.Context) error {
	b.enter(Scan)
	if err := b.scan(ctx); err != nil {
		return err
	}
	b.plan = newPlan(b.census.lens, &b.o)
	s := &b.stats
	s.Documents, s.Empty, s.Tokens, s.OddNorms = int64(len(b.census.lens)), b.census.empty, b.census.tokens, b.census.odd
	s.SampledDocuments, s.SampledTokens, s.TrainingTokens, s.Centroids = b.plan.sampled, b.plan.tokens, b.plan.training, b.plan.k
	for range b.chunks(0) {
		s.Chunks++
	}
	if b.census.tokens == 0 && !b.o.AllowEmpty {
		return fmt.Errorf("build: %d documents: %w", s.Documents, ErrEmpty)
	}
	return nil
}

// run does everything after the first reading.
func (b *builder) run(ctx context.Context, to sink) (err error) {
	peak := func() int64 { return 0 }
	if p, ok := b.dev.(backend.PeakScoper); ok {
		peak = p.PeakScope()
	}
	defer func() {
		b.stats.DevicePeak = peak()
		if b.engine != nil {
			b.stats.Fallbacks = b.engine.fallback.Counts()
			err = errors.Join(err, b.engine.Close())
		}
		err = errors.Join(err, to.close())
	}()
	if b.census.tokens == 0 {
		return b.runEmpty(ctx, to)
	}
	if err := b.open(); err != nil {
		return err
	}
	c, err := b.train(ctx)
	if err != nil {
		return err
	}
	return b.encodeTo(ctx, c, to)
}

// runEmpty makes an index that has documents, but no token.
func (b *builder) runEmpty(ctx context.Context, to sink) error {
	c := b.o.Codec
	if c == nil || !hasTable(c) {
		c = blankCodec(b.o.Bits, b.d)
		b.stats.Centroids = 1
	}
	if err := to.begin(c); err != nil {
		return err
	}
	for part := range b.chunks(0) {
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		if err := to.put(&chunk{first: part.first, lens: part.lens}); err != nil {
			return err
		}
	}
	return to.commit()
}

// open makes the engine: with a window for the whole sample where memory allows, or else
// for a chunk.
func (b *builder) open() error {
	token := int64(b.d) * 4
	least := min(int64(b.o.ChunkTokens), b.census.tokens)
	if needed := b.plan.training; needed > 0 && needed*token <= b.memory() {
		// The held-out tokens are looked at beside those that stay.
		e, err := newEngine(b.dev, int64(b.d), b.plan.k, max(needed+min(b.plan.held, heldOutPiece), least))
		if err == nil {
			b.engine, b.resident = e, true
			b.whole = needed == b.census.tokens
			b.stats.Resident = true
			return nil
		}
		if !errors.Is(err, backend.ErrOutOfMemory) && !errors.Is(err, backend.ErrTooLarge) && !errors.Is(err, backend.ErrBudget) {
			return fmt.Errorf("build: %w", err)
		}
	}
	e, err := newEngine(b.dev, int64(b.d), b.plan.k, least)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	b.engine = e
	return nil
}

// memory is the bytes of vectors that may stay on the device.
func (b *builder) memory() int64 {
	if b.o.DeviceMemory > 0 {
		return b.o.DeviceMemory
	}
	m := b.dev.Memory()
	free := m.Total
	if m.Budget > 0 {
		free = min(free, m.Budget)
	}
	if m.Total == 0 {
		free = max(m.Budget, 1<<32)
	}
	return (free - m.Live) / 2
}

// train returns the codec: given, found in the area, or made.
func (b *builder) train(ctx context.Context) (*Codec, error) {
	if c := b.o.Codec; c != nil {
		if hasTable(c) {
			b.whole = false
			return c, nil
		}
		b.centroids, b.converged = c.Centroids, true
	}
	if c := b.area.codec(b.o.Bits, b.d); c != nil {
		b.whole = false // tokens have not been uploaded in this run
		return c, nil
	}
	if b.o.Codec == nil {
		if x, n, converged, ok := b.area.centroids(b.plan.k * int64(b.d)); ok {
			b.centroids, b.iteration, b.converged = x, n, converged
		}
	}
	b.enter(Sample)
	if err := b.gather(ctx); err != nil {
		return nil, err
	}
	if b.o.Codec == nil {
		b.enter(Centroids)
		if err := b.kmeans(ctx); err != nil {
			return nil, err
		}
		b.stats.Converged = b.converged
	}
	b.enter(Table)
	c, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	return c, b.area.saveCodec(c)
}

// encodeTo encodes what no earlier run has, and commits everything.
func (b *builder) encodeTo(ctx context.Context, c *Codec, to sink) error {
	b.enter(Encode)
	if err := to.begin(c); err != nil {
		return err
	}
	from, err := to.resume()
	if err != nil {
		return err
	}
	if from < int64(len(b.census.lens)) {
		if err := b.encodeAll(ctx, c, from, to.put); err != nil {
			return err
		}
	}
	return to.commit()
}

// sink takes the chunks of an index in order.
type sink interface {
	begin(c *Codec) error
	resume() (from int64, err error) // the first document that it lacks
	put(c *chunk) error              // keeps nothing of c
	commit() error
	close() error
}

// memorySink makes an index in memory.
type memorySink struct{ m *format.Memory }

func (s *memorySink) begin(c *Codec) error {
	s.m.Cells, s.m.Average, s.m.Radius = c.Centroids, c.AverageResidual, c.Threshold
	s.m.Table = codec.Table{Bits: s.m.Width, Cutoffs: c.Cutoffs, Weights: c.Weights}
	return nil
}

func (s *memorySink) resume() (int64, error) { return 0, nil }

func (s *memorySink) put(c *chunk) error {
	for _, n := range c.lens {
		s.m.DocumentOffsets = append(s.m.DocumentOffsets, s.m.DocumentOffsets[len(s.m.DocumentOffsets)-1]+int64(n))
	}
	s.m.TokenCodes = append(s.m.TokenCodes, c.codes...)
	s.m.Residuals = append(s.m.Residuals, c.residuals...)
	return nil
}

func (s *memorySink) commit() error { return nil }
func (s *memorySink) close() error  { return nil }

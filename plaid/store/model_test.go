package store

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/plaid/codec"
)

// model is what a sequence of changes should leave.
type model struct {
	codec     Codec
	decoder   *codec.Decoder
	committed state
	next      state
}

func newModel(t testing.TB, c Codec) *model {
	d, err := codec.NewDecoder(c.Centroids, c.Dim, c.Bits, c.Weights)
	require.NoError(t, err)
	return &model{codec: c, decoder: d, committed: state{Centroids: c.Centroids}, next: state{Centroids: c.Centroids}}
}

func (m *model) append(t testing.TB, b Block) { m.next.append(t, m.codec, m.decoder, b) }

func (m *model) delete(ids []int64) {
	m.next.Documents = slices.Clone(m.next.Documents)
	for i := range m.next.Documents {
		if d := &m.next.Documents[i]; slices.Contains(ids, d.ID) {
			d.Deleted = true
		}
	}
}

func (m *model) compact() {
	m.next.Documents = m.next.live()
	m.commit()
}

func (m *model) commit() {
	m.committed = m.next
	m.committed.Documents = slices.Clone(m.next.Documents)
}

func (m *model) drop() {
	m.next = m.committed
	m.next.Documents = slices.Clone(m.committed.Documents)
}

// randomBlock has a few documents, with ids of its own now and then.
func randomBlock(random *rand.Rand, c Codec, next int64) Block {
	lens := make([]int64, random.IntN(6))
	for i := range lens {
		lens[i] = random.Int64N(7)
	}
	b := sampleBlock(random.Uint64(), c, lens...)
	if random.IntN(3) == 0 {
		b.IDs = make([]int64, len(lens))
		for i := range b.IDs {
			next += random.Int64N(3)
			b.IDs[i] = next
			next++
		}
	}
	return b
}

// someIDs are ids that documents have, some twice, some deleted before.
func someIDs(random *rand.Rand, documents []document) []int64 {
	var out []int64
	for range min(random.IntN(5), len(documents)) {
		out = append(out, documents[random.IntN(len(documents))].ID)
	}
	return append(out, out...)
}

func TestRandomSequence(t *testing.T) {
	const seed, steps = 20, 600
	random := rand.New(rand.NewPCG(seed, 5))
	m := newModel(t, halved(sampleCodec(5, 8, 4, 6)))
	dir := filepath.Join(memoryDir(t), "index")
	w, err := create(dir, m.codec, Options{BlockBytes: 64}, quick{})
	require.NoError(t, err)
	_, err = w.Commit()
	require.NoError(t, err)
	reopen := func() {
		w, err = openWriter(dir, quick{}, nil)
		require.NoError(t, err)
	}
	for step := range steps {
		switch random.IntN(12) {
		case 0, 1, 2, 3:
			b := randomBlock(random, m.codec, m.next.NextID)
			require.NoError(t, w.Append(b), "step %d", step)
			m.append(t, b)
		case 4, 5, 6:
			ids := someIDs(random, m.next.Documents)
			require.NoError(t, w.Delete(ids), "step %d", step)
			m.delete(ids)
		case 7:
			require.ErrorIs(t, w.Delete([]int64{m.next.NextID}), ErrUnknownID)
		case 8, 9:
			_, err := w.Commit()
			require.NoError(t, err, "step %d", step)
			m.commit()
		case 10:
			require.NoError(t, w.Close())
			m.drop()
			reopen()
		case 11:
			require.NoError(t, w.Close())
			m.drop()
			_, err := compact(dir, quick{})
			require.NoError(t, err, "step %d", step)
			m.compact()
			reopen()
		}
		require.True(t, equalState(m.committed, stateAt(t, dir)), "seed %d, step %d", seed, step)
		if step%50 == 0 {
			report, err := Check(dir)
			require.NoError(t, err)
			require.Empty(t, report.Problems, "seed %d, step %d", seed, step)
		}
	}
	require.NoError(t, w.Close())
}

// TestConcurrentReaders: eight readers open the folder again and again while a writer
// commits fifty generations, compactions among them, and see exactly one generation each time.
func TestConcurrentReaders(t *testing.T) {
	const generations, readers = 50, 8
	dir := filepath.Join(memoryDir(t), "index")
	m := newModel(t, sampleCodec(6, 8, 2, 4))
	var published sync.Map // generation → state, before readers can see it
	w, err := create(dir, m.codec, Options{BlockBytes: 64}, quick{})
	require.NoError(t, err)
	first := sampleBlock(1, m.codec, 3, 2, 1)
	require.NoError(t, w.Append(first))
	m.append(t, first)
	m.commit()
	published.Store(uint64(1), m.committed)
	_, err = w.Commit()
	require.NoError(t, err)

	done := make(chan struct{})
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for open := true; open; {
				select {
				case <-done:
					open = false // the last generation is read, too
				default:
				}
				readOne(t, dir, &published)
			}
		})
	}
	old, err := Open(dir)
	require.NoError(t, err)
	oldState, _ := published.Load(old.Generation())
	random := rand.New(rand.NewPCG(8, 8))
	for g := uint64(2); g <= generations; g++ {
		if g%10 == 0 {
			require.NoError(t, w.Close())
			m.compact()
			published.Store(g, m.committed)
			_, err = compact(dir, quick{})
			require.NoError(t, err)
			w, err = openWriter(dir, quick{}, nil)
			require.NoError(t, err)
			continue
		}
		addAndDelete(t, w, m, random)
		published.Store(g, m.committed)
		got, err := w.Commit()
		require.NoError(t, err)
		require.Equal(t, g, got)
		runtime.Gosched()
	}
	close(done)
	all.Wait()
	require.True(t, equalState(oldState.(state), stateOf(t, old)), "the first generation changed under its reader")
	require.NoError(t, old.Close())
	require.NoError(t, w.Close())
	report, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Empty(t, report.Leftovers)
}

// addAndDelete changes writer and model alike.
func addAndDelete(t testing.TB, w *Writer, m *model, random *rand.Rand) {
	b := sampleBlock(random.Uint64(), m.codec, 1+random.Int64N(4), 0, random.Int64N(3))
	ids := append(someIDs(random, m.next.Documents), m.next.Documents[0].ID)
	require.NoError(t, w.Append(b))
	require.NoError(t, w.Delete(ids))
	m.append(t, b)
	m.delete(ids)
	m.commit()
}

// readOne opens the newest generation and compares all of it.
func readOne(t *testing.T, dir string, published *sync.Map) {
	s, err := Open(dir)
	if err != nil {
		t.Errorf("open: %v", err)
		return
	}
	want, ok := published.Load(s.Generation())
	if !ok || !equalState(want.(state), stateOf(t, s)) {
		t.Errorf("generation %d is not what was committed", s.Generation())
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestListsInSmallPieces(t *testing.T) {
	c := sampleCodec(9, 8, 1, 7)
	dir := filepath.Join(t.TempDir(), "index")
	w, err := create(dir, c, Options{}, quick{})
	require.NoError(t, err)
	w.budget = 3 // many passes over the codes
	var blocks []Block
	for i := range uint64(6) {
		blocks = append(blocks, sampleBlock(i, c, 9, 0, 4, 30))
		require.NoError(t, w.Append(blocks[i]))
		_, err := w.Commit()
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.True(t, equalState(expected(t, c, blocks...), stateAt(t, dir)))
}

func TestSegmentsStayFew(t *testing.T) {
	c := sampleCodec(10, 8, 1, 2)
	dir := filepath.Join(memoryDir(t), "index")
	w, err := create(dir, c, Options{}, quick{})
	require.NoError(t, err)
	const commits = 200
	for i := range uint64(commits) {
		require.NoError(t, w.Append(sampleBlock(i, c, 2, 3)))
		_, err := w.Commit()
		require.NoError(t, err)
		require.LessOrEqual(t, len(w.base.segments()), 9) // log2 of 400 documents
	}
	require.NoError(t, w.Close())
	_, err = compact(dir, quick{})
	require.NoError(t, err)
	s, err := Open(dir)
	require.NoError(t, err)
	require.Equal(t, 1, s.Segments())
	stateOf(t, s)
	require.NoError(t, s.Close())
	require.Len(t, contents(t, dir), 8)
	_, err = os.Stat(filepath.Join(dir, lockName))
	require.ErrorIs(t, err, os.ErrNotExist)
}

package store

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

// sampleCodec is a seeded codec of K centroids.
func sampleCodec(seed uint64, dim, bits, k int) Codec {
	random := rand.New(rand.NewPCG(seed, 1))
	c := Codec{Dim: dim, Bits: bits, Centroids: make([]float32, k*dim), Threshold: 0.5, AverageResidual: make([]float32, dim)}
	for i := range c.Centroids {
		c.Centroids[i] = float32(random.NormFloat64())
	}
	for i := range c.AverageResidual {
		c.AverageResidual[i] = random.Float32()
	}
	for i := range 1 << bits {
		c.Weights = append(c.Weights, float32(2*i-1<<bits)/8)
		c.Cutoffs = append(c.Cutoffs, float32(2*i+1-1<<bits)/8)
	}
	c.Cutoffs = c.Cutoffs[1:]
	return c
}

// sampleBlock are documents of the given lengths; norms and ids are left to the writer.
func sampleBlock(seed uint64, c Codec, lens ...int64) Block {
	random := rand.New(rand.NewPCG(seed, 2))
	b := Block{Lens: lens}
	for _, n := range lens {
		for range n {
			b.Codes = append(b.Codes, int32(random.IntN(len(c.Centroids)/c.Dim)))
			for range c.Dim * c.Bits / 8 {
				b.Residuals = append(b.Residuals, byte(random.Uint32()))
			}
		}
	}
	return b
}

// document is one document of a state.
type document struct {
	ID        int64
	Codes     []int32
	Residuals []byte
	InvNorms  []float32
	Deleted   bool
}

// state is everything that an index holds.
type state struct {
	NextID    int64
	Centroids []float32
	Documents []document
}

// live are the documents that are not deleted.
func (s state) live() []document {
	return slices.DeleteFunc(slices.Clone(s.Documents), func(d document) bool { return d.Deleted })
}

// stateOf reads a snapshot in full, and compares what is stored twice.
func stateOf(t testing.TB, s *Snapshot) state {
	t.Helper()
	out := state{NextID: s.NextID(), Centroids: slices.Clone(s.Centroids())}
	offsets, row, live := s.Offsets(), int64(s.RowBytes()), 0
	require.Len(t, offsets, s.Documents()+1)
	require.Len(t, s.IDs(), s.Documents())
	require.Len(t, s.Codes(), int(s.Tokens()))
	require.Len(t, s.Residuals(), int(s.Tokens()*row))
	require.Len(t, s.InvNorms(), int(s.Tokens()))
	for j, id := range s.IDs() {
		from, to := offsets[j], offsets[j+1]
		d := document{ID: id, Codes: append([]int32{}, s.Codes()[from:to]...),
			Residuals: append([]byte{}, s.Residuals()[from*row:to*row]...), InvNorms: append([]float32{}, s.InvNorms()[from:to]...)}
		if words := s.Deleted(); words != nil {
			require.Len(t, words, (s.Documents()+31)/32)
			d.Deleted = words[j/32]>>(j%32)&1 == 1
		}
		if !d.Deleted {
			live++
		}
		out.Documents = append(out.Documents, d)
	}
	require.Equal(t, s.Live(), live)
	want, err := format.BuildLists(s)
	require.NoError(t, err)
	at, documents := s.Lists()
	require.Equal(t, want.Offsets, at)
	require.Equal(t, len(want.Documents), len(documents))
	require.True(t, slices.Equal(want.Documents, documents))
	return out
}

// stateAt opens and reads a folder.
func stateAt(t testing.TB, dir string) state {
	t.Helper()
	s, err := Open(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	return stateOf(t, s)
}

// expected is the state that appending blocks with consecutive ids makes.
func expected(t testing.TB, c Codec, blocks ...Block) state {
	t.Helper()
	out := state{Centroids: c.Centroids}
	d, err := codec.NewDecoder(c.Centroids, c.Dim, c.Bits, c.Weights)
	require.NoError(t, err)
	for _, b := range blocks {
		out.append(t, c, d, b)
	}
	return out
}

func (s *state) append(t testing.TB, c Codec, d *codec.Decoder, b Block) {
	at, row, scratch := int64(0), int64(c.Dim*c.Bits/8), make([]float32, c.Dim)
	for i, n := range b.Lens {
		doc := document{ID: s.NextID, Codes: append([]int32{}, b.Codes[at:at+n]...), Residuals: append([]byte{}, b.Residuals[at*row:(at+n)*row]...), InvNorms: []float32{}}
		if b.IDs != nil {
			doc.ID = b.IDs[i]
		}
		s.NextID = doc.ID + 1
		for j, code := range doc.Codes {
			v, err := d.InvNorm(scratch, int64(code), doc.Residuals[int64(j)*row:int64(j+1)*row])
			require.NoError(t, err)
			doc.InvNorms = append(doc.InvNorms, v)
		}
		s.Documents = append(s.Documents, doc)
		at += n
	}
}

// made is a committed index of blocks.
func made(t testing.TB, c Codec, blocks ...Block) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	w, err := create(dir, c, Options{BlockBytes: 64}, quick{})
	require.NoError(t, err)
	for _, b := range blocks {
		require.NoError(t, w.Append(b))
	}
	_, err = w.Commit()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return dir
}

func TestRoundTrip(t *testing.T) {
	for _, bits := range []int{1, 2, 4, 8} {
		for _, dim := range []int{8, 24, 128} {
			c := sampleCodec(7, dim, bits, 5)
			blocks := []Block{sampleBlock(1, c, 0, 3, 1, 0), sampleBlock(2, c), sampleBlock(3, c, 0), sampleBlock(4, c, 40, 0)}
			dir := made(t, c, blocks...)
			require.Equal(t, expected(t, c, blocks...), stateAt(t, dir))
			for _, copied := range []bool{false, true} {
				s, err := OpenWith(dir, OpenOptions{Copied: copied})
				require.NoError(t, err)
				require.Equal(t, expected(t, c, blocks...), stateOf(t, s))
				require.Equal(t, []any{dim, bits, 5, uint64(1), 7, int64(44), c.Cutoffs, c.Weights, c.AverageResidual, c.Threshold},
					[]any{s.Dim(), s.Bits(), s.K(), s.Generation(), s.Live(), s.Tokens(), s.Cutoffs(), s.Weights(), s.AverageResidual(), s.ClusterThreshold()})
				require.NoError(t, s.Close())
				require.ErrorIs(t, s.ReadCodes(nil, 0), ErrClosed)
			}
		}
	}
}

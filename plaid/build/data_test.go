package build

import (
	"context"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	_ "github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/simd"
)

// clustered is unit vectors around random directions, the way tokens of a language model
// lie, in documents of random length, some of them empty.
func clustered(seed uint64, documents, longest, d int) *Arrays {
	r := rand.New(rand.NewPCG(seed, 0))
	directions := make([]float32, 50*d)
	for i := range directions {
		directions[i] = float32(r.NormFloat64())
	}
	a := &Arrays{Components: d, Offsets: []int64{0}}
	for range documents {
		for range r.IntN(longest + 1) {
			c := r.IntN(50)
			row := make([]float32, d)
			for i := range row {
				row[i] = directions[c*d+i] + float32(0.6*r.NormFloat64())
			}
			canon.Normalize(row, row)
			a.Vectors = append(a.Vectors, row...)
		}
		a.Offsets = append(a.Offsets, int64(len(a.Vectors)/d))
	}
	return a
}

// streamed is a collection that gives its documents in one buffer, overwritten each time.
type streamed struct{ a *Arrays }

func (s streamed) Dim() int { return s.a.Components }

func (s streamed) Documents() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		var room []float32
		for doc := range s.a.Documents() {
			room = append(room[:0], doc...)
			if !yield(room, nil) {
				return
			}
			for i := range room {
				room[i] = float32(i)
			}
		}
	}
}

// open opens a device for a test.
func open(t testing.TB, b backend.Backend, o ...backend.Option) backend.Device {
	dev, err := b.Open(0, o...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

func fast(t testing.TB) backend.Device { return open(t, simd.New()) }

func ctx() context.Context { return context.Background() }

func decoder(m *format.Memory) (*codec.Decoder, error) {
	return codec.NewDecoder(m.Cells, m.Components, m.Width, m.Table.Weights)
}

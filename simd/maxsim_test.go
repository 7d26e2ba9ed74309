package simd

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// ragged is one launch of maxsim on random data.
type ragged struct {
	d              int
	query, doc     []float32
	queryOff, docs []int64
}

func newRagged(seed uint64, d int, queryLens, docLens []int64) *ragged {
	r := rand.New(rand.NewPCG(seed, 1))
	x := &ragged{d: d, queryOff: prefix(queryLens), docs: prefix(docLens)}
	x.query = make([]float32, int(x.queryOff[len(queryLens)])*d)
	x.doc = make([]float32, int(x.docs[len(docLens)])*d)
	for _, v := range [][]float32{x.query, x.doc} {
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
	}
	return x
}

func prefix(lens []int64) []int64 {
	off := make([]int64, 1, len(lens)+1)
	for _, n := range lens {
		off = append(off, off[len(off)-1]+n)
	}
	return off
}

func bytesOf[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

func upload(t testing.TB, s backend.Stream, b []byte) backend.Buffer {
	t.Helper()
	buf, err := s.Device().Alloc(int64(len(b)))
	require.NoError(t, err)
	require.NoError(t, s.Upload(buf, 0, b))
	return buf
}

// f32 uploads x and returns its operands, with winners.
func (x *ragged) f32(t testing.TB, s backend.Stream) *kernels.MaxSimArgs {
	t.Helper()
	tq, td := x.queryOff[len(x.queryOff)-1], x.docs[len(x.docs)-1]
	nq, nd, d := int64(len(x.queryOff)-1), int64(len(x.docs)-1), int64(x.d)
	qo, err := kernel.NewOffsets(s, upload(t, s, bytesOf(x.queryOff)), x.queryOff)
	require.NoError(t, err)
	do, err := kernel.NewOffsets(s, upload(t, s, bytesOf(x.docs)), x.docs)
	require.NoError(t, err)
	return &kernels.MaxSimArgs{
		Query:    backend.NewView(upload(t, s, bytesOf(x.query)), 0, backend.F32, tq, d),
		QueryOff: qo,
		Doc:      backend.NewView(upload(t, s, bytesOf(x.doc)), 0, backend.F32, td, d),
		DocOff:   do,
		Score:    backend.NewView(upload(t, s, make([]byte, nq*nd*4)), 0, backend.F32, nq, nd),
		Winner:   backend.NewView(upload(t, s, make([]byte, tq*nd*4)), 0, backend.I32, tq, nd),
	}
}

func openLevel(t testing.TB, l Level, workers int) backend.Stream {
	t.Helper()
	d, err := New(WithLevel(l), WithWorkers(workers)).Open(0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		d.Close()
	})
	return s
}

// TestMaxSimIsTheChain compares scores and winners with one chain of fused multiply-adds
// per product, bit for bit, over sizes around every tile.
func TestMaxSimIsTheChain(t *testing.T) {
	for _, l := range Levels()[1:] {
		s := openLevel(t, l, 2)
		for _, d := range []int{1, 3, 8, 17, 48} {
			x := newRagged(7, d, []int64{1, 7, 0, 33, 32, 15}, []int64{1, 2, 3, 0, 4, 5, 11, 12, 13, 47, 48, 49, 100})
			a := x.f32(t, s)
			require.NoError(t, kernels.MaxSim.Launch(s, a, kernel.WithVariant(l.String())))
			score, winner := Slice[float32](&a.Score), Slice[int32](&a.Winner)
			nd := len(x.docs) - 1
			for q := range len(x.queryOff) - 1 {
				for j := range nd {
					var sum float32
					for i := x.queryOff[q]; i < x.queryOff[q+1]; i++ {
						best, at := float32(math.Inf(-1)), int32(-1)
						for u := x.docs[j]; u < x.docs[j+1]; u++ {
							v := canon.Dot(x.query[int(i)*d:int(i+1)*d], x.doc[int(u)*d:int(u+1)*d])
							if at < 0 || v > best {
								best, at = v, int32(u-x.docs[j])
							}
						}
						sum += best
						require.Equal(t, at, winner[int(i)*nd+j], "d %d token %d document %d", d, i, j)
					}
					require.Equal(t, math.Float32bits(sum), math.Float32bits(score[q*nd+j]), "d %d query %d document %d", d, q, j)
				}
			}
		}
	}
}

package format

import (
	"bufio"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// writtenWARP is a small index in WARP's layout, and what reading it has to give: the tokens
// of each document in order of centroid.
func writtenWARP(t testing.TB) (string, *Memory) {
	t.Helper()
	m := sample(13, 16, 4, 5, 3, 0, 2, 5)
	for i, c := range m.TokenCodes {
		m.TokenCodes[i] = c / 2 * 2 // odd cells are empty
	}
	dir := filepath.Join(t.TempDir(), "warp")
	c, err := begin(dir, func(op, path string) error { return nil })
	require.NoError(t, err)
	w := &writer{commit: c, source: m}

	var order []int // of tokens, by centroid
	document := map[int]int32{}
	for j := range len(m.DocumentOffsets) - 1 {
		for i := m.DocumentOffsets[j]; i < m.DocumentOffsets[j+1]; i++ {
			order, document[int(i)] = append(order, int(i)), int32(j)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(m.TokenCodes[a] - m.TokenCodes[b]) })
	sizes, ids, rows := make([]int32, 5), []int32{}, []byte{}
	for _, i := range order {
		sizes[m.TokenCodes[i]]++
		ids, rows = append(ids, document[i]), append(rows, m.Residuals[8*i:8*i+8]...)
	}
	ints := func(v []int32) torchPart {
		return torchPart{"i4", []int{len(v)}, func(b *bufio.Writer) error { return writeInts(b, v, 4) }}
	}
	require.NoError(t, w.floats("centroids.npy", "f4", []int{5, 16}, m.Cells))
	require.NoError(t, w.floats("bucket_weights.npy", "f4", []int{16}, m.Table.Weights))
	require.NoError(t, w.torch("sizes.compacted.pt", ints(sizes)))
	require.NoError(t, w.torch("codes.compacted.pt", ints(ids)))
	require.NoError(t, w.torch("residuals.compacted.pt", torchPart{"u1", []int{len(ids), 8}, func(b *bufio.Writer) error {
		_, err := b.Write(rows)
		return err
	}}))
	require.NoError(t, w.text(metadataName, []byte(`{"config": {"dim": 16, "nbits": 4}}`)))
	require.NoError(t, w.finish())

	want := *m
	want.TokenCodes, want.Residuals, want.Table.Cutoffs, want.Average = nil, nil, nil, nil
	for j := range len(m.DocumentOffsets) - 1 {
		var tokens []int
		for i := m.DocumentOffsets[j]; i < m.DocumentOffsets[j+1]; i++ {
			tokens = append(tokens, int(i))
		}
		slices.SortStableFunc(tokens, func(a, b int) int { return int(m.TokenCodes[a] - m.TokenCodes[b]) })
		for _, i := range tokens {
			want.TokenCodes = append(want.TokenCodes, m.TokenCodes[i])
			want.Residuals = append(want.Residuals, m.Residuals[8*i:8*i+8]...)
		}
	}
	return dir, &want
}

func TestWARP(t *testing.T) {
	dir, want := writtenWARP(t)
	x := opened(t, dir)
	require.Equal(t, WARP, x.Flavour())
	require.True(t, x.Frozen())
	require.False(t, x.Normalized())
	require.Equal(t, want.DocumentOffsets, x.Offsets())
	require.Equal(t, want.Cells, x.Centroids())
	require.Equal(t, want.Table.Weights, x.Weights())
	require.Nil(t, x.Cutoffs())
	codes, rows := make([]int32, x.Tokens()), make([]byte, 8*x.Tokens())
	require.NoError(t, x.ReadCodes(codes, 0))
	require.NoError(t, x.ReadResiduals(rows, 0))
	require.Equal(t, want.TokenCodes, codes)
	require.Equal(t, want.Residuals, rows)
	lists, err := BuildLists(x)
	require.NoError(t, err)
	direct, err := BuildLists(want)
	require.NoError(t, err)
	require.Equal(t, direct, lists)
	report, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	_, err = Write(filepath.Join(t.TempDir(), "x"), NextPlaid, x, WriteOptions{})
	require.ErrorIs(t, err, ErrUnsupported)
}

package store

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// resum changes bytes of a file and makes its checksums those of the change: what a program
// with an error of its own would write.
func resum(t testing.TB, dir string, k kind, at int, with []byte) {
	t.Helper()
	m, err := newest(dir)
	require.NoError(t, err)
	e := m.file(k)
	path := filepath.Join(dir, e.name())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(text[at:], with)
	require.NoError(t, os.WriteFile(path, text, 0o666))
	e.sums, e.length = nil, 0
	e.extend(text, m.block)
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifestName(m.generation)), m.encode(), 0o666))
}

// TestEdges: content with checksums that fit is held to its range, to the last value of it.
func TestEdges(t *testing.T) {
	c := sampleCodec(4, 8, 2, 3)
	word := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	long := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for _, x := range []struct {
		kind kind
		at   int
		with []byte
		want string
	}{
		{fileCodes, 4 * 7, word(3), "element 7: code 3 of 3"},
		{fileCodes, 0, word(math.MaxUint32), "element 0: code -1 of 3"},
		{fileIDs, 8 * 3, long(4), "element 3: id 4 after 2, 4 is free"},
		{fileIDs, 8 * 3, long(2), "element 3: id 2 after 2"},
		{fileIDs, 0, long(math.MaxUint64), "element 0: id -1 after -1"},
		{fileCentroids, 4 * 23, word(math.Float32bits(float32(math.NaN()))), "element 23: NaN"},
		{fileCentroids, 0, word(math.Float32bits(float32(math.Inf(-1)))), "element 0: -Inf"},
		{fileOffsets, 8 * 4, long(7), "element 4: last offset 7, 8 tokens"},
		{fileOffsets, 8 * 2, long(1), "element 2: offset 1 after 2"},
		{fileOffsets, 8 * 2, long(9), "element 2: offset 9 after 2, 8 tokens"},
		{fileOffsets, 0, long(1), "element 0: offset 1 after 0"},
		{fileTombstones, 0, word(1 << 4), "bits beyond 4 documents"},
		{fileTombstones, 0, word(3), "2 documents deleted, want 1"},
	} {
		dir := made(t, c, sampleBlock(1, c, 2, 0, 5, 1))
		mark(t, dir, 0)
		resum(t, dir, x.kind, x.at, x.with)
		report, err := Check(dir)
		require.NoError(t, err)
		require.NotEmpty(t, report.Problems, "%v: %s", x.kind, x.want)
		require.ErrorContains(t, report.Problems[0].Err, x.want)
		require.False(t, report.Problems[0].Repairable)
		s, err := Open(dir)
		switch x.kind {
		case fileCentroids:
			require.ErrorIs(t, err, ErrCorrupt)
			continue
		case fileOffsets:
			if x.at == 0 || x.at == 8*4 {
				require.ErrorIs(t, err, ErrCorrupt)
				continue
			}
		}
		require.NoError(t, err)
		if x.kind == fileCodes {
			require.ErrorContains(t, s.ReadCodes(make([]int32, 8), 0), x.want)
		}
		require.NoError(t, s.Close())
	}
	// The last values in range are none of these.
	dir := made(t, c, sampleBlock(1, c, 2, 0, 5, 1))
	resum(t, dir, fileIDs, 8*3, long(3))
	report, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
}

// TestAppendIndexAtTheNextID: ids from the first free one on are kept, one below moves all.
func TestAppendIndexAtTheNextID(t *testing.T) {
	c := sampleCodec(4, 8, 2, 3)
	block := func(ids ...int64) Block {
		b := sampleBlock(1, c, 2, 1)
		b.IDs = ids
		return b
	}
	for first, want := range map[int64]int64{0: 6, 4: 6, 5: 6, 6: 0, 7: 0} {
		target, source := made(t, c, block(3, 5)), made(t, c, block(first, first+3))
		s, err := Open(source)
		require.NoError(t, err)
		w, err := OpenWriter(target)
		require.NoError(t, err)
		shift, err := w.AppendIndex(s)
		require.NoError(t, err)
		require.Equal(t, want, shift, "first id %d", first)
		_, err = w.Commit()
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
		got, err := Open(target)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 5, first + want, first + 3 + want}, got.IDs())
		require.Equal(t, first+4+want, got.NextID())
		require.NoError(t, got.Close())
		report, err := Check(target)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
	}
}

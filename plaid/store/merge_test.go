package store

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/plaid/format"
)

// TestMerge: a merge holds what one index would that everything had been appended to.
func TestMerge(t *testing.T) {
	c := halved(sampleCodec(2, 16, 4, 5))
	blocks := []Block{sampleBlock(1, c, 3, 0, 2), sampleBlock(2, c, 1, 4), {}, sampleBlock(3, c, 2)}
	blocks[3].IDs = []int64{50}
	var dirs []string
	for _, b := range blocks {
		dirs = append(dirs, made(t, c, b))
	}
	dst := filepath.Join(t.TempDir(), "index")
	shifts, err := merge(dst, dirs, quick{})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 3, 0, 0}, shifts)
	want := expected(t, c, blocks...)
	require.True(t, equalState(want, stateAt(t, dst)))
	one := made(t, c, blocks...)
	require.Equal(t, contents(t, one), contents(t, dst)) // byte for byte
	_, err = Merge(dst, dirs...)
	require.ErrorIs(t, err, ErrExists)
	_, err = Merge(dst)
	require.ErrorIs(t, err, ErrRange)
	_, err = Merge(dst, dirs[0], t.TempDir())
	require.ErrorIs(t, err, ErrNoIndex)

	// Deleted documents stay behind, and their ids are given to nobody.
	mark(t, dirs[0], 1, 2)
	dst = filepath.Join(t.TempDir(), "index")
	shifts, err = merge(dst, dirs[:2], quick{})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 3}, shifts)
	got := stateAt(t, dst)
	require.Len(t, got.Documents, 3)
	require.Equal(t, []int64{0, 3, 4}, []int64{got.Documents[0].ID, got.Documents[1].ID, got.Documents[2].ID})

	far := blocks[0]
	far.IDs = []int64{0, 1, math.MaxInt64 - 1}
	_, err = merge(filepath.Join(t.TempDir(), "index"), []string{dirs[0], made(t, c, far)}, quick{})
	require.ErrorIs(t, err, ErrRange)
}

func TestCodecsThatDiffer(t *testing.T) {
	c := sampleCodec(2, 16, 4, 5)
	a := made(t, c, sampleBlock(1, c, 3))
	for name, change := range map[string]struct {
		codec   Codec
		field   string
		element int64
	}{
		"dim":       {sampleCodec(2, 8, 4, 5), "Dim", -1},
		"bits":      {sampleCodec(2, 16, 2, 5), "Bits", -1},
		"count":     {sampleCodec(2, 16, 4, 4), "Centroids", -1},
		"centroids": {sampleCodec(3, 16, 4, 5), "Centroids", 0},
	} {
		b := made(t, change.codec)
		dst := filepath.Join(t.TempDir(), "index")
		_, err := Merge(dst, a, b)
		e := (*CodecError)(nil)
		require.ErrorAs(t, err, &e, name)
		require.ErrorIs(t, err, ErrCodec)
		require.Equal(t, CodecError{b, change.field, change.element}, *e)
		require.NoDirExists(t, dst)
		s, err := Open(b)
		require.NoError(t, err)
		w, err := OpenWriter(a)
		require.NoError(t, err)
		_, err = w.AppendIndex(s)
		require.ErrorIs(t, err, ErrCodec)
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	}
}

// TestForeignLayouts goes through each layout that can be written and back.
func TestForeignLayouts(t *testing.T) {
	c := sampleCodec(2, 16, 2, 5)
	c.Threshold = 0 // not every layout has it
	for i, v := range c.Centroids {
		c.Centroids[i] = float32(math.Round(float64(v)*64) / 64) // exact in half
	}
	b := sampleBlock(1, c, 3, 0, 2, 1, 1, 6)
	dir := made(t, c, b)
	mark(t, dir, 0, 3)
	s, err := Open(dir)
	require.NoError(t, err)
	view, err := s.Compacted()
	require.NoError(t, err)
	for _, flavour := range []format.Flavour{format.FastPlaid14, format.FastPlaid17, format.NextPlaid, format.ColBERT} {
		there := filepath.Join(t.TempDir(), "there")
		_, err := format.Write(there, flavour, view, format.WriteOptions{})
		require.NoError(t, err)
		x, err := format.Open(there)
		require.NoError(t, err)
		back := filepath.Join(t.TempDir(), "back")
		require.NoError(t, Import(back, x, Options{}))
		require.NoError(t, x.Close())
		want, got := stateOf(t, s), stateAt(t, back)
		live := want.live()
		require.Len(t, got.Documents, len(live))
		for j := range live {
			live[j].ID = int64(j)
		}
		require.True(t, equalState(state{4, c.Centroids, live}, got))
		report, err := Check(back)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
	}
	require.NoError(t, s.Close())
}

// TestLongAndMany imports documents beyond what is copied at a time.
func TestLongAndMany(t *testing.T) {
	c := sampleCodec(2, 8, 1, 3)
	lens := make([]int64, runDocuments+10)
	lens[2], lens[3], lens[runDocuments+1] = runTokens-1, 2, runTokens+5
	b := sampleBlock(1, c, lens...)
	m := &format.Memory{Components: 8, Width: 1, DocumentOffsets: []int64{0}, Cells: c.Centroids, TokenCodes: b.Codes, Residuals: b.Residuals, Average: c.AverageResidual}
	m.Table.Bits, m.Table.Cutoffs, m.Table.Weights = 1, c.Cutoffs, c.Weights
	for _, n := range lens {
		m.DocumentOffsets = append(m.DocumentOffsets, m.DocumentOffsets[len(m.DocumentOffsets)-1]+n)
	}
	dir := filepath.Join(t.TempDir(), "index")
	require.NoError(t, Import(dir, m, Options{}))
	want := expected(t, c, b)
	require.True(t, equalState(want, stateAt(t, dir)))
	mark(t, dir, 1, 5)
	_, err := compact(dir, quick{})
	require.NoError(t, err)
	got := stateAt(t, dir)
	require.Len(t, got.Documents, len(lens)-2)
	want.Documents[1].Deleted, want.Documents[5].Deleted = true, true
	want.Documents = want.live()
	require.True(t, equalState(want, got))
}

// TestBeyondInt32: token counts and file positions are 64 bits wide. The files are sparse.
func TestBeyondInt32(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("files of 8 GiB are sparse by themselves on other systems only")
	}
	c := sampleCodec(2, 8, 1, 2)
	const long = 1<<31 + 7
	dir := made(t, c, sampleBlock(1, c, 1))
	m, err := newest(dir)
	require.NoError(t, err)
	// The only document is made longer in place, with checksums of nothing.
	m.tokens, m.block = long, maxBlock
	for i := range m.files {
		e := &m.files[i]
		switch e.kind {
		case fileCodes, fileInvNorms:
			e.length = 4 * long
		case fileResiduals:
			e.length = long
		}
		e.sums = make([]uint32, (e.length+maxBlock-1)/maxBlock)
		require.NoError(t, os.Truncate(filepath.Join(dir, e.name()), e.length))
	}
	write := func(name string, text []byte, at int64) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt(text, at)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	write(m.file(fileOffsets).name(), asBytes([]int64{long}), 8)
	write(manifestName(1), m.encode(), 0)
	b := sampleBlock(3, c, 3, 2)
	require.NoError(t, session(dir, quick{}, func(w *Writer) error {
		// The small second run of documents keeps lists of its own.
		require.Equal(t, int64(1), w.Documents())
		return w.Append(b)
	}))
	s, err := Open(dir)
	require.NoError(t, err)
	require.Equal(t, int64(long+5), s.Tokens())
	require.Equal(t, []int64{0, long, long + 3, long + 5}, s.Offsets())
	require.Equal(t, b.Codes, s.Codes()[long:])
	require.Equal(t, b.Residuals, s.Residuals()[long:])
	got := make([]int32, 5)
	require.NoError(t, s.ReadCodes(got, long))
	require.Equal(t, b.Codes, got)
	require.NoError(t, s.Close())
}

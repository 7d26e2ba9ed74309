package store

import (
	"bufio"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/testneed"

	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
)

func TestCodecsRefused(t *testing.T) {
	inf := float32(math.Inf(1))
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		change func(c *Codec)
		field  string
		at     int64
		kind   error
	}{
		"NaN centroid":      {func(c *Codec) { c.Centroids[11] = nan }, "Centroids", 11, ErrNotFinite},
		"infinite centroid": {func(c *Codec) { c.Centroids[23] = -inf }, "Centroids", 23, ErrNotFinite},
		"ragged centroids":  {func(c *Codec) { c.Centroids = c.Centroids[1:] }, "Centroids", -1, codec.ErrLength},
		"NaN weight":        {func(c *Codec) { c.Weights[2] = nan }, "Weights", 2, ErrNotFinite},
		"infinite cutoff":   {func(c *Codec) { c.Cutoffs[0] = inf }, "Cutoffs", 0, ErrNotFinite},
		"descending":        {func(c *Codec) { c.Weights[0] = 9 }, "Cutoffs and Weights", -1, codec.ErrTable},
		"too few weights":   {func(c *Codec) { c.Weights = c.Weights[1:] }, "Cutoffs and Weights", -1, codec.ErrTable},
		"averages":          {func(c *Codec) { c.AverageResidual = make([]float32, 3) }, "AverageResidual", -1, codec.ErrLength},
		"NaN average":       {func(c *Codec) { c.AverageResidual[7] = nan }, "AverageResidual", 7, ErrNotFinite},
		"NaN threshold":     {func(c *Codec) { c.Threshold = nan }, "Threshold", 0, ErrNotFinite},
	} {
		cc := sampleCodec(1, 8, 2, 3)
		c.change(&cc)
		dir := filepath.Join(t.TempDir(), "index")
		_, err := Create(dir, cc, Options{})
		e := (*InputError)(nil)
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, []any{c.field, c.at}, []any{e.Field, e.Element}, name)
		require.ErrorIs(t, err, c.kind, name)
		require.NoDirExists(t, dir, name)
	}
	c := sampleCodec(1, 8, 2, 3)
	c.Dim = 12
	_, err := Create(t.TempDir(), c, Options{})
	require.ErrorIs(t, err, codec.ErrDim)
	c.Dim, c.Bits = 8, 3
	_, err = Create(t.TempDir(), c, Options{})
	require.ErrorIs(t, err, codec.ErrBits)
	for _, n := range []int{-1, 32, 96, 1 << 31} {
		_, err = Create(t.TempDir(), sampleCodec(1, 8, 2, 3), Options{BlockBytes: n})
		require.ErrorIs(t, err, ErrRange)
	}
}

func TestBlocksRefused(t *testing.T) {
	c := sampleCodec(1, 8, 2, 3)
	good := sampleBlock(1, c, 2, 1, 0, 4)
	dir := made(t, c, good)
	w, err := openWriter(dir, quick{}, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	for name, b := range map[string]struct {
		change func(b *Block)
		field  string
		at     int64
		kind   error
	}{
		"code at K":        {func(b *Block) { b.Codes[5] = 3 }, "Codes", 5, codec.ErrCode},
		"negative code":    {func(b *Block) { b.Codes[0] = -1 }, "Codes", 0, codec.ErrCode},
		"negative length":  {func(b *Block) { b.Lens[1] = -1 }, "Lens", 1, codec.ErrLength},
		"lengths too long": {func(b *Block) { b.Lens[3] = math.MaxInt64 }, "Lens", 3, codec.ErrLength},
		"lengths short":    {func(b *Block) { b.Lens[3] = 3 }, "Lens", -1, codec.ErrLength},
		"residuals":        {func(b *Block) { b.Residuals = b.Residuals[1:] }, "Residuals", -1, codec.ErrLength},
		"norms":            {func(b *Block) { b.InvNorms = make([]float32, 3) }, "InvNorms", -1, codec.ErrLength},
		"NaN norm":         {func(b *Block) { b.InvNorms = make([]float32, 7); b.InvNorms[6] = float32(math.NaN()) }, "InvNorms", 6, ErrNotFinite},
		"ids":              {func(b *Block) { b.IDs = []int64{9} }, "IDs", -1, codec.ErrLength},
		"id given before":  {func(b *Block) { b.IDs = []int64{3, 10, 11, 12} }, "IDs", 0, ErrID},
		"negative id":      {func(b *Block) { b.IDs = []int64{-3, 10, 11, 12} }, "IDs", 0, ErrID},
		"id twice":         {func(b *Block) { b.IDs = []int64{9, 10, 10, 12} }, "IDs", 2, ErrID},
		"id descends":      {func(b *Block) { b.IDs = []int64{9, 12, 11, 13} }, "IDs", 2, ErrID},
		"last id":          {func(b *Block) { b.IDs = []int64{9, 12, 13, math.MaxInt64} }, "IDs", 3, ErrID},
	} {
		bad := Block{Lens: slices.Clone(good.Lens), Codes: slices.Clone(good.Codes), Residuals: good.Residuals}
		b.change(&bad)
		err := w.Append(bad)
		e := (*InputError)(nil)
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, []any{b.field, b.at}, []any{e.Field, e.Element}, name)
		require.ErrorIs(t, err, b.kind, name)
	}
	g, err := w.Commit()
	require.NoError(t, err)
	require.Equal(t, uint64(1), g) // nothing to commit
	require.True(t, equalState(expected(t, c, good), stateAt(t, dir)))
}

func TestDelete(t *testing.T) {
	c := sampleCodec(1, 8, 2, 3)
	b := sampleBlock(1, c, 2, 1, 0, 4)
	b.IDs = []int64{5, 7, 100, math.MaxInt64 - 2}
	dir := made(t, c, b)
	w, err := openWriter(dir, quick{}, nil)
	require.NoError(t, err)
	for _, id := range []int64{-1, 0, 4, 6, 99, 101, math.MaxInt64 - 1, math.MaxInt64} {
		err := w.Delete([]int64{5, id, 7})
		e := (*InputError)(nil)
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, ErrUnknownID)
		require.Equal(t, int64(1), e.Element)
	}
	require.NoError(t, w.Delete(nil))
	require.NoError(t, w.Delete([]int64{100, 5, 100}))
	require.NoError(t, w.Delete([]int64{5}))
	_, err = w.Commit()
	require.NoError(t, err)
	require.NoError(t, w.Delete([]int64{5})) // idempotent after a commit, too
	g, err := w.Commit()
	require.NoError(t, err)
	require.Equal(t, uint64(2), g)
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Append(b), ErrClosed)
	require.ErrorIs(t, w.Delete(nil), ErrClosed)
	_, err = w.Commit()
	require.ErrorIs(t, err, ErrClosed)

	s, err := Open(dir)
	require.NoError(t, err)
	require.Equal(t, []int32{5}, s.Deleted())
	require.Equal(t, 2, s.Live())
	require.NoError(t, s.Close())
	g, err = Compact(dir)
	require.NoError(t, err)
	require.Equal(t, uint64(3), g)
	g, err = Compact(dir)
	require.NoError(t, err)
	require.Equal(t, uint64(3), g)
	w, err = OpenWriter(dir)
	require.NoError(t, err)
	require.ErrorIs(t, w.Delete([]int64{5}), ErrUnknownID)
	require.NoError(t, w.Delete([]int64{7, math.MaxInt64 - 2})) // all that are left
	require.Equal(t, int64(math.MaxInt64-1), w.NextID())
	require.ErrorIs(t, w.Append(Block{Lens: []int64{0, 0}}), ErrRange)
	_, err = w.Commit()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = Compact(dir)
	require.NoError(t, err)
	got := stateAt(t, dir)
	require.Empty(t, got.Documents)
	require.Equal(t, int64(math.MaxInt64-1), got.NextID)
}

// TestManyIDs looks ids up across pages.
func TestManyIDs(t *testing.T) {
	c := sampleCodec(1, 8, 1, 1)
	const n = 3*pageIDs + 5
	b := Block{Lens: make([]int64, n), IDs: make([]int64, n)}
	for i := range b.IDs {
		b.IDs[i] = int64(3*i + 1)
	}
	dir := made(t, c, b)
	w, err := openWriter(dir, quick{}, nil)
	require.NoError(t, err)
	var ids []int64
	for i := 0; i < n; i += 511 {
		ids = append(ids, b.IDs[n-1-i])
		require.ErrorIs(t, w.Delete([]int64{b.IDs[i] + 1}), ErrUnknownID)
	}
	require.NoError(t, w.Delete(ids))
	_, err = w.Commit()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	s, err := Open(dir)
	require.NoError(t, err)
	require.Equal(t, n-len(ids), s.Live())
	for j := range n {
		require.Equal(t, (n-1-j)%511 == 0, s.Deleted()[j/32]>>(j%32)&1 == 1, "document %d", j)
	}
	require.NoError(t, s.Close())
}

func TestExists(t *testing.T) {
	c := sampleCodec(1, 8, 2, 3)
	dir := made(t, c)
	before := contents(t, dir)
	_, err := Create(dir, c, Options{})
	require.ErrorIs(t, err, ErrExists)
	require.Equal(t, before, contents(t, dir))
	s, err := Open(dir)
	require.NoError(t, err)
	require.Equal(t, []any{0, 0, int64(0)}, []any{s.Documents(), s.Live(), s.Tokens()})
	offsets, documents := s.Lists()
	require.Equal(t, []any{4, 0}, []any{len(offsets), len(documents)})
	require.NoError(t, s.Close())

	other := t.TempDir() // of another layout
	require.NoError(t, os.WriteFile(filepath.Join(other, foreign), []byte("{}"), 0o666))
	_, err = Create(other, c, Options{})
	require.ErrorIs(t, err, ErrExists)
	require.Len(t, contents(t, other), 1)
	_, err = Create(filepath.Join(other, "no", "parent"), c, Options{})
	require.ErrorIs(t, err, os.ErrNotExist)

	// Without centroids only empty documents fit.
	none := Codec{Dim: 8, Bits: 1, Cutoffs: []float32{0}, Weights: []float32{-1, 1}}
	dir = made(t, none, Block{Lens: []int64{0, 0}})
	require.Len(t, stateAt(t, dir).Documents, 2)
	report, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)

	// What was never committed is gone after Close.
	dir = filepath.Join(t.TempDir(), "index")
	w, err := create(dir, c, Options{}, quick{})
	require.NoError(t, err)
	require.NoError(t, w.Append(sampleBlock(1, c, 3)))
	_, err = Open(dir)
	require.ErrorIs(t, err, ErrNoIndex)
	require.NoError(t, w.Close())
	require.NoDirExists(t, dir)
}

func TestReadOnly(t *testing.T) {
	c := sampleCodec(1, 8, 2, 3)
	b := sampleBlock(1, c, 3)
	dir := made(t, c, b)
	require.NoError(t, os.Chmod(dir, 0o555))
	defer func() { _ = os.Chmod(dir, 0o777) }()
	require.True(t, equalState(expected(t, c, b), stateAt(t, dir)))
	report, err := Check(dir)
	require.NoError(t, err)
	require.True(t, report.Clean())
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("this user may write to folders whatever their mode")
	}
	_, err = OpenWriter(dir)
	require.ErrorIs(t, err, os.ErrPermission)
}

// TestMain lets TestLock start this program as another process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_WRITER"); dir != "" {
		os.Exit(holdWriter(dir))
	}
	os.Exit(m.Run())
}

// holdWriter appends without commit and waits to be killed.
func holdWriter(dir string) int {
	w, err := OpenWriter(dir)
	if err == nil {
		err = w.Append(sampleBlock(5, sampleCodec(1, 8, 2, 3), 6, 6))
	}
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		return 1
	}
	_, _ = os.Stdout.WriteString("writing\n")
	_, _ = os.Stdin.Read(make([]byte, 1)) // for ever
	return 0
}

func TestLock(t *testing.T) {
	c := sampleCodec(1, 8, 2, 3)
	b := sampleBlock(1, c, 3)
	dir := made(t, c, b)
	w, err := OpenWriter(dir)
	require.NoError(t, err)
	_, err = OpenWriter(dir)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))
	_, err = Create(dir, c, Options{})
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, w.Close())

	testneed.Self(t)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "STORE_TEST_WRITER="+dir)
	_, err = other.StdinPipe() // never written to, closed by Wait
	require.NoError(t, err)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	for lines := bufio.NewScanner(out); lines.Scan() && strings.TrimSpace(lines.Text()) != "writing"; {
	}
	_, err = OpenWriter(dir)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "process "+strconv.Itoa(other.Process.Pid))
	require.NoError(t, other.Process.Kill())
	require.Error(t, other.Wait())

	report, err := Check(dir)
	require.NoError(t, err)
	require.True(t, report.Clean())
	require.NotEmpty(t, report.Leftovers)
	w, err = OpenWriter(dir)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	report, err = Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Leftovers)
	require.True(t, equalState(expected(t, c, b), stateAt(t, dir)))
	require.NoFileExists(t, filepath.Join(dir, lockName))
}

func TestRanges(t *testing.T) {
	c := sampleCodec(1, 8, 2, 3)
	dir := made(t, c, sampleBlock(1, c, 3, 2))
	mark(t, dir, 0)
	s, err := Open(dir)
	require.NoError(t, err)
	view, err := s.Compacted()
	require.NoError(t, err)
	for n, source := range map[int]format.Source{5: s, 2: view} {
		require.NoError(t, source.ReadCodes(make([]int32, n), 0))
		require.NoError(t, source.ReadCodes(nil, int64(n)))
		require.ErrorIs(t, source.ReadCodes(make([]int32, n), 1), ErrRange)
		require.ErrorIs(t, source.ReadCodes(nil, -1), ErrRange)
		require.ErrorIs(t, source.ReadCodes(make([]int32, 1), math.MaxInt64), ErrRange)
		require.ErrorIs(t, source.ReadResiduals(make([]byte, 3), 0), ErrRange)
		require.ErrorIs(t, source.ReadResiduals(make([]byte, 2*n+2), 0), ErrRange)
	}
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, view.ReadCodes(make([]int32, 1), 0), ErrClosed)
}

// TestOneErrorForFiles: an error about a file is found by one errors.As, whichever layout the file
// is of; the text says whose it is, also where one is the cause of another.
func TestOneErrorForFiles(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	_, own := Open(none)
	_, foreign := format.Open(none)
	for name, err := range map[string]error{"store": own, "format": foreign} {
		e := (*format.Error)(nil)
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.File, none)
		require.True(t, strings.HasPrefix(e.Error(), name+": "+none), e.Error())
		require.Equal(t, name == "store", e.Package == "store")
		mine := (*Error)(nil)
		require.ErrorAs(t, err, &mine)
		require.Same(t, e, mine)
	}
	require.Same(t, own, fail("x", own), "says so already")
	inner := &format.Error{File: "y", Byte: 7, Element: -1, Err: ErrCorrupt}
	require.EqualError(t, fail("x", inner), "store: x: format: y: byte 7: corrupt")
	require.EqualError(t, corruptElement("x", 3, "is %d", 9), "store: x: element 3: is 9: corrupt")
	require.EqualError(t, corruptByte("x", 3, "is %d", 9), "store: x: byte 3: is 9: corrupt")
}

package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/internal/npy"
)

// goldenDirs are all golden indexes.
func goldenDirs(t testing.TB) []string {
	t.Helper()
	var dirs []string
	for _, area := range []string{"plaid-index", "nextplaid-index"} {
		found, err := filepath.Glob(filepath.Join(golden.Root(t), area, "*.index"))
		require.NoError(t, err)
		dirs = append(dirs, found...)
	}
	require.Len(t, dirs, 13)
	return dirs
}

// duplicate copies an index to a folder of its own.
func duplicate(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(dir))
	require.NoError(t, os.MkdirAll(to, 0o777))
	for name, text := range snapshot(t, dir) {
		put(t, to, name, []byte(text))
	}
	return to
}

func put(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
}

func get(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return text
}

// written is a small index in a layout, written for the test.
func written(t testing.TB, flavour Flavour) (string, *Memory) {
	t.Helper()
	m := sample(11, 16, 4, 4, 3, 0, 2, 5)
	dir := filepath.Join(t.TempDir(), flavour.String())
	_, err := save(dir, flavour, m, WriteOptions{ChunkDocuments: 3})
	require.NoError(t, err)
	return dir, m
}

// examples are one index of each layout and kind.
func examples(t testing.TB) []string {
	dirs := goldenDirs(t)
	for _, flavour := range writable {
		dir, _ := written(t, flavour)
		dirs = append(dirs, dir)
	}
	warp, _ := writtenWARP(t)
	return append(dirs, warp, filepath.Join("testdata", "colbert", "index"))
}

// requireNamed requires a typed error that names the file.
func requireNamed(t testing.TB, err error, path string) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, err.Error(), path)
}

// TestTruncated cuts every file of every index: opening fails and names it.
func TestTruncated(t *testing.T) {
	for _, source := range examples(t) {
		switch filepath.Base(source) {
		case "fp17_d24_b8.index", "fp17_d32_b1.index", "fp17_d128_b2.index", "fp17_update_growth.index", "np_d64_b2_chunks.index":
			continue // the same files as others, of other sizes
		}
		dir := duplicate(t, source)
		for name, text := range snapshot(t, source) {
			if strings.HasSuffix(name, ".lock") {
				continue // empty, and no part of the index
			}
			cuts := []int{0, 1, 9, 10, len(text) / 2, len(text) - 1}
			if h, err := npy.ReadHeader(strings.NewReader(text)); err == nil {
				cuts = append(cuts, int(h.Offset)-1, int(h.Offset))
			}
			for _, cut := range cuts {
				if cut >= len(text) || strings.TrimRight(text[cut:], "\n") == "" {
					continue // nothing is missing but the end of the last line
				}
				put(t, dir, name, []byte(text[:cut]))
				x, err := Open(dir)
				if err == nil {
					require.NoError(t, x.Close())
				}
				require.Error(t, err, "%s cut at %d of %d", filepath.Join(dir, name), cut, len(text))
				requireNamed(t, err, name)
				if cut == len(text)/2 {
					report, err := Check(dir)
					require.NoError(t, err)
					require.False(t, report.Clean(), "%s cut at %d", name, cut)
				}
			}
			put(t, dir, name, []byte(text))
		}
		require.NoError(t, opened(t, dir).Close())
	}
}

// TestMissing removes every file: an error that names it, or an index that needs it not.
func TestMissing(t *testing.T) {
	optional := map[string]bool{"plan.json": true, "avg_residual.npy": true, "avg_residual.pt": true, "cluster_threshold.npy": true,
		"metadata.db": true, "buffer_info.json": true, "ivf.pid.pt": true}
	for _, source := range examples(t) {
		dir := duplicate(t, source)
		want := opened(t, source)
		for name, text := range snapshot(t, source) {
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
			x, err := Open(dir)
			if err == nil {
				spare := strings.HasPrefix(name, "merged_") || strings.Contains(name, "inv_norms") || strings.HasSuffix(name, ".metadata.json") ||
					strings.HasPrefix(name, "embeddings") || strings.HasPrefix(name, "buffer") || strings.HasSuffix(name, ".lock") ||
					want.spare != nil && strings.Count(name, ".") == 2
				require.True(t, spare || optional[name], "%s is missing and not missed", filepath.Join(dir, name))
				require.Equal(t, want.Tokens(), x.Tokens(), "no silently smaller index")
				require.NoError(t, x.Close())
			} else {
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Contains(t, err.Error(), name)
				require.True(t, errors.Is(err, ErrMissing) || errors.Is(err, ErrNoIndex), "%v", err)
			}
			put(t, dir, name, []byte(text))
		}
	}
}

// TestFlipped changes bytes everywhere: whatever opens can be read without leaving bounds,
// and nothing panics.
func TestFlipped(t *testing.T) {
	dirs := []string{filepath.Join(golden.Root(t), "plaid-index", "fp17_metadata_frozen.index")}
	for _, flavour := range writable {
		dir, _ := written(t, flavour)
		dirs = append(dirs, dir)
	}
	warp, _ := writtenWARP(t)
	for _, source := range append(dirs, warp) {
		dir := duplicate(t, source)
		for name, text := range snapshot(t, source) {
			step := max(len(text)/25, 1)
			for at := 0; at < len(text); at += step {
				changed := []byte(text)
				changed[at] ^= 1 << (at % 8)
				put(t, dir, name, changed)
				readAll(t, dir)
			}
			put(t, dir, name, []byte(text))
		}
	}
}

// readAll opens and reads an index that may be wrong: errors are typed, values in range.
func readAll(t *testing.T, dir string) {
	t.Helper()
	x, err := Open(dir)
	if err != nil {
		var e *Error
		require.ErrorAs(t, err, &e)
		return
	}
	defer x.Close()
	codes, row := make([]int32, 1), make([]byte, x.RowBytes())
	d, err := x.Decoder()
	require.NoError(t, err)
	v := make([]float32, x.Dim())
	for token := range min(x.Tokens(), 20) {
		if x.ReadCodes(codes, token) == nil {
			require.NoError(t, x.ReadResiduals(row, token))
			require.NoError(t, d.Token(v, int64(codes[0]), row))
		}
	}
	for c := range min(x.K(), 20) {
		if x.HasLists() {
			ids, err := x.ReadLists(nil, c, 1)
			for _, id := range ids {
				require.NoError(t, err)
				require.Less(t, int(id), x.Documents())
			}
		}
	}
}

// patch changes bytes of a file.
func patch(t testing.TB, dir, name string, at int, with ...byte) {
	t.Helper()
	text := get(t, dir, name)
	copy(text[at:], with)
	put(t, dir, name, text)
}

func i8(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// TestCodeOutOfRange: fsck finds it, reading stays in bounds, other tokens are read.
func TestCodeOutOfRange(t *testing.T) {
	for _, value := range []int64{4, -1, math.MaxInt64, math.MinInt64, 1 << 32} {
		dir, _ := written(t, FastPlaid14)
		patch(t, dir, "0.codes.npy", 128+3*8, i8(value)...)
		x := opened(t, dir)
		err := x.ReadCodes(make([]int32, 5), 0)
		require.ErrorIs(t, err, ErrCorrupt)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, filepath.Join(dir, "0.codes.npy"), e.File)
		require.EqualValues(t, 3, e.Element)
		require.NoError(t, x.ReadCodes(make([]int32, 3), 0))
		require.NoError(t, x.ReadCodes(make([]int32, 6), 4))
		_, err = BuildLists(x)
		require.ErrorIs(t, err, ErrCorrupt)
		report, err := Check(dir)
		require.NoError(t, err)
		require.Len(t, report.Problems, 1)
		require.ErrorContains(t, report.Problems[0].Err, "0.codes.npy: element 3: code")
		require.False(t, report.Repairable())
		before := snapshot(t, dir)
		_, err = Repair(dir)
		require.ErrorIs(t, err, ErrCorrupt)
		require.Equal(t, before, snapshot(t, dir))
	}
}

// TestBadLists: ids out of range or order are found, refused when read, and rebuilt.
func TestBadLists(t *testing.T) {
	for want, change := range map[string]func(t *testing.T, dir string){
		"ivf.npy: element 0: document 4 of 4":                              func(t *testing.T, dir string) { patch(t, dir, "ivf.npy", 128, i8(4)...) },
		"ivf.npy: element 0: document -1 of 4":                             func(t *testing.T, dir string) { patch(t, dir, "ivf.npy", 128, i8(-1)...) },
		"ivf.npy: element 0: document 5000000000 of 4":                     func(t *testing.T, dir string) { patch(t, dir, "ivf.npy", 128, i8(5e9)...) },
		"ivf_lengths.npy: element 0: list of -1 documents":                 func(t *testing.T, dir string) { patch(t, dir, "ivf_lengths.npy", 128, i8(-1)[:4]...) },
		"ivf_lengths.npy: element 1: list of 70000 documents":              func(t *testing.T, dir string) { patch(t, dir, "ivf_lengths.npy", 132, i8(70000)[:4]...) },
		"ivf.npy: missing":                                                 func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "ivf.npy"))) },
		"ivf.npy: element 1: document 0 after 3 in the list of":            func(t *testing.T, dir string) { patch(t, dir, "ivf.npy", 128, append(i8(3), i8(0)...)...) },
		"ivf.npy: element 3: document 3 after 3 in the list of centroid 2": func(t *testing.T, dir string) { patch(t, dir, "ivf_lengths.npy", 128, 1) },
	} {
		dir, _ := written(t, FastPlaid14)
		before := snapshot(t, dir)
		change(t, dir)
		report, err := Check(dir)
		require.NoError(t, err)
		require.Len(t, report.Problems, 1, want)
		require.ErrorContains(t, report.Problems[0].Err, want)
		require.True(t, report.Repairable(), want)
		_, err = Repair(dir)
		require.NoError(t, err)
		require.Equal(t, before, snapshot(t, dir), want)
	}
}

func TestBadDoclens(t *testing.T) {
	for want, text := range map[string]string{
		`byte 1: element 0: want a whole number from 0 on at "-3,0,2]"`: "[-3,0,2]",
		`element 0: want ',' or ']' at ".5,0,2]"`:                       "[3.5,0,2]",
		`element 1: want a whole number from 0 on at "\"0\",2]"`:        `[3,"0",2]`,
		"want '['":                `{"a":1}`,
		"element 3: want the end": "[3,0,2]]",
		"want a smaller number":   "[99999999999999999999,0,2]",
		"0.codes.npy: 5 rows, document lengths sum to 6":                  "[3,0,3]",
		"element 1: 4611686018427387904 tokens after 4611686018427387903": "[4611686018427387903,4611686018427387904,2]",
	} {
		dir, _ := written(t, FastPlaid14)
		put(t, dir, "doclens.0.json", []byte(text))
		_, err := Open(dir)
		require.ErrorIs(t, err, ErrCorrupt, want)
		require.ErrorContains(t, err, want)
	}
	dir, m := written(t, FastPlaid14)
	put(t, dir, "doclens.0.json", []byte(" [ 3 ,\n0,\t2 ]\r\n"))
	requireSame(t, m, opened(t, dir))
}

func TestNotFinite(t *testing.T) {
	for name, at := range map[string]int{"centroids.npy": 128 + 2*5, "bucket_weights.npy": 128 + 4*5, "bucket_cutoffs.npy": 128 + 4*5, "avg_residual.npy": 128 + 4*5} {
		for _, flavour := range []Flavour{FastPlaid14, NextPlaid} {
			dir, _ := written(t, flavour)
			bad := []byte{0, 0x7e} // NaN in half
			if name != "centroids.npy" || flavour == NextPlaid {
				at, bad = 128+4*5, []byte{0, 0, 0x80, 0x7f} // infinity in float32
			}
			patch(t, dir, name, at, bad...)
			_, err := Open(dir)
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, name+": element 5: ")
		}
	}
}

// TestDescendingTable is found by fsck only: search works, in the order given.
func TestDescendingTable(t *testing.T) {
	dir, _ := written(t, NextPlaid)
	patch(t, dir, "bucket_weights.npy", 128+4*7, binary.LittleEndian.AppendUint32(nil, math.Float32bits(-1000))...)
	report, err := Check(dir)
	require.NoError(t, err)
	require.ErrorContains(t, report.Problems[0].Err, "bucket_weights.npy: element 7: -1000 after")
	require.False(t, report.Repairable())
}

// TestFilesChangeUnderneath: a file cut short is an error that names it, a file replaced
// keeps its content until the index is reopened, other indexes go on.
func TestFilesChangeUnderneath(t *testing.T) {
	dir := duplicate(t, filepath.Join(golden.Root(t), "plaid-index", "fp17_d32_b4.index"))
	x, other := opened(t, dir), opened(t, duplicate(t, dir))
	rows := make([]byte, x.Tokens()*int64(x.RowBytes()))
	require.NoError(t, x.ReadResiduals(rows, 0))
	path := filepath.Join(dir, "merged_residuals.npy")
	info, err := os.Stat(path)
	require.NoError(t, err)

	replaced := filepath.Join(dir, "new")
	require.NoError(t, os.WriteFile(replaced, []byte("other"), 0o666))
	require.NoError(t, os.Rename(filepath.Join(dir, "merged_codes.npy"), filepath.Join(dir, "old")))
	require.NoError(t, os.Rename(replaced, filepath.Join(dir, "merged_codes.npy")))
	require.NoError(t, x.ReadCodes(make([]int32, x.Tokens()), 0))

	require.NoError(t, os.Truncate(path, info.Size()/2))
	again := make([]byte, len(rows))
	err = x.ReadResiduals(again, 0)
	require.ErrorIs(t, err, ErrChanged)
	requireNamed(t, err, path)
	require.NoError(t, x.ReadResiduals(again[:x.RowBytes()], 0))
	require.Equal(t, rows[:x.RowBytes()], again[:x.RowBytes()])
	require.NoError(t, other.ReadResiduals(again, 0))
	require.True(t, bytes.Equal(rows, again))
}

func TestClosed(t *testing.T) {
	dir, _ := written(t, ColBERT)
	x, err := Open(dir)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	require.ErrorIs(t, x.ReadCodes(make([]int32, 1), 0), ErrClosed)
	require.ErrorIs(t, x.ReadResiduals(make([]byte, 8), 0), ErrClosed)
}

func TestRanges(t *testing.T) {
	dir, m := written(t, NextPlaid)
	x := opened(t, dir)
	for _, span := range [][2]int64{{-1, 1}, {0, 11}, {10, 1}, {math.MaxInt64, 1}, {11, 0}} {
		require.ErrorIs(t, x.ReadCodes(make([]int32, span[1]), span[0]), ErrRange)
		require.ErrorIs(t, x.ReadResiduals(make([]byte, span[1]*8), span[0]), ErrRange)
		require.ErrorIs(t, x.ReadInvNorms(make([]float32, span[1]), span[0]), ErrRange)
	}
	require.ErrorIs(t, x.ReadResiduals(make([]byte, 7), 0), ErrRange)
	for _, span := range [][2]int{{-1, 1}, {0, 5}, {4, 1}, {0, -1}, {math.MaxInt, 1}} {
		_, err := x.ReadLists(nil, span[0], span[1])
		require.ErrorIs(t, err, ErrRange)
	}
	requireSame(t, m, x)
}

// TestWrongCounts: a wrong digit in metadata.json never makes a smaller index, for a reader or
// for a repair, whatever else says how many chunks there are.
func TestWrongCounts(t *testing.T) {
	for _, flavour := range writable {
		for _, chunks := range []int{0, 1} {
			for _, more := range []map[string]any{{}, {"num_documents": nil}, {"num_embeddings": nil}, {"avg_doclen": nil}, {"num_documents": nil, "num_embeddings": nil}} {
				dir, m := written(t, flavour)
				had := string(get(t, dir, metadataName))
				change := map[string]any{"num_chunks": chunks}
				for key := range more {
					if strings.Contains(had, key) {
						change[key] = nil
					}
				}
				setKeys(t, dir, change)
				before := snapshot(t, dir)
				_, err := Open(dir)
				require.ErrorIs(t, err, ErrCorrupt, "%v, %v", flavour, change)
				require.ErrorContains(t, err, filepath.Join(dir, metadataName)+": num_chunks is")
				report, err := Check(dir)
				require.NoError(t, err)
				require.Len(t, report.Problems, 1)
				require.False(t, report.Repairable())
				_, err = Repair(dir)
				require.ErrorIs(t, err, ErrCorrupt)
				require.Equal(t, before, snapshot(t, dir), "%v, %v", flavour, change)
				change["num_chunks"] = 2
				setKeys(t, dir, change)
				requireSame(t, m, opened(t, dir))
			}
		}
	}
}

// TestLeftoverOfACrash: chunk files beyond num_chunks go only where the counts agree.
func TestLeftoverOfACrash(t *testing.T) {
	for _, flavour := range writable {
		dir, m := written(t, flavour)
		put(t, dir, "doclens.2.json", []byte("[1]"))
		x := opened(t, dir)
		requireSame(t, m, x)
		report, err := Check(dir)
		require.NoError(t, err)
		require.Equal(t, []string{"doclens.2.json"}, report.Leftovers)
		wrong := duplicate(t, dir)
		setKeys(t, wrong, map[string]any{"num_embeddings": 11})
		_, err = Repair(wrong)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "doclens.2.json is there and num_embeddings is 11, the arrays have 10")
		require.FileExists(t, filepath.Join(wrong, "doclens.2.json"))
		_, err = Repair(dir)
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(dir, "doclens.2.json"))
		requireSame(t, m, opened(t, dir))
	}
}

// TestMergedLengths: a merged payload goes on beyond its tokens, so that a wrong length would
// pass for a right one: it is refused where both other counts contradict it.
func TestMergedLengths(t *testing.T) {
	dir, m := written(t, FastPlaid17)
	require.FileExists(t, filepath.Join(dir, "merged_codes.npy"))
	require.NoFileExists(t, filepath.Join(dir, "0.codes.npy"))
	source := duplicate(t, dir)
	put(t, dir, "doclens.0.json", []byte("[1,0,2]"))
	before := snapshot(t, dir)
	for _, do := range []func() error{
		func() error { _, err := Open(dir); return err },
		func() error { _, err := Repair(dir); return err },
	} {
		err := do()
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "merged_codes.npy: 10 rows, document lengths sum to 8")
	}
	require.Equal(t, before, snapshot(t, dir))
	for _, wrong := range []func(){ // one that disagrees is outvoted
		func() { setKeys(t, source, map[string]any{"num_embeddings": 8}) },
		func() {
			put(t, source, "merged_codes.manifest.json", []byte(strings.Replace(string(get(t, source, "merged_codes.manifest.json")), "5", "6", 1)))
		},
	} {
		wrong()
		requireSame(t, m, opened(t, source))
		_, err := Repair(source)
		require.NoError(t, err)
		requireSame(t, m, opened(t, source))
	}
}

// TestOneOfTwo: where what is stored contradicts what it is derived from, either may be wrong.
// A repair that made the derived one anew would hide a wrong code or residual for good.
func TestOneOfTwo(t *testing.T) {
	next := filepath.Join(golden.Root(t), "nextplaid-index", "np_d32_b4.index")
	for _, c := range []struct {
		source, file string
		at           int
		with         []byte
		want         string
	}{
		{next, "0.inv_norms.npy", 128 + 4*7, []byte{0, 0, 0, 0x40}, "0.inv_norms.npy: element 7: inverse norm 2 of a vector with 1.0022134: the norm, or the code, residuals or centroid of token 7, is wrong"},
		{next, "0.residuals.npy", 128 + 16*5, []byte{0}, "0.inv_norms.npy: element 5: inverse norm"},
		{next, "bucket_weights.npy", 128 + 4*3 + 3, []byte{0xbf}, "0.inv_norms.npy: element"},
		{next, "centroids.npy", 128 + 3, []byte{0x41}, "0.inv_norms.npy: element"},
		{"", "0.codes.npy", 128, []byte{3}, "or a code of the document, is wrong"},
		{"", "0.codes.npy", 128, []byte{0}, "or a code of the document, is wrong"},
		{"", "ivf.npy", 128 + 3*8, []byte{1}, "ivf.npy: element 3: document 1 in the list of centroid 1 owns no token of it: the list, or"},
	} {
		dir := ""
		if c.source == "" {
			dir, _ = written(t, FastPlaid14)
		} else {
			dir = duplicate(t, c.source)
		}
		before := string(get(t, dir, c.file))
		patch(t, dir, c.file, c.at, c.with...)
		if string(get(t, dir, c.file)) == before {
			continue // it was so
		}
		damaged := snapshot(t, dir)
		_, err := Repair(dir)
		require.ErrorIs(t, err, ErrCorrupt, c.file)
		require.Equal(t, damaged, snapshot(t, dir))
		report, err := Check(dir)
		require.NoError(t, err)
		require.False(t, report.Repairable())
		text := ""
		for _, p := range report.Problems {
			text += p.String() + "\n"
		}
		require.Contains(t, text, c.want, c.file)
	}
}

// TestListLengthsOfOthers: lists whose lengths do not sum to what is there contradict
// themselves and are made again.
func TestListLengthsOfOthers(t *testing.T) {
	dir, _ := written(t, FastPlaid14)
	before := snapshot(t, dir)
	last := len(before["ivf_lengths.npy"]) - 4
	patch(t, dir, "ivf_lengths.npy", last, before["ivf_lengths.npy"][last]-1)
	report, err := Check(dir)
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.ErrorContains(t, report.Problems[0].Err, "is missing in the list of centroid 3")
	require.True(t, report.Repairable())
	_, err = Repair(dir)
	require.NoError(t, err)
	require.Equal(t, before, snapshot(t, dir))
}

// TestCopiesDiffer: of chunk files and merged ones of the same chunks either may be wrong.
func TestCopiesDiffer(t *testing.T) {
	for _, file := range []string{"merged_residuals.npy", "0.residuals.npy"} {
		dir := duplicate(t, filepath.Join(golden.Root(t), "plaid-index", "fp17_d64_b4_shards.index"))
		at := len(get(t, dir, file)) - 70
		if strings.HasPrefix(file, "merged") {
			at = 300
		}
		patch(t, dir, file, at, get(t, dir, file)[at]^0x10)
		report, err := Check(dir)
		require.NoError(t, err)
		require.Len(t, report.Problems, 1)
		require.ErrorContains(t, report.Problems[0].Err, "0.residuals.npy, and one of the two is wrong")
		require.False(t, report.Repairable())
	}
}

package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
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

// TestHoles: a file that is mostly a hole costs no memory to be refused.
func TestHoles(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("files of gigabytes are sparse by themselves on other systems only")
	}
	const size = 6 << 30
	for _, c := range []struct{ file, want string }{
		{"doclens.0.json", "element 3: want the end"},
		{"doclens.1.json", `byte 0: element 0: want '['`},
		{"avg_residual.npy", "average residuals, want 1 or 16"},
	} {
		dir, _ := written(t, FastPlaid14)
		if text := get(t, dir, c.file); c.file == "avg_residual.npy" {
			h, err := npy.ReadHeader(bytes.NewReader(text))
			require.NoError(t, err)
			head := array(t, npy.NumPy, h.DType, nil, size/4)
			put(t, dir, c.file, append(head, text[h.Offset:]...))
			require.NoError(t, os.Truncate(filepath.Join(dir, c.file), int64(len(head))+size))
		} else {
			if c.file == "doclens.1.json" {
				put(t, dir, c.file, nil)
			}
			require.NoError(t, os.Truncate(filepath.Join(dir, c.file), size))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Open(dir)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, c.file)
		require.ErrorContains(t, err, c.want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), c.file)
	}
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

package format

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/golden"
)

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

// TestCopiesDiffer: of chunk files and merged ones of the same chunks either may be wrong. A
// chunk file with another time than the manifest has is another one, so that the copy is stale.
func TestCopiesDiffer(t *testing.T) {
	const residuals = "0.residuals.npy"
	const epoch = time.Duration(math.MinInt64) // what keeps no times
	source := filepath.Join(golden.Root(t), "plaid-index", "fp17_d64_b4_shards.index")
	m, err := readManifest(source, "merged_residuals.manifest.json")
	require.NoError(t, err)
	at := func(name string) time.Time { return time.UnixMicro(int64(m.modified[name] * 1e6)) }
	for _, c := range []struct {
		later   time.Duration
		claim   bool
		changed string // another chunk than the one with the time
		stale   bool
	}{
		{0, true, residuals, false},
		{0, false, residuals, false},
		{time.Millisecond, true, residuals, true},
		{time.Millisecond, false, residuals, true},
		{-time.Millisecond, true, residuals, false}, // the merged files are the truth, and these are no later ones
		{-time.Millisecond, false, residuals, true},
		{time.Millisecond, false, "1.residuals.npy", true}, // and all chunks after it
		{epoch, false, residuals, false},
		{-time.Duration(at(residuals).Nanosecond()), false, residuals, false}, // an archive's whole seconds
	} {
		for _, file := range []string{"merged_residuals.npy", c.changed} {
			dir := duplicate(t, source)
			if !c.claim {
				for _, kind := range []string{"codes", "residuals"} {
					name := "merged_" + kind + ".manifest.json"
					put(t, dir, name, []byte(strings.ReplaceAll(string(get(t, dir, name)), `"merged": true, `, "")))
				}
			}
			place := len(get(t, dir, file)) - 70
			switch {
			case strings.HasPrefix(file, "merged") && c.changed == residuals:
				place = 300
			case strings.HasPrefix(file, "merged"):
				place = 192 + 32*(93+50)
			}
			patch(t, dir, file, place, get(t, dir, file)[place]^0x10)
			for name := range m.modified {
				when := at(name)
				if name == residuals {
					if when = when.Add(c.later); c.later == epoch {
						when = time.Unix(0, 0)
					}
				}
				require.NoError(t, os.Chtimes(filepath.Join(dir, name), when, when))
			}
			report, err := Check(dir)
			require.NoError(t, err)
			require.Len(t, report.Problems, 1)
			require.ErrorContains(t, report.Problems[0].Err, c.changed+", and one of the two is wrong")
			require.Equal(t, c.stale, report.Repairable(), "%+v, %s", c, file)
			if !c.stale {
				continue
			}
			before := snapshot(t, dir)
			_, err = Repair(dir)
			require.NoError(t, err)
			require.Equal(t, before[c.changed], string(get(t, dir, c.changed)))
			report, err = Check(dir)
			require.NoError(t, err)
			require.Empty(t, report.Problems)
		}
	}
	dir := duplicate(t, source) // the chunk before the one with the other time is no other
	patch(t, dir, residuals, 300, get(t, dir, residuals)[300]^0x10)
	for name := range m.modified {
		when := at(name)
		if name != residuals {
			when = when.Add(time.Second)
		}
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), when, when))
	}
	report, err := Check(dir)
	require.NoError(t, err)
	require.False(t, report.Repairable())
}

// TestOrderOnDisk: what metadata.json makes an index is durable before it, names and the
// folder's own among them, and metadata.json is when the writer returns.
func TestOrderOnDisk(t *testing.T) {
	for _, made := range []bool{true, false} {
		for _, flavour := range writable {
			parent := t.TempDir()
			dir := filepath.Join(parent, "index")
			if !made {
				require.NoError(t, os.Mkdir(dir, 0o777))
			}
			var steps []string
			_, err := write(dir, flavour, sample(11, 16, 4, 4, 3, 2), WriteOptions{}, func(op, path string) error {
				steps = append(steps, op+" "+filepath.Base(path))
				return nil
			})
			require.NoError(t, err)
			want := []string{"syncdir index", "syncdir " + filepath.Base(parent), "rename metadata.json", "syncdir index"}
			if !made {
				want = []string{"syncdir index", "rename metadata.json", "syncdir index"}
			}
			n := len(steps) - len(want)
			require.Equal(t, want, steps[n:])
			renamed := map[string]bool{}
			for i, step := range steps[:n] {
				name, ok := strings.CutPrefix(step, "rename ")
				if !ok {
					require.Empty(t, renamed, "%s after a rename", step)
					continue
				}
				require.Contains(t, steps[:i], "sync "+tempPrefix+name)
				renamed[name] = true
			}
			require.Contains(t, steps, "sync "+tempPrefix+metadataName)
			require.NotEmpty(t, renamed)
		}
	}
}

// TestWARPCounts: counts that a WARP folder keeps of the index it was made of are compared.
func TestWARPCounts(t *testing.T) {
	dir, m := writtenWARP(t)
	setKeys(t, dir, map[string]any{"num_embeddings": 10, "num_partitions": 5})
	x := opened(t, dir)
	require.Equal(t, m.DocumentOffsets, x.Offsets())
	require.Empty(t, x.Warnings())
	setKeys(t, dir, map[string]any{"num_embeddings": 11})
	require.ErrorContains(t, opened(t, dir).Warnings()[0], "metadata.json: num_embeddings is 11, the arrays have 10")
}

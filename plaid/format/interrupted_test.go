package format

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/npy"
)

// listed is an index of four documents and four centroids, whose lists are those given.
func listed(t testing.TB, lists ...[]int64) (dir string, whole map[string]string) {
	t.Helper()
	m := sample(11, 16, 4, 4, 3, 1, 2, 4)
	m.TokenCodes = []int32{0, 1, 1, 2, 3, 3, 0, 2, 3, 3}
	dir = filepath.Join(t.TempDir(), "index")
	_, err := save(dir, FastPlaid14, m, WriteOptions{ChunkDocuments: 3})
	require.NoError(t, err)
	whole = snapshot(t, dir)
	var ids, lengths []byte
	for _, list := range lists {
		for _, id := range list {
			ids = append(ids, i8(id)...)
		}
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(len(list)))
	}
	put(t, dir, "ivf.npy", array(t, npy.NumPy, "i8", ids, len(ids)/8))
	put(t, dir, "ivf_lengths.npy", array(t, npy.NumPy, "i4", lengths, len(lists)))
	return dir, whole
}

// TestListsLackDocuments: an update that ended before it wrote lists leaves documents out of
// all of theirs, and fast-plaid leaves lists out from num_partitions on: neither is a wrong
// code, which may leave one entry missing, so that lists are made again.
func TestListsLackDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		lists [][]int64
		want  string // the problem that nobody can repair
	}{
		"whole":                        {[][]int64{{0, 3}, {0}, {1, 3}, {2, 3}}, ""},
		"last document":                {[][]int64{{0}, {0}, {1}, {2}}, ""},
		"a document of one token":      {[][]int64{{0, 3}, {0}, {3}, {2, 3}}, ""},
		"all documents":                {[][]int64{{}, {}, {}, {}}, ""},
		"lists from 2 on":              {[][]int64{{0, 3}, {0}}, ""},
		"lists from 2 on and the last": {[][]int64{{0}, {0}}, ""},
		"one list of several":          {[][]int64{{0, 3}, {0}, {1, 3}, {2}}, "document 3 is missing in the list of centroid 3: the list, or a code"},
		"a document of one centroid":   {[][]int64{{0, 3}, {0}, {1, 3}, {3}}, ""},
		"one more":                     {[][]int64{{0}, {0, 2}, {1}, {2}}, "document 3 is missing in the list of centroid 0: the list, or a code"},
	} {
		dir, whole := listed(t, c.lists...)
		setKeys(t, dir, map[string]any{"num_documents": 5})
		before := snapshot(t, dir)
		report, err := Repair(dir)
		require.Equal(t, c.want == "", report.Repairable(), name)
		if c.want == "" {
			require.NoError(t, err, name)
			setKeys(t, dir, nil) // spelled as the test does
			after := snapshot(t, dir)
			put(t, dir, metadataName, []byte(whole[metadataName]))
			setKeys(t, dir, nil)
			require.Equal(t, snapshot(t, dir), after, name)
			require.Equal(t, whole["ivf.npy"], after["ivf.npy"], name)
			require.Equal(t, whole["ivf_lengths.npy"], after["ivf_lengths.npy"], name)
			continue
		}
		require.ErrorIs(t, err, ErrCorrupt, name)
		require.ErrorContains(t, err, c.want, name)
		require.ErrorContains(t, err, "`likbench plaid convert` makes lists anew from the codes")
		require.ErrorContains(t, err, "nothing was changed, 1 repairable problems stay")
		require.Equal(t, before, snapshot(t, dir), name)
	}
}

// TestListsOfAWrongCode: whichever single code is wrong, in whichever way, no repair makes
// lists that hide it.
func TestListsOfAWrongCode(t *testing.T) {
	for _, lists := range [][][]int64{
		{{0, 3}, {0}, {1, 3}, {2, 3}},
		{{0, 3}, {0}, {1, 2, 3}}, // of codes below 3
	} {
		for token := range 10 {
			for code := range int64(4) {
				dir, _ := listed(t, lists...)
				codes := []int64{0, 1, 1, 2, 3, 3, 0, 2, 3, 3}
				if len(lists) == 3 {
					codes = []int64{0, 1, 1, 2, 2, 2, 0, 2, 2, 2}
				}
				codes[token] = code
				for i, n := 0, int64(0); i < 2; i, n = i+1, n+6 {
					var text []byte
					for _, c := range codes[n:min(n+6, 10)] {
						text = append(text, i8(c)...)
					}
					put(t, dir, []string{"0.codes.npy", "1.codes.npy"}[i], array(t, npy.NumPy, "i8", text, len(text)/8))
				}
				report, err := Check(dir)
				require.NoError(t, err)
				require.True(t, report.Clean() || !report.Repairable(), "token %d, code %d, lists %v", token, code, lists)
			}
		}
	}
}

// TestUpdateCutShort: an update rewrites the last chunk with documents added, writes more of
// them, and metadata.json last. Before that, arrays hold more than it counts: readers warn and
// ignore what is beyond num_chunks, and a repair corrects the counts, no more.
func TestUpdateCutShort(t *testing.T) {
	for _, flavour := range writable {
		dir := filepath.Join(t.TempDir(), "index")
		_, err := save(dir, flavour, sample(11, 16, 4, 4, 3, 0, 2, 5, 1, 4), WriteOptions{ChunkDocuments: 2})
		require.NoError(t, err)
		change := map[string]any{"num_chunks": 2}
		had := string(get(t, dir, metadataName))
		for key, value := range map[string]any{"num_documents": 3, "num_embeddings": 5, "avg_doclen": 5. / 3} {
			if strings.Contains(had, key) {
				change[key] = value
			}
		}
		setKeys(t, dir, change)
		x := opened(t, dir)
		require.Equal(t, []int64{0, 3, 3, 5, 10}, x.Offsets(), "%v", flavour)
		require.ErrorContains(t, errors.Join(x.Warnings()...), "num_embeddings is 5, the arrays have 10")
		report, err := Repair(dir)
		require.NoError(t, err, "%v", flavour)
		require.Contains(t, report.Leftovers, "doclens.2.json")
		for _, name := range report.Leftovers {
			require.FileExists(t, filepath.Join(dir, name))
		}
		x = opened(t, dir)
		require.Equal(t, []int64{0, 3, 3, 5, 10}, x.Offsets(), "%v", flavour)
		require.Empty(t, x.Warnings())
		report, err = Repair(dir) // the counts agree now
		require.NoError(t, err, "%v", flavour)
		require.Empty(t, report.Problems)
		require.NoFileExists(t, filepath.Join(dir, "doclens.2.json"))

		// One count more than there is, and it may be num_chunks that is wrong.
		put(t, dir, "doclens.2.json", []byte("[1,4]"))
		setKeys(t, dir, map[string]any{"num_embeddings": 11})
		_, err = Open(dir)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "num_chunks is 2, doclens.2.json is there and num_embeddings is 11, the arrays have 10")
	}
}

// TestAverageDrifts: a mean length that is not quite right says nothing of what is there.
func TestAverageDrifts(t *testing.T) {
	for _, flavour := range writable {
		dir, m := written(t, flavour)
		put(t, dir, "doclens.2.json", []byte("[1]"))
		setKeys(t, dir, map[string]any{"avg_doclen": 2.501})
		x := opened(t, dir)
		requireSame(t, m, x)
		require.ErrorContains(t, errors.Join(x.Warnings()...), "avg_doclen is 2.501, the arrays have 2.5")
		_, err := Repair(dir)
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(dir, "doclens.2.json"))
		requireSame(t, m, opened(t, dir))
	}
	dir, _ := written(t, FastPlaid17) // nothing but the mean and the manifest say that a length is wrong
	put(t, dir, "doclens.0.json", []byte("[1,0,2]"))
	setKeys(t, dir, map[string]any{"num_documents": nil, "num_embeddings": nil})
	_, err := Open(dir)
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "document lengths sum to 8, avg_doclen is 2.5, the arrays have 2")
}

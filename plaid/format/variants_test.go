package format

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/internal/npy"
)

// array is a .npy file.
func array(t testing.TB, dialect npy.Dialect, dtype string, data []byte, shape ...int) []byte {
	t.Helper()
	head, err := npy.AppendHeader(nil, dialect, dtype, shape...)
	require.NoError(t, err)
	return append(head, data...)
}

// setKeys changes keys of metadata.json; nil removes one.
func setKeys(t testing.TB, dir string, change map[string]any) {
	t.Helper()
	var keys map[string]any
	require.NoError(t, json.Unmarshal(get(t, dir, metadataName), &keys))
	for key, value := range change {
		if keys[key] = value; value == nil {
			delete(keys, key)
		}
	}
	text, err := json.Marshal(keys)
	require.NoError(t, err)
	put(t, dir, metadataName, text)
}

// TestHeadersOfEveryWriter spells the headers of an index in each way, aligned or not.
func TestHeadersOfEveryWriter(t *testing.T) {
	source, m := written(t, FastPlaid14)
	for _, dialect := range []npy.Dialect{npy.NumPy, npy.Tch, npy.Odd, npy.Patchable} {
		dir := duplicate(t, source)
		for name := range snapshot(t, dir) {
			if a, err := npy.ReadFile(filepath.Join(dir, name)); err == nil {
				put(t, dir, name, array(t, dialect, a.DType, a.Data, a.Shape...))
			}
		}
		requireSame(t, m, opened(t, dir))
	}
	for _, descr := range []string{"<u1", "|u1", "u1"} {
		for version := byte(1); version <= 2; version++ {
			dir := duplicate(t, source)
			a, err := npy.ReadFile(filepath.Join(dir, "0.residuals.npy"))
			require.NoError(t, err)
			text := fmt.Sprintf("{'shape': (%d,%d,),'descr': %q , 'fortran_order':False}", a.Shape[0], a.Shape[1], descr)
			b := append([]byte("\x93NUMPY"), version, 0)
			if version == 1 {
				b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
			} else {
				b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
			}
			put(t, dir, "0.residuals.npy", append(append(b, text...), a.Data...))
			requireSame(t, m, opened(t, dir))
		}
	}
}

// TestTypesOfEveryWriter stores the same numbers in each type that a writer uses.
func TestTypesOfEveryWriter(t *testing.T) {
	source, m := written(t, FastPlaid14)
	var half, single, double []byte
	for _, v := range m.Cells {
		half = binary.LittleEndian.AppendUint16(half, num.F16FromFloat32(v))
		single = binary.LittleEndian.AppendUint32(single, math.Float32bits(v))
		double = binary.LittleEndian.AppendUint64(double, math.Float64bits(float64(v)))
	}
	threshold := binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.5))
	for i, centroids := range [][]byte{half, single, double} {
		dir := duplicate(t, source)
		put(t, dir, "centroids.npy", array(t, npy.NumPy, []string{"f2", "f4", "f8"}[i], centroids, 4, 16))
		if i > 0 {
			put(t, dir, "cluster_threshold.npy", array(t, npy.Tch, "f8", threshold))
			lengths, err := npy.ReadFile(filepath.Join(dir, "ivf_lengths.npy"))
			require.NoError(t, err)
			var wide []byte
			for n := range lengths.Len() {
				wide = append(wide, i8(int64(lengths.Float64s()[n]))...)
			}
			put(t, dir, "ivf_lengths.npy", array(t, npy.NumPy, "i8", wide, 4))
			codes, err := npy.ReadFile(filepath.Join(dir, "0.codes.npy"))
			require.NoError(t, err)
			var narrow []byte
			for n := range codes.Len() {
				narrow = binary.LittleEndian.AppendUint32(narrow, uint32(codes.Float64s()[n]))
			}
			put(t, dir, "0.codes.npy", array(t, npy.NumPy, "i4", narrow, codes.Len()))
		}
		x := opened(t, dir)
		require.Equal(t, float32(0.5), x.ClusterThreshold())
		requireSame(t, m, x)
	}
}

// TestListLengths: fewer lengths than centroids and more are legal; a length beyond K is a
// problem for fsck, and otherwise ignored.
func TestListLengths(t *testing.T) {
	m := sample(17, 8, 2, 6, 4, 4)
	for i := range m.TokenCodes {
		m.TokenCodes[i] %= 4
	}
	source := filepath.Join(t.TempDir(), "index")
	_, err := save(source, FastPlaid14, m, WriteOptions{})
	require.NoError(t, err)
	lengths := get(t, source, "ivf_lengths.npy")[128:]
	for _, n := range []int{4, 6, 9} {
		dir := duplicate(t, source)
		put(t, dir, "ivf_lengths.npy", array(t, npy.Tch, "i4", append(lengths, make([]byte, 12)...)[:4*n], n))
		requireSame(t, m, opened(t, dir))
		report, err := Check(dir)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
	}
	dir := duplicate(t, source)
	put(t, dir, "ivf_lengths.npy", array(t, npy.Tch, "i4", append(append([]byte{}, lengths...), 0, 0, 0, 0, 1, 0, 0, 0), 8))
	ids := get(t, dir, "ivf.npy")[128:]
	put(t, dir, "ivf.npy", array(t, npy.Tch, "i8", append(append([]byte{}, ids...), i8(9)...), len(ids)/8+1))
	requireSame(t, m, opened(t, dir))
	report, err := Check(dir)
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.ErrorContains(t, report.Problems[0].Err, "ivf_lengths.npy: list of 1 documents for centroid 7 of 6")
	before := snapshot(t, source)
	_, err = Repair(dir)
	require.NoError(t, err)
	require.Equal(t, before, snapshot(t, dir))
}

// TestManyChunks: 10 comes after 9, and files beyond num_chunks are leftovers.
func TestManyChunks(t *testing.T) {
	lengths := make([]int64, 12)
	for i := range lengths {
		lengths[i] = int64(i%4) + 1
	}
	m := sample(19, 8, 2, 3, lengths...)
	for _, flavour := range writable {
		dir := filepath.Join(t.TempDir(), "index")
		_, err := save(dir, flavour, m, WriteOptions{ChunkDocuments: 1})
		require.NoError(t, err)
		requireSame(t, m, opened(t, dir))
		before := snapshot(t, dir)
		leftovers := []string{"12.codes.npy", "12.metadata.json", "99999999999999999999.residuals.npy", "doclens.12.json"}
		for _, name := range leftovers {
			put(t, dir, name, []byte("half a fi"))
		}
		requireSame(t, m, opened(t, dir))
		report, err := Check(dir)
		require.NoError(t, err)
		require.Equal(t, leftovers, report.Leftovers)
		require.Empty(t, report.Problems)
		_, err = Repair(dir)
		require.NoError(t, err)
		require.Equal(t, before, snapshot(t, dir))
	}
}

func TestCounts(t *testing.T) {
	dir, m := written(t, FastPlaid14)
	before := snapshot(t, dir)
	setKeys(t, dir, map[string]any{"num_documents": nil, "compress_only": nil, "num_embeddings": 999, "avg_doclen": 7.5, "shiny": 1})
	x := opened(t, dir)
	requireSame(t, m, x)
	require.Len(t, x.Warnings(), 3)
	report, err := Check(dir)
	require.NoError(t, err)
	require.Len(t, report.Problems, 2)
	require.Len(t, report.Warnings, 1)
	require.ErrorContains(t, report.Problems[0].Err, "metadata.json: num_embeddings is 999, the arrays have 10")
	require.True(t, report.Repairable())
	_, err = Repair(dir)
	require.NoError(t, err)
	x = opened(t, dir)
	require.Len(t, x.Warnings(), 1, "the unknown key stays")
	put(t, dir, metadataName, []byte(before[metadataName]))
	require.Equal(t, before, snapshot(t, dir))

	// The quirk of fast-plaid's delete: chunk offsets of before.
	dir = duplicate(t, filepath.Join(golden.Root(t), "plaid-index", "fp17_delete.index"))
	report, err = Check(dir)
	require.NoError(t, err)
	require.Len(t, report.Problems, 2)
	require.ErrorContains(t, report.Problems[0].Err, "1.metadata.json: embedding_offset is 115, the arrays have 102")
	_, err = Repair(dir)
	require.NoError(t, err)
	report, err = Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
}

// TestGoldenIndexesAreClean but for what is known.
func TestGoldenIndexesAreClean(t *testing.T) {
	for _, dir := range goldenDirs(t) {
		before := snapshot(t, dir)
		report, err := Check(dir)
		require.NoError(t, err)
		if filepath.Base(dir) != "fp17_delete.index" {
			require.Empty(t, report.Problems, dir)
		}
		for _, w := range report.Warnings {
			require.ErrorContains(t, w, "pickled Python objects are not read")
		}
		require.Empty(t, report.Leftovers)
		require.Equal(t, before, snapshot(t, dir))
	}
}

func TestFrozen(t *testing.T) {
	dir := duplicate(t, filepath.Join(golden.Root(t), "plaid-index", "fp17_metadata_frozen.index"))
	require.True(t, opened(t, dir).Frozen())
	patch(t, dir, "ivf.npy", 80, i8(-7)...)
	before := snapshot(t, dir)
	_, err := Repair(dir)
	require.ErrorIs(t, err, ErrFrozen)
	require.Equal(t, before, snapshot(t, dir))

	// An intermediate release wrote "frozen" alone.
	dir, m := written(t, FastPlaid17)
	setKeys(t, dir, map[string]any{"mutable": nil})
	x := opened(t, dir)
	require.True(t, x.Frozen())
	requireSame(t, m, x)
}

// TestMerged: padding may hold anything, complete chunk files win over merged ones.
func TestMerged(t *testing.T) {
	dir, m := written(t, FastPlaid17)
	a, err := npy.ReadFile(filepath.Join(dir, "merged_codes.npy"))
	require.NoError(t, err)
	n := a.Len()
	put(t, dir, "merged_codes.npy", array(t, npy.Patchable, "i8", append(a.Data, i8(-5)...), n+1))
	requireSame(t, m, opened(t, dir))
	put(t, dir, "merged_codes.npy", array(t, npy.Patchable, "i8", a.Data[:8*9], 9))
	_, err = Open(dir)
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "merged_codes.npy: 9 rows, document lengths sum to 10")

	dir = duplicate(t, filepath.Join(golden.Root(t), "plaid-index", "fp17_d64_b4_shards.index"))
	want := opened(t, dir)
	lie := `{"0.codes.npy": {"rows": 1, "merged": true, "mtime": 9e9}}`
	put(t, dir, "merged_codes.manifest.json", []byte(lie))
	patch(t, dir, "merged_codes.npy", 192, i8(99)...)
	x := opened(t, dir)
	requireSame(t, want, x)
	report, err := Check(dir)
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.ErrorContains(t, report.Problems[0].Err, "merged_codes.npy: element 0: differs from")
	_, err = Repair(dir)
	require.NoError(t, err)
	report, err = Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)

	// Neither chunk files nor merged ones are complete: all that is missing is named.
	require.NoError(t, os.Remove(filepath.Join(dir, "1.codes.npy")))
	require.NoError(t, os.Remove(filepath.Join(dir, "merged_residuals.npy")))
	_, err = Open(dir)
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "1.codes.npy, merged_codes.npy, merged_residuals.npy, one of which is needed")
}

func TestStaleNorms(t *testing.T) {
	source := filepath.Join(golden.Root(t), "nextplaid-index", "np_d32_b4.index")
	dir := duplicate(t, source)
	patch(t, dir, "0.inv_norms.npy", 128+4*7, 0, 0, 0xc0, 0x7f)
	report, err := Check(dir)
	require.NoError(t, err)
	require.Len(t, report.Problems, 2)
	require.ErrorContains(t, report.Problems[0].Err, "0.inv_norms.npy: element 7: NaN")
	require.ErrorContains(t, report.Problems[1].Err, "merged_inv_norms.npy: element 7: differs from")
	_, err = Repair(dir)
	require.NoError(t, err)
	require.Equal(t, get(t, source, "0.inv_norms.npy")[128:], get(t, dir, "0.inv_norms.npy")[128:])
	require.NoFileExists(t, filepath.Join(dir, "merged_codes.npy"), "next-plaid makes its caches again")
	report, err = Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
}

func TestRefusedByName(t *testing.T) {
	for want, c := range map[string]struct {
		change map[string]any
		kind   error
	}{
		"metadata.json: binary is true":                                       {map[string]any{"binary": true}, ErrUnsupported},
		"metadata.json: ternary is true":                                      {map[string]any{"ternary": true}, ErrUnsupported},
		`metadata.json: codec is "pq"`:                                        {map[string]any{"codec": "pq"}, ErrUnsupported},
		"metadata.json: nbits: codec: 3: bits per component not 1, 2, 4 or 8": {map[string]any{"nbits": 3}, ErrUnsupported},
		"metadata.json: nbits: codec: 0: bits per component":                  {map[string]any{"nbits": 0}, ErrUnsupported},
		"metadata.json: nbits: codec: 2147483647: bits":                       {map[string]any{"nbits": int64(1) << 40}, ErrUnsupported},
		"metadata.json: nbits is 2.5, want a whole number from 0 on":          {map[string]any{"nbits": 2.5}, ErrCorrupt},
		"metadata.json: lacks nbits":                                          {map[string]any{"nbits": nil}, ErrCorrupt},
		"metadata.json: num_chunks is -1, want a whole number from 0 on":      {map[string]any{"num_chunks": -1}, ErrCorrupt},
		"doclens.2.json": {map[string]any{"num_chunks": int64(1) << 60}, ErrMissing},
		"bucket_cutoffs.npy: 15 values for 8 bits, want 255":                {map[string]any{"nbits": 8}, ErrCorrupt},
		`metadata.json: next_plaid_compatible is "yes", want true or false`: {map[string]any{"next_plaid_compatible": "yes"}, ErrCorrupt},
	} {
		dir, _ := written(t, NextPlaid)
		setKeys(t, dir, c.change)
		_, err := Open(dir)
		require.ErrorIs(t, err, c.kind, want)
		require.ErrorContains(t, err, want)
	}
	dir, _ := written(t, FastPlaid14)
	put(t, dir, "centroids.npy", array(t, npy.NumPy, "f2", make([]byte, 4*12*2), 4, 12))
	_, err := Open(dir)
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "centroids.npy: codec: 12: components not a positive multiple of 8")
	put(t, dir, "centroids.npy", array(t, npy.NumPy, "f2", make([]byte, 4*24*2), 4, 24))
	require.NoError(t, os.Remove(filepath.Join(dir, "avg_residual.npy")))
	_, err = Open(dir)
	require.ErrorContains(t, err, "0.residuals.npy: residuals of type u1, 8 bytes a token, want u1 and 12 for 24 components of 4 bits")
}

func TestNoIndex(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none"), "no index"},
		{dir, "metadata.json: no index: missing"},
	} {
		_, err := Open(c.path)
		require.ErrorIs(t, err, ErrNoIndex)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, c.want)
		requireNamed(t, err, c.path)
	}
	put(t, dir, "file", []byte("x"))
	_, err := Open(filepath.Join(dir, "file"))
	require.Error(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, metadataName), 0o777))
	_, err = Open(dir)
	require.ErrorContains(t, err, "want a regular file")
	report, err := Check(dir)
	require.NoError(t, err)
	require.False(t, report.Clean())
	_, err = Repair(dir)
	require.ErrorIs(t, err, ErrCorrupt)
}

// TestOddPlaces: read-only folders, links, names with blanks and beyond ASCII.
func TestOddPlaces(t *testing.T) {
	source, m := written(t, NextPlaid)
	parent := filepath.Join(t.TempDir(), "ein Verzeichnis", "índice 索引 \u2028")
	require.NoError(t, os.MkdirAll(parent, 0o777))
	for name := range snapshot(t, source) {
		if err := os.Symlink(filepath.Join(source, name), filepath.Join(parent, name)); errors.Is(err, errors.ErrUnsupported) || err != nil && runtime.GOOS == "windows" {
			put(t, parent, name, get(t, source, name))
		} else {
			require.NoError(t, err)
		}
	}
	require.NoError(t, os.Chmod(parent, 0o555))
	t.Cleanup(func() { _ = os.Chmod(parent, 0o777) })
	before := snapshot(t, parent)
	requireSame(t, m, opened(t, parent))
	report, err := Check(parent)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Equal(t, before, snapshot(t, parent))
	_, err = Write(parent, NextPlaid, m, WriteOptions{})
	require.ErrorIs(t, err, ErrExists)
}

// TestRepairKilled stops a repair before each change of the disk; the next one completes it.
func TestRepairKilled(t *testing.T) {
	source := filepath.Join(golden.Root(t), "plaid-index", "fp17_d64_b4_shards.index")
	for at, steps := 0, 1; steps > at; at++ {
		dir := duplicate(t, source)
		patch(t, dir, "ivf.npy", 80, i8(1000)...)
		setKeys(t, dir, map[string]any{"num_documents": 7})
		steps = 0
		_, _ = repair(dir, stepsUntil(at, false, &steps))
		_, err := Repair(dir)
		require.NoError(t, err)
		report, err := Check(dir)
		require.NoError(t, err)
		require.Empty(t, report.Problems, "step %d", at)
		requireSame(t, opened(t, source), opened(t, dir))
	}
}

// TestChunkSizes cuts the same index in every way.
func TestChunkSizes(t *testing.T) {
	m := sample(23, 8, 1, 2, 1, 0, 2, 3)
	for size := range 6 {
		dir := filepath.Join(t.TempDir(), strconv.Itoa(size))
		done, err := save(dir, NextPlaid, m, WriteOptions{ChunkDocuments: size})
		require.NoError(t, err)
		requireSame(t, m, opened(t, dir))
		chunks := 0
		for _, name := range done.Files {
			if strings.HasPrefix(name, "doclens.") {
				chunks++
			}
		}
		require.Equal(t, []int{1, 4, 2, 2, 1, 1}[size], chunks)
	}
}

// TestForeignArrays: what no writer writes is refused, never misread.
func TestForeignArrays(t *testing.T) {
	header := func(descr, fortran, shape string) string {
		text := "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n"
		return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(text)))) + text
	}
	data := strings.Repeat("\x00", 128)
	for want, text := range map[string]string{
		`unsupported type ">f2"`: header(">f2", "False", "(4, 16)") + data,
		"fortran order":          header("<f2", "True", "(4, 16)") + data,
		`unsupported type "|O"`:  header("|O", "False", "(4, 16)") + data,
		"want a length at":       header("<f2", "False", "(-4, 16)") + data,
		"overflows":              header("<f2", "False", "(4611686018427387904, 4611686018427387904)") + data,
		"128 bytes of data, shape [4 8] of f2 has 64":   header("<f2", "False", "(4, 8)") + data,
		"128 bytes of data, shape [5 16] of f2 has 160": header("<f2", "False", "(5, 16)") + data,
		"shape [64] of f2, want 2 axes of type f":       header("<f2", "False", "(64,)") + data,
		"shape [4 16] of i2, want 2 axes of type f":     header("<i2", "False", "(4, 16)") + data,
		"type u2":              header("<u2", "False", "(4, 16)") + data,
		"truncated header":     "\x93NUMPY\x01\x00\xff\xff{'descr'",
		`header lacks "shape"`: "\x93NUMPY\x01\x00\x29\x00{'descr': '<f2', 'fortran_order': False }",
		`magic "PK\x03\x04ab"`: "PK\x03\x04abcdefgh",
	} {
		dir, _ := written(t, FastPlaid14)
		put(t, dir, "centroids.npy", []byte(text))
		_, err := Open(dir)
		require.ErrorIs(t, err, ErrCorrupt, want)
		require.ErrorContains(t, err, want)
		requireNamed(t, err, filepath.Join(dir, "centroids.npy"))
	}
}

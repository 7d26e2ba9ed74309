package format

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/num"
	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/plaid/codec"
)

// writable are the layouts that Write knows.
var writable = []Flavour{FastPlaid14, FastPlaid17, NextPlaid, ColBERT}

// sample is a seeded index in memory: documents of the given lengths, K centroids exact in
// half, every byte value likely among the residuals.
func sample(seed uint64, dim, bits, k int, lengths ...int64) *Memory {
	random := rand.New(rand.NewPCG(seed, 9))
	m := &Memory{Components: dim, Width: bits, DocumentOffsets: []int64{0}, Radius: 0.5}
	for range k * dim {
		m.Cells = append(m.Cells, num.F16ToFloat32(num.F16FromFloat32(float32(random.NormFloat64()))))
	}
	for i := range 1 << bits {
		m.Table.Weights = append(m.Table.Weights, float32(2*i-1<<bits)/4)
		m.Table.Cutoffs = append(m.Table.Cutoffs, float32(2*i+1-1<<bits)/4)
	}
	m.Table.Bits, m.Table.Cutoffs = bits, m.Table.Cutoffs[1:]
	for range dim {
		m.Average = append(m.Average, random.Float32())
	}
	for _, n := range lengths {
		m.DocumentOffsets = append(m.DocumentOffsets, m.DocumentOffsets[len(m.DocumentOffsets)-1]+n)
		for range n {
			m.TokenCodes = append(m.TokenCodes, int32(random.IntN(k)))
			for range dim * bits / 8 {
				m.Residuals = append(m.Residuals, byte(random.Uint32()))
			}
		}
	}
	return m
}

// save is Write without the waiting for the disk.
func save(dir string, flavour Flavour, s Source, o WriteOptions) (*Written, error) {
	return write(dir, flavour, s, o, func(op, path string) error { return nil })
}

// requireSame compares an open index with its source, in whole and in odd pieces.
func requireSame(t *testing.T, want Source, x *Index) {
	t.Helper()
	require.Equal(t, []int{want.Dim(), want.Bits(), want.K()}, []int{x.Dim(), x.Bits(), x.K()})
	require.Equal(t, want.Offsets(), x.Offsets())
	require.Equal(t, want.Centroids(), x.Centroids())
	require.Equal(t, want.Cutoffs(), x.Cutoffs())
	require.Equal(t, want.Weights(), x.Weights())
	require.Equal(t, want.AverageResidual(), x.AverageResidual())
	total, row := x.Tokens(), int64(x.RowBytes())
	codes, rows := make([]int32, total), make([]byte, total*row)
	require.NoError(t, want.ReadCodes(codes, 0))
	require.NoError(t, want.ReadResiduals(rows, 0))
	for _, span := range [][2]int64{{0, total}, {total / 3, total - total/2}, {total, total}} {
		gotCodes, gotRows := make([]int32, span[1]-span[0]), make([]byte, (span[1]-span[0])*row)
		require.NoError(t, x.ReadCodes(gotCodes, span[0]))
		require.NoError(t, x.ReadResiduals(gotRows, span[0]))
		require.Equal(t, codes[span[0]:span[1]], gotCodes)
		require.Equal(t, rows[span[0]*row:span[1]*row], gotRows)
	}
	lists, err := BuildLists(want)
	require.NoError(t, err)
	require.Equal(t, lists.Offsets, x.ListOffsets())
	ids, err := x.ReadLists([]int32{-7}, 0, x.K())
	require.NoError(t, err)
	require.Equal(t, append([]int32{-7}, lists.Documents...), ids)
}

func TestRoundTrip(t *testing.T) {
	for _, flavour := range writable {
		for _, bits := range []int{1, 2, 4, 8} {
			for _, dim := range []int{8, 64, 96, 128, 256} {
				dir := filepath.Join(t.TempDir(), "index")
				m := sample(uint64(dim*bits), dim, bits, 5, 0, 3, 1, 0, 7, 2, 0)
				done, err := save(dir, flavour, m, WriteOptions{ChunkDocuments: 3})
				require.NoError(t, err)
				require.Empty(t, done.Rounded)
				x := opened(t, dir)
				require.Equal(t, flavour, x.Flavour())
				require.Empty(t, x.Warnings())
				require.Equal(t, float32(0.5), x.ClusterThreshold(), flavour)
				requireSame(t, m, x)
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Len(t, done.Files, len(entries))
			}
		}
	}
}

func TestSizesThatAreOdd(t *testing.T) {
	for name, m := range map[string]*Memory{
		"no documents":     sample(1, 8, 2, 3),
		"nothing at all":   {Components: 8, Width: 2, DocumentOffsets: []int64{0}, Cells: []float32{}, Table: sample(1, 8, 2, 1).Table, Average: make([]float32, 8)},
		"empty documents":  sample(1, 8, 2, 3, 0, 0, 0),
		"one token":        sample(1, 8, 2, 1, 1),
		"long document":    sample(1, 8, 1, 300, 70_000, 0, 1),
		"long last":        sample(1, 8, 4, 2, 1, 1, 9),
		"empty at the end": sample(1, 8, 4, 2, 4, 1, 0),
	} {
		for _, flavour := range writable {
			dir := filepath.Join(t.TempDir(), "index")
			_, err := save(dir, flavour, m, WriteOptions{})
			require.NoError(t, err, name)
			requireSame(t, m, opened(t, dir))
		}
	}
}

// TestConvert takes an index through every layout and back.
func TestConvert(t *testing.T) {
	m := sample(3, 16, 4, 6, 2, 0, 5, 1)
	m.Radius = 0.8158509 // of no short decimal fraction
	var from Source = m
	first := from
	for i, flavour := range []Flavour{NextPlaid, FastPlaid14, ColBERT, FastPlaid17, NextPlaid, FastPlaid17, FastPlaid14} {
		dir := filepath.Join(t.TempDir(), "index")
		done, err := save(dir, flavour, from, WriteOptions{ChunkDocuments: i%3 + 1})
		require.NoError(t, err)
		require.Empty(t, done.Rounded)
		x := opened(t, dir)
		requireSame(t, first, x)
		require.Equal(t, first.ClusterThreshold(), x.ClusterThreshold(), flavour)
		from = x
	}
}

func TestRoundedCentroidsAreReported(t *testing.T) {
	m := sample(4, 8, 1, 2, 3)
	m.Cells[3] = 0.1
	for flavour, want := range map[Flavour][]string{FastPlaid14: {"centroids.npy"}, FastPlaid17: {"centroids.npy"}, ColBERT: {"centroids.pt"}, NextPlaid: nil} {
		done, err := save(filepath.Join(t.TempDir(), "index"), flavour, m, WriteOptions{})
		require.NoError(t, err)
		require.Equal(t, want, done.Rounded)
	}
	m.Cells[3] = 70_000
	_, err := save(filepath.Join(t.TempDir(), "index"), FastPlaid14, m, WriteOptions{})
	require.ErrorIs(t, err, ErrRange)
	require.EqualError(t, err, "format: source: component 3 of centroid 0 is 70000: out of range")
}

// TestAppendix writes a hand-made index byte for byte as the Rust crate tch would.
func TestAppendix(t *testing.T) {
	m := &Memory{
		Components: 8, Width: 2, DocumentOffsets: []int64{0, 2, 3},
		Cells:   make([]float32, 16),
		Table:   codec.Table{Bits: 2, Cutoffs: []float32{-.25, 0, .25}, Weights: []float32{-.375, -.125, .125, .375}},
		Average: make([]float32, 8), Radius: 1,
	}
	m.Cells[0], m.Cells[9] = 1, 1
	tokens := [][]float32{{.8, .6, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0}, {.28, .96, 0, 0, 0, 0, 0, 0}}
	for _, token := range tokens {
		code, row := make([]int32, 1), make([]byte, 2)
		require.NoError(t, codec.Nearest(code, token, m.Cells, 8))
		require.NoError(t, m.Table.Encode(row, token, m.Cells[code[0]*8:][:8]))
		m.TokenCodes, m.Residuals = append(m.TokenCodes, code[0]), append(m.Residuals, row...)
	}
	dir := filepath.Join(t.TempDir(), "index")
	_, err := save(dir, FastPlaid14, m, WriteOptions{Tch: true})
	require.NoError(t, err)
	for name, want := range map[string]struct {
		size int
		data string
		sum  string
	}{
		"centroids.npy":      {112, "003c00000000000000000000000000000000003c000000000000000000000000", "23bc315b376fb1151c7127061fd1120c8abf0df0cfd95bf2d786c1270010e5df"},
		"0.codes.npy":        {104, "000000000000000001000000000000000100000000000000", "91d530a3a630d064caaf1164adeb8ece8bccd77b3ea6069db6bd7d2250c71297"},
		"0.residuals.npy":    {86, "baaaaaaaeaaa", "82a5afdad3e0edec9b6b211063eb01be5eb0cc8c447ca2985c24090a7a104569"},
		"ivf.npy":            {104, "000000000000000000000000000000000100000000000000", "9dc925f72cf0ff5b904e99914a66edd36a6770a74d39555177196868e6862718"},
		"ivf_lengths.npy":    {88, "0100000002000000", "829d07b51d02e69a8b9924cd038f44d8b87c7c45b8daac621ac56fc811062c7e"},
		"bucket_cutoffs.npy": {92, "000080be000000000000803e", "ecf421ce0c6e7dd392ec4cb5a2e0a61a3b762c8e91e791f9350b4c5774cebcfd"},
		"bucket_weights.npy": {96, "0000c0be000000be0000003e0000c03e", "cee267d69af9fb3c864e664575f7a42c7e3ad243eb52f5baa669a5d503eb2bc1"},
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Len(t, got, want.size, name)
		require.Equal(t, want.data, hex.EncodeToString(got[80:]), name)
		sum := sha256.Sum256(got)
		require.Equal(t, want.sum, hex.EncodeToString(sum[:]), name)
	}
	x := opened(t, dir)
	second := []float64{.375, .9354143, .875}
	for i, v := range decoded(t, x) {
		if i%8 == 1 {
			require.InDelta(t, second[i/8], v, 1e-7) // given with 7 digits
		}
	}
}

// TestRewriteIsByteEqual writes a golden index with chunk files again: what fast-plaid's Rust
// side wrote comes out byte for byte.
func TestRewriteIsByteEqual(t *testing.T) {
	claim := golden.Claim{Area: "plaid-index", Op: "plaid_index", When: []string{"d=64"}, Arrays: nil}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		source := indexDir(t, c)
		x := opened(t, source)
		dir := filepath.Join(t.TempDir(), "index")
		_, err := save(dir, FastPlaid14, x, WriteOptions{Tch: true, ChunkDocuments: x.chunks[0].documents})
		require.NoError(t, err)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			want, err := os.ReadFile(filepath.Join(source, e.Name()))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			require.Equal(t, want, got, e.Name())
		}
	})
}

// TestMergedIsByteEqual does the same for the merged files and manifests of 1.7, up to the
// padding, whose content is undefined.
func TestMergedIsByteEqual(t *testing.T) {
	for _, name := range []string{"fp17_d32_b1", "fp17_d32_b2_chunks", "fp17_d128_b2", "fp17_d24_b8"} {
		source := filepath.Join(golden.Root(t), "plaid-index", name+".index")
		x := opened(t, source)
		dir := filepath.Join(t.TempDir(), "index")
		_, err := save(dir, FastPlaid17, x, WriteOptions{Tch: true, ChunkDocuments: x.chunks[0].documents})
		require.NoError(t, err)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			want, err := os.ReadFile(filepath.Join(source, e.Name()))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			require.Len(t, got, len(want), e.Name())
			if strings.HasPrefix(e.Name(), "merged") && strings.HasSuffix(e.Name(), ".npy") {
				n := map[bool]int64{true: 8, false: int64(x.RowBytes())}[strings.Contains(e.Name(), "codes")]
				want, got = want[:192+n*x.Tokens()], got[:192+n*x.Tokens()]
			}
			require.Equal(t, want, got, e.Name())
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "index")
	for want, change := range map[string]func(m *Memory){
		"format: source: codec: 3: bits per component not 1, 2, 4 or 8":            func(m *Memory) { m.Width = 3 },
		"format: source: codec: 12: components not a positive multiple of 8":       func(m *Memory) { m.Components = 12 },
		"format: source: codec: 2 cutoffs for 2 bits, want 3: no table of buckets": func(m *Memory) { m.Table.Cutoffs = m.Table.Cutoffs[1:] },
		"format: source: document 1 from token 3 to 1: out of range":               func(m *Memory) { m.DocumentOffsets[2] = 1 },
		"format: source: 0 offsets, not from 0: out of range":                      func(m *Memory) { m.DocumentOffsets = m.DocumentOffsets[:0] },
		"format: token 2 has code 9 of 3: code out of range":                       func(m *Memory) { m.TokenCodes[2] = 9 },
		"format: 8 bytes of residuals from token 0 on, 7 in all: out of range":     func(m *Memory) { m.Residuals = m.Residuals[:7] },
		"format: source: 3 average residuals of 8 components: out of range":        func(m *Memory) { m.Average = m.Average[:3] },
		"format: source has no cutoffs, which fastplaid14 needs: unsupported":      func(m *Memory) { m.Table.Cutoffs = nil },
		"format: source: 0 values of 0 centroids of 8, 2 documents: out of range":  func(m *Memory) { m.Cells = nil },
		"format: tokens 0 to 4 of 3 codes: out of range":                           func(m *Memory) { m.TokenCodes = m.TokenCodes[:3] },
	} {
		m := sample(5, 8, 2, 3, 3, 1)
		change(m)
		_, err := save(dir, FastPlaid14, m, WriteOptions{})
		require.ErrorContains(t, err, want)
		require.NoDirExists(t, dir, want)
	}
	_, err := save(dir, WARP, sample(5, 8, 2, 3, 3), WriteOptions{})
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = save(filepath.Join(parent, "a", "b"), NextPlaid, sample(5, 8, 2, 3, 3), WriteOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = save(dir, NextPlaid, sample(5, 8, 2, 3, 3), WriteOptions{})
	require.NoError(t, err)
	before := snapshot(t, dir)
	_, err = save(dir, ColBERT, sample(6, 8, 2, 3, 3), WriteOptions{})
	require.ErrorIs(t, err, ErrExists)
	require.Equal(t, before, snapshot(t, dir))
	_, err = save(filepath.Join(parent, "chunks"), NextPlaid, sample(5, 8, 2, 3, 3), WriteOptions{ChunkDocuments: -1})
	require.ErrorIs(t, err, ErrRange)
	own := filepath.Join(parent, "own") // of package store
	require.NoError(t, os.Mkdir(own, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(own, "manifest-00000000000000000007"), nil, 0o666))
	before = snapshot(t, own)
	_, err = save(own, NextPlaid, sample(5, 8, 2, 3, 3), WriteOptions{})
	require.ErrorIs(t, err, ErrExists)
	require.Equal(t, before, snapshot(t, own))
}

// snapshot is the content of a folder.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(text)
	}
	return files
}

// TestWriteKilled stops a writer before each change of the disk, for good (a kill) or once
// (an error of the disk): there is no index then, or the whole one, and the next writer
// finds a folder it can use, without leftovers in the end.
func TestWriteKilled(t *testing.T) {
	m, other := sample(7, 8, 2, 3, 2, 0, 3), sample(8, 8, 4, 2, 1)
	clean := filepath.Join(t.TempDir(), "clean")
	_, err := save(clean, NextPlaid, other, WriteOptions{})
	require.NoError(t, err)
	for i, flavour := range writable {
		for _, once := range []bool{false, true}[:1+i%2] {
			for at, steps := 0, 1; steps > at; at++ {
				dir := filepath.Join(t.TempDir(), "index")
				steps = 0
				_, writeErr := write(dir, flavour, m, WriteOptions{ChunkDocuments: 2}, stepsUntil(at, once, &steps))
				x, err := Open(dir)
				if err == nil { // nothing was missing, or only the last sync of the folder
					requireSame(t, m, x)
					require.NoError(t, x.Close())
					continue
				}
				require.ErrorIs(t, writeErr, errCrash, "step %d", at)
				require.ErrorIs(t, err, ErrNoIndex, "step %d", at)
				_, err = save(dir, NextPlaid, other, WriteOptions{})
				require.NoError(t, err, "step %d", at)
				require.Equal(t, slices.Sorted(maps.Keys(snapshot(t, clean))), slices.Sorted(maps.Keys(snapshot(t, dir))), "step %d", at)
			}
		}
	}
}

var errCrash = errors.New("crash")

// stepsUntil fails at a step, and, unless once, at all later ones.
func stepsUntil(at int, once bool, steps *int) func(op, path string) error {
	return func(op, path string) error {
		*steps++
		if *steps-1 == at || !once && *steps > at {
			return errCrash
		}
		return nil
	}
}

func TestFlavourNames(t *testing.T) {
	for f := FastPlaid14; f <= WARP; f++ {
		got, err := ParseFlavour(f.String())
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	_, err := ParseFlavour("faiss")
	require.ErrorIs(t, err, ErrUnsupported)
	require.Equal(t, "flavour 0", Flavour(0).String())
}

func Example() {
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if _, err := Write(dir, NextPlaid, sample(1, 16, 2, 4, 3, 2), WriteOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	x, err := Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Close()
	fmt.Println(x.Flavour(), x.Documents(), "documents,", x.Tokens(), "tokens of", x.Dim(), "components,", x.Bits(), "bits")
	// Output: nextplaid 2 documents, 5 tokens of 16 components, 2 bits
}

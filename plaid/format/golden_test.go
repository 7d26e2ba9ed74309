package format

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/golden"
)

// indexDir is the folder of a golden case's index.
func indexDir(t testing.TB, c *golden.Case) string {
	return filepath.Join(golden.Root(t), c.Area, c.Name+".index")
}

// opened opens an index that is closed with the test.
func opened(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// decoded is every token's vector, normalised.
func decoded(t testing.TB, x *Index) []float32 {
	t.Helper()
	codes := make([]int32, x.Tokens())
	require.NoError(t, x.ReadCodes(codes, 0))
	rows := make([]byte, x.Tokens()*int64(x.RowBytes()))
	require.NoError(t, x.ReadResiduals(rows, 0))
	d, err := x.Decoder()
	require.NoError(t, err)
	out := make([]float32, len(codes)*x.Dim())
	for i, code := range codes {
		require.NoError(t, d.Token(out[i*x.Dim():(i+1)*x.Dim()], int64(code), rows[i*x.RowBytes():(i+1)*x.RowBytes()]))
	}
	return out
}

func TestGoldenFastPlaid(t *testing.T) {
	claim := golden.Claim{Area: "plaid-index", Op: "plaid_index", Arrays: []string{"doc_offsets", "decoded"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) { checkGolden(t, c, FastPlaid17) })
}

func TestGoldenNextPlaid(t *testing.T) {
	claim := golden.Claim{Area: "nextplaid-index", Op: "plaid_index", Arrays: []string{"doc_offsets", "decoded"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) { checkGolden(t, c, NextPlaid) })
}

func checkGolden(t *testing.T, c *golden.Case, flavour Flavour) {
	x := opened(t, indexDir(t, c))
	require.Equal(t, flavour, x.Flavour())
	require.Equal(t, c.Int(t, "d"), x.Dim())
	require.Equal(t, c.Int(t, "nbits"), x.Bits())
	require.Equal(t, c.Int(t, "K"), x.K())
	require.Equal(t, c.Int(t, "N"), x.Documents())
	require.EqualValues(t, c.Int(t, "T"), x.Tokens())
	require.Equal(t, c.Ints(t, "doc_offsets"), x.Offsets())
	require.Equal(t, c.Name == "fp17_metadata_frozen", x.Frozen())

	got := decoded(t, x)
	if c.Has("decoded") {
		// float64 by the independent decoder, rounded to float32; ours adds in float32 first.
		for i, want := range c.Floats(t, "decoded") {
			require.InDelta(t, want, got[i], 0x1p-23, "component %d", i)
		}
	}
	if flavour == FastPlaid17 {
		checkHalf(t, c, x)
	}
	lists, err := BuildLists(x)
	require.NoError(t, err)
	require.True(t, x.HasLists())
	require.Equal(t, lists.Offsets, x.ListOffsets())
	ids, err := x.ReadLists(nil, 0, x.K())
	require.NoError(t, err)
	require.Equal(t, lists.Documents, ids)
	if flavour == NextPlaid {
		checkInvNorms(t, x)
	}
}

// checkHalf compares the decoding in half with the one in float32, within what the manifest
// measured for the writer's own reconstruction.
func checkHalf(t *testing.T, c *golden.Case, x *Index) {
	var measured struct {
		Diff float64 `json:"writer_reconstruction_max_abs_diff"`
	}
	c.Decode(t, "measured", &measured)
	d, err := x.Decoder()
	require.NoError(t, err)
	codes, row := make([]int32, 1), make([]byte, x.RowBytes())
	full, half := make([]float32, x.Dim()), make([]float32, x.Dim())
	for token := range x.Tokens() {
		require.NoError(t, x.ReadCodes(codes, token))
		require.NoError(t, x.ReadResiduals(row, token))
		require.NoError(t, d.Token(full, int64(codes[0]), row))
		require.NoError(t, d.Half(half, int64(codes[0]), row))
		for i := range full {
			require.InDelta(t, full[i], half[i], max(1.5*measured.Diff, 0x1p-11), "token %d, component %d", token, i)
		}
	}
}

// checkInvNorms requires the writer's inverse norms bit for bit.
func checkInvNorms(t *testing.T, x *Index) {
	require.True(t, x.HasInvNorms())
	norms := make([]float32, x.Tokens())
	require.NoError(t, x.ReadInvNorms(norms, 0))
	d, err := x.Decoder()
	require.NoError(t, err)
	codes, row, v := make([]int32, 1), make([]byte, x.RowBytes()), make([]float32, x.Dim())
	for token := range x.Tokens() {
		require.NoError(t, x.ReadCodes(codes, token))
		require.NoError(t, x.ReadResiduals(row, token))
		want, err := d.InvNorm(v, int64(codes[0]), row)
		require.NoError(t, err)
		require.Equal(t, want, norms[token], "token %d", token)
	}
}

func TestGoldenLists(t *testing.T) {
	claim := golden.Claim{Area: "colbert-codec", Op: "build_ivf", Arrays: []string{"codes", "doc_offsets", "ivf", "ivf_lengths"}}
	golden.Run(t, claim, func(t *testing.T, c *golden.Case) {
		m := &Memory{Components: 8, Width: 1, Cells: make([]float32, 8*c.Int(t, "K")), DocumentOffsets: c.Ints(t, "doc_offsets")}
		for _, code := range c.Ints(t, "codes") {
			m.TokenCodes = append(m.TokenCodes, int32(code))
		}
		lists, err := BuildLists(m)
		require.NoError(t, err)
		for i, want := range c.Ints(t, "ivf") {
			require.EqualValues(t, want, lists.Documents[i])
		}
		for i, want := range c.Ints(t, "ivf_lengths") {
			require.Equal(t, want, lists.Offsets[i+1]-lists.Offsets[i])
		}
	})
}

package cranfield

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestCollection(t *testing.T) {
	c, err := Load()
	require.NoError(t, err)
	require.Len(t, c.Documents, 1400)
	require.Len(t, c.Queries, 225)
	require.Len(t, c.Judgements, 1837)
	codes := map[int]int{}
	sources := map[int]int{}
	for _, j := range c.Judgements {
		codes[j.Code]++
		if j.Code == -1 {
			sources[j.Query]++
		}
	}
	require.Equal(t, map[int]int{1: 128, 2: 387, 3: 734, 4: 363, -1: 225}, codes)
	require.Len(t, sources, 225, "one for each query")
	var empty []int
	repeats := 0
	for i, d := range c.Documents {
		if d.Text == "" {
			empty = append(empty, i+1)
		} else if strings.HasPrefix(d.Text, d.Title) {
			repeats++
		}
	}
	require.Equal(t, []int{471, 995}, empty)
	require.GreaterOrEqual(t, repeats, 1390)
	require.Equal(t, 4, c.Queries[2].Printed, "printed numbers have gaps")
	require.Equal(t, 365, c.Queries[224].Printed)
	require.NotContains(t, strings.Join(c.Questions(), ""), "\r")

	qrels := c.Qrels()
	require.Len(t, qrels, 225)
	n := 0
	for _, docs := range qrels {
		for _, grade := range docs {
			n += grade
		}
	}
	require.Equal(t, 1837-225, n)
	require.Equal(t, []string{"1", "1400"}, []string{c.IDs()[0], c.IDs()[1399]})
}

func TestRepeatedFieldsGoOn(t *testing.T) {
	c := &Collection{}
	require.NoError(t, c.parseDocuments([]byte(".I 1\n.T\nt\n.A\na\n.B\nb\n.W\none\n.A\nx\n.W\ntwo\n.I 2\n.W\r\nthree\r\n")))
	require.Equal(t, []Document{
		{Title: "t", Author: "a\nx", Source: "b", Text: "one\ntwo"},
		{Text: "three"},
	}, c.Documents)
}

func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]string{
		".I x\n":           `cranfield: cran.all.1400:1: record number "x"`,
		".T\n":             "cranfield: cran.all.1400:1: field .T before the first record",
		".I 1\nstray\n":    `cranfield: cran.all.1400:2: text "stray" outside a field`,
		".I 1\n.X\n":       `cranfield: cran.all.1400:2: text ".X" outside a field`,
		".I 1\n.W\n.I 3\n": "cranfield: cran.all.1400: document at position 2 has another number",
	} {
		require.EqualError(t, (&Collection{}).parseDocuments([]byte(text)), want)
	}
	for text, want := range map[string]string{
		"1 1 2\n1 2\n": "cranfield: cranqrel:2: 2 fields, want query, document and code",
		"1 a 2\n":      `cranfield: cranqrel:1: "a" is not a number`,
		"2 1 2\n":      "cranfield: cranqrel:1: query 2 of 1",
		"1 0 2\n":      "cranfield: cranqrel:1: document 0 of 1",
		"1 1 5\n":      "cranfield: cranqrel:1: code 5, want 1 to 4 or -1",
	} {
		c := &Collection{Documents: make([]Document, 1), Queries: make([]Query, 1)}
		err := c.parseJudgements([]byte(text))
		require.EqualError(t, err, want)
		var se *SyntaxError
		require.ErrorAs(t, err, &se)
	}
}

// damaged is the embedded data with one file changed; nil removes it.
func damaged(t *testing.T, name string, change func([]byte) []byte) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, s := range Sources {
		packed, err := fs.ReadFile(embedded, "data/"+s.Name+".gz")
		require.NoError(t, err)
		if s.Name == name {
			if packed = change(slices.Clone(packed)); packed == nil {
				continue
			}
		}
		files["data/"+s.Name+".gz"] = &fstest.MapFile{Data: packed}
	}
	return files
}

func TestDamagedDataIsATypedError(t *testing.T) {
	repack := func(t *testing.T, change func([]byte) []byte) func([]byte) []byte {
		return func(packed []byte) []byte {
			raw, err := unpack(packed)
			require.NoError(t, err)
			packed, err = Pack(change(raw))
			require.NoError(t, err)
			return packed
		}
	}
	for _, s := range Sources {
		for what, c := range map[string]struct {
			change func([]byte) []byte
			is     error
			text   string
		}{
			"truncated":    {func(b []byte) []byte { return b[:len(b)/2] }, ErrCorrupt, "unexpected EOF"},
			"empty":        {func(b []byte) []byte { return []byte{} }, ErrCorrupt, "EOF"},
			"bit flipped":  {func(b []byte) []byte { b[len(b)/2] ^= 4; return b }, ErrCorrupt, ""},
			"other bytes":  {repack(t, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), ErrCorrupt, "want " + s.SHA256},
			"not embedded": {func([]byte) []byte { return nil }, fs.ErrNotExist, "not in the binary"},
		} {
			files := damaged(t, s.Name, c.change)
			_, err := loadFrom(files)
			if err == nil {
				_, err = encoderFrom(files)
			}
			var de *DataError
			require.ErrorAs(t, err, &de, "%s %s", s.Name, what)
			require.Equal(t, s.Name, de.File)
			require.True(t, errors.Is(err, c.is), "%s %s: %v", s.Name, what, err)
			require.ErrorContains(t, err, "cranfield: embedded "+s.Name+": ")
			require.ErrorContains(t, err, c.text)
		}
	}
	err := Verify("other", nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestPackIsReproducible(t *testing.T) {
	raw := []byte(strings.Repeat("heat transfer ", 1000))
	a, err := Pack(raw)
	require.NoError(t, err)
	b, err := Pack(raw)
	require.NoError(t, err)
	require.Equal(t, a, b)
	back, err := unpack(a)
	require.NoError(t, err)
	require.Equal(t, raw, back)
	require.Zero(t, a[3], "no name in the header")
	require.Equal(t, []byte{0, 0, 0, 0}, a[4:8], "no time in the header")
}

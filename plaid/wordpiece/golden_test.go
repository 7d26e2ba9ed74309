package wordpiece_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/plaid/wordpiece"
)

func vocabulary(t testing.TB) *wordpiece.Vocabulary {
	t.Helper()
	e, err := cranfield.LoadEncoder()
	require.NoError(t, err)
	return e.Tokenizer().Vocabulary()
}

func TestGoldenStrings(t *testing.T) {
	var file struct {
		Count   int `json:"count"`
		Strings []struct {
			Name    string   `json:"name"`
			Text    string   `json:"text"`
			IDs     []int32  `json:"ids"`
			Special *[]int32 `json:"ids_special_tokens_recognised"`
		} `json:"strings"`
	}
	require.NoError(t, json.Unmarshal(golden.File(t, "tokenizer", "strings.json"), &file))
	require.Len(t, file.Strings, file.Count)
	v := vocabulary(t)
	data, special := wordpiece.New(v, wordpiece.Options{}), wordpiece.New(v, wordpiece.Options{Special: true})
	for _, s := range file.Strings {
		require.Equal(t, s.IDs, data.Encode([]int32{}, s.Text), s.Name)
		want := s.IDs
		if s.Special != nil {
			want = *s.Special
		}
		require.Equal(t, want, special.Encode([]int32{}, s.Text), s.Name)
	}
}

// TestGoldenCodePoints compares what the tokenizer does with every Unicode scalar
// value: between two letters it vanishes, separates, stands alone or joins.
func TestGoldenCodePoints(t *testing.T) {
	var lists map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(golden.File(t, "tokenizer", "codepoints.json"), &lists))
	class := make([]string, utf8.MaxRune+1)
	for _, name := range []string{"drop", "space", "isolate", "strip_mark", "punctuation"} {
		var ranges [][2]rune
		require.NoError(t, json.Unmarshal(lists[name], &ranges), name)
		for _, r := range ranges {
			for c := r[0]; c <= r[1]; c++ {
				require.Empty(t, class[c], "%U is in two lists", c)
				class[c] = name
			}
		}
	}
	v, err := wordpiece.NewVocabulary([]string{"[UNK]", "a", "##a"})
	require.NoError(t, err)
	tok := wordpiece.New(v, wordpiece.Options{})
	want := map[string][]int32{
		"drop": {1, 2}, "strip_mark": {1, 2}, "space": {1, 1},
		"isolate": {1, 0, 1}, "punctuation": {1, 0, 1}, "": {0},
	}
	ids, apart := make([]int32, 0, 8), make([]int32, 0, 8)
	for c := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(c) || c == 'a' || c == 'A' {
			continue
		}
		expected := want[class[c]]
		ids = tok.Encode(ids[:0], "a"+string(c)+"a")
		// The list has the class of the code point itself. The reference cuts words
		// after it has decomposed: ≠ is then = and a mark.
		if nfd := norm.NFD.String(string(c)); class[c] == "" && nfd != string(c) {
			apart = tok.Encode(apart[:0], "a"+nfd+"a")
			expected = apart
		}
		if !slices.Equal(ids, expected) {
			t.Fatalf("%U (%q): ids %v, want %v", c, class[c], ids, expected)
		}
	}
}

func TestGoldenCollections(t *testing.T) {
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(golden.File(t, "tokenizer", "collections.json"), &file))
	c, err := cranfield.Load()
	require.NoError(t, err)
	tok := wordpiece.New(vocabulary(t), wordpiece.Options{})
	for name, texts := range map[string][]string{
		"cranfield documents, field .W": c.Texts(),
		"cranfield queries":             c.Questions(),
	} {
		var want struct {
			Texts, IDs int
			SHA256     string
		}
		require.NoError(t, json.Unmarshal(file[name], &want), name)
		require.Len(t, texts, want.Texts)
		hash, n := sha256.New(), 0
		var ids []int32
		for _, text := range texts {
			ids = tok.Encode(ids[:0], text)
			n += len(ids)
			b := make([]byte, 0, 4*len(ids)+4)
			for _, id := range ids {
				b = binary.LittleEndian.AppendUint32(b, uint32(id))
			}
			hash.Write(append(b, 0xff, 0xff, 0xff, 0xff))
		}
		require.Equal(t, want.IDs, n, name)
		require.Equal(t, want.SHA256, hex.EncodeToString(hash.Sum(nil)), name)
	}
}

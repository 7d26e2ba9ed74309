package wordpiece_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/cranfield"
	"github.com/likbench/likbench/plaid/wordpiece"
)

func ExampleTokenizer_Encode() {
	v, err := wordpiece.NewVocabulary([]string{"[UNK]", "late", "inter", "##action", "!"})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := wordpiece.New(v, wordpiece.Options{})
	fmt.Println(t.Encode(nil, "Late interaction, láte!"))
	// Output: [1 2 3 0 1 4]
}

func TestRules(t *testing.T) {
	tok := wordpiece.New(vocabulary(t), wordpiece.Options{})
	hundred := append([]int32{22038}, slices.Repeat([]int32{20348}, 49)...)
	for text, want := range map[string][]int32{
		"unaffable":                    {14477, 20961, 3468},
		"東京 is Tokyo":                  {1879, 1755, 2003, 5522},
		"\t\u00a0hello\u200bworld ":    {7592, 11108},
		strings.Repeat("x", 100):       hundred,
		strings.Repeat("x", 101):       {100},
		strings.Repeat("x", 100) + "!": append(slices.Clone(hundred), 999),
		strings.Repeat("é", 101):       {100},
		"😀 ok":                         {100, 7929},
		"e\u0301":                      {1041},
		"İstanbul":                     {9960},
		"Straße":                       {2358, 27807},
		"ﬁne":                          {1984, 2638},
		"１２３":                          {100},
		"co\u00adoperate":              {17654},
		"A\u2028B":                     {1037, 1038},
		"[MASK] test":                  {1031, 7308, 1033, 3231},
		"":                             nil,
		"\u0301":                       nil,
		"!?":                           {999, 1029},
		"a\xffb":                       tok.Encode(nil, "ab"),
		"\xed\xa0\x80ok":               {7929}, // a surrogate is no character
		"x≠y":                          tok.Encode(nil, "x=y"),
		"x\u1fefy":                     tok.Encode(nil, "x`y"),
		"한국어":                          tok.Encode(nil, "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"),
	} {
		require.Equal(t, want, tok.Encode(nil, text), "%q", text)
	}
	require.Equal(t, []int32{7, 999}, tok.Encode([]int32{7}, "!"), "appends")
}

func TestSpecial(t *testing.T) {
	tok := wordpiece.New(vocabulary(t), wordpiece.Options{Special: true})
	require.Equal(t, []int32{103, 3231}, tok.Encode(nil, "[MASK] test"))
	require.Equal(t, []int32{1037, 102, 1038}, tok.Encode(nil, "a[SEP]b"))
	require.Equal(t, []int32{1031, 7308}, tok.Encode(nil, "[MASK"))
	require.Equal(t, []int32{1031, 7308, 1033}, tok.Encode(nil, "[mask]"))
}

func TestCased(t *testing.T) {
	v, err := wordpiece.NewVocabulary([]string{"[UNK]", "É", "e", "##É", "a", "##\u0301"})
	require.NoError(t, err)
	tok := wordpiece.New(v, wordpiece.Options{Cased: true})
	require.Equal(t, []int32{1, 2, 0, 4, 5}, tok.Encode(nil, "É e E a\u0301"))
	require.Equal(t, []int32{1, 3}, tok.Encode(nil, "ÉÉ"))
}

// TestCanonicalOrder writes the same marks in both orders. They are later than
// Unicode 8, so they are not removed as accents, and keep their order to be right.
func TestCanonicalOrder(t *testing.T) {
	const below, above = "\u1dfa", "\U0001e2ec" // combining classes 218 and 230, both kept
	v, err := wordpiece.NewVocabulary([]string{"[UNK]", "a" + below + above, "b"})
	require.NoError(t, err)
	tok := wordpiece.New(v, wordpiece.Options{})
	require.Equal(t, []int32{1}, tok.Encode(nil, "a"+below+above))
	require.Equal(t, []int32{1}, tok.Encode(nil, "a"+above+below))
	require.Equal(t, []int32{1}, tok.Encode(nil, "a"+above+"\u0301"+below), "a removed mark in between")
	require.Equal(t, []int32{0}, tok.Encode(nil, "a"+above+"\u0941"+below), "a removed starter in between")
}

func TestVocabulariesThatBite(t *testing.T) {
	pieces := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "\u2028", "\u0085", "", "b", "##c"}
	text := strings.Join(pieces, "\n")
	check := func(name, text string) {
		v, err := wordpiece.ReadVocabulary(strings.NewReader(text))
		require.NoError(t, err, name)
		tok := wordpiece.New(v, wordpiece.Options{})
		require.Equal(t, []int32{9}, tok.Encode(nil, "b"), name)
		require.Equal(t, []int32{9, 10}, tok.Encode(nil, "bc"), name)
		require.Equal(t, []int32{5}, tok.Encode(nil, "a"), name)
		require.Equal(t, []int32{1}, tok.Encode(nil, "c"), name)
		for i, piece := range pieces {
			id, ok := v.Lookup(piece)
			require.True(t, ok, name)
			require.EqualValues(t, i, id, name)
			got, ok := v.Piece(int32(i))
			require.True(t, ok, name)
			require.Equal(t, piece, got, name)
		}
	}
	check("as written", text+"\n")
	check("no final newline", text)
	check("two final newlines", text+"\n\n")
	check("CR LF", strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
	check("CR LF, no final one", strings.ReplaceAll(text, "\n", "\r\n"))
	check("byte order mark", "\ufeff"+text+"\n")

	v, err := wordpiece.ReadVocabulary(strings.NewReader("a"))
	require.NoError(t, err)
	require.Equal(t, 1, v.Len())
	require.Equal(t, []int32{0, 0}, wordpiece.New(v, wordpiece.Options{}).Encode(nil, "a b a"))
	_, ok := v.Piece(1)
	require.False(t, ok)
	_, ok = v.Piece(-1)
	require.False(t, ok)
	_, ok = v.Lookup("")
	require.False(t, ok)

	v, err = wordpiece.NewVocabulary([]string{"[UNK]", "a", "##", "#"})
	require.NoError(t, err)
	tok := wordpiece.New(v, wordpiece.Options{})
	require.Equal(t, []int32{1, 0, 3, 3}, tok.Encode(nil, "a ab ##"), "an empty continuation matches nothing")
}

func TestVocabularyErrors(t *testing.T) {
	for _, c := range []struct {
		text, want string
		is         error
	}{
		{"", "wordpiece: vocabulary: no pieces", wordpiece.ErrNoPieces},
		{"\ufeff", "wordpiece: vocabulary: no pieces", wordpiece.ErrNoPieces},
		{"x\na\nb\na\n", `wordpiece: vocabulary: line 4: duplicate piece "a", first in line 2`, wordpiece.ErrDuplicate},
		{"a\na\x00b\n", `wordpiece: vocabulary: line 2: piece contains a NUL byte: "a\x00b"`, wordpiece.ErrNUL},
		{"a\n\xff\n", `wordpiece: vocabulary: line 2: piece is not valid UTF-8: "\xff"`, wordpiece.ErrUTF8},
		{"a\nb\r\nc\n", `wordpiece: vocabulary: line 2: carriage return in some lines only: "b\r"`, wordpiece.ErrCarriageReturn},
	} {
		_, err := wordpiece.ReadVocabulary(strings.NewReader(c.text))
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, c.is)
		var ve *wordpiece.VocabularyError
		require.ErrorAs(t, err, &ve)
	}
	_, err := wordpiece.NewVocabulary(nil)
	require.ErrorIs(t, err, wordpiece.ErrNoPieces)
	_, err = wordpiece.ReadVocabulary(failing{})
	require.EqualError(t, err, "wordpiece: vocabulary: disk on fire")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("disk on fire") }

func TestConcurrentEncode(t *testing.T) {
	c, err := cranfield.Load()
	require.NoError(t, err)
	tok := wordpiece.New(vocabulary(t), wordpiece.Options{})
	texts := c.Questions()
	want := make([][]int32, len(texts))
	for i, text := range texts {
		want[i] = tok.Encode(nil, text)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			var ids []int32
			for i, text := range texts {
				if ids = tok.Encode(ids[:0], text); !slices.Equal(ids, want[i]) {
					t.Errorf("query %d: %v, want %v", i+1, ids, want[i])
				}
			}
		})
	}
	group.Wait()
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	tok := wordpiece.New(vocabulary(t), wordpiece.Options{})
	ids := make([]int32, 0, 256)
	text := "Unaffable résumé 東京 한국어 \u1e69\u0323, " + strings.Repeat("é", 200)
	require.Zero(t, testing.AllocsPerRun(100, func() { ids = tok.Encode(ids[:0], text) }))
}

func FuzzEncode(f *testing.F) {
	tok := wordpiece.New(vocabulary(f), wordpiece.Options{})
	n := int32(tok.Vocabulary().Len())
	for _, text := range []string{"unaffable", "a\x00\xff", "[MASK]", "\u0344\u1fef≠한", strings.Repeat("\u0301x", 120)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids := tok.Encode(nil, text)
		for _, id := range ids {
			if id < 0 || id >= n {
				t.Fatalf("id %d of %d", id, n)
			}
		}
		if again := tok.Encode(nil, strings.ToLower(text)); isASCII(text) && !slices.Equal(ids, again) {
			t.Fatalf("ids %v, of the lower-cased text %v", ids, again)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

func FuzzReadVocabulary(f *testing.F) {
	f.Add("[UNK]\na\n##b\n", "abab a")
	f.Add("##\n#\n\n\r\n", "##")
	f.Fuzz(func(t *testing.T, pieces, text string) {
		v, err := wordpiece.ReadVocabulary(strings.NewReader(pieces))
		if err != nil {
			return
		}
		for i := range v.Len() {
			piece, _ := v.Piece(int32(i))
			id, ok := v.Lookup(piece)
			if !ok || id != int32(i) && piece != "" {
				t.Fatalf("piece %d %q: found %d, %t", i, piece, id, ok)
			}
		}
		wordpiece.New(v, wordpiece.Options{}).Encode(nil, text)
	})
}

func BenchmarkEncode(b *testing.B) {
	c, err := cranfield.Load()
	require.NoError(b, err)
	tok := wordpiece.New(vocabulary(b), wordpiece.Options{})
	var bytes int64
	for _, text := range c.Texts() {
		bytes += int64(len(text))
	}
	ids := make([]int32, 0, 4096)
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		for i := range c.Documents {
			ids = tok.Encode(ids[:0], c.Documents[i].Text)
		}
	}
}

// TestLookup compares the vocabulary with a map: all pieces, their proper prefixes,
// each with a byte more, and random strings.
func TestLookup(t *testing.T) {
	v := vocabulary(t)
	want := map[string]int32{}
	for i := range v.Len() {
		piece, _ := v.Piece(int32(i))
		want[piece] = int32(i)
	}
	check := func(key string) {
		id, ok := v.Lookup(key)
		if w, has := want[key]; ok != has || ok && id != w {
			t.Fatalf("lookup %q: %d %t, want %d %t", key, id, ok, w, has)
		}
	}
	const alphabet = "##abcdefghijklmnopqrstuvwxyz\x00\xc3\xa9"
	random := rand.New(rand.NewPCG(1, 2))
	for piece := range want {
		for i := range piece {
			check(piece[:i])
		}
		check(piece)
		check(piece + string(byte(random.IntN(256))))
		check(piece + "\x00")
	}
	for range 200_000 {
		key := make([]byte, random.IntN(6))
		for i := range key {
			key[i] = alphabet[random.IntN(len(alphabet))]
		}
		check(string(key))
	}
}

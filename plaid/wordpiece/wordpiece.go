// Package wordpiece turns text into the ids of BERT's WordPiece vocabularies, as
// the fast reference tokenizer does (transformers' BertTokenizerFast): the same ids
// for every text, without [CLS], [SEP] or padding.
//
// A [Vocabulary] is a list of pieces, a piece's id its position. A [Tokenizer] cuts
// text into words (at blanks, around punctuation and CJK ideographs), lower-cases
// them and removes accents, and cuts each word into the longest pieces of the
// vocabulary from the left; pieces that continue a word carry the prefix "##". A
// word that cannot be cut wholly, or has more than 100 runes, becomes [UNK].
//
// What is punctuation, a blank, an accent or nothing at all is frozen in the
// reference at Unicode 8 with some departures; the tables here are generated from
// its behaviour on every code point, because Go's own tables give other answers.
package wordpiece

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxWordRunes is the longest word, in runes after normalisation, that is cut into
// pieces; longer ones are unknown.
const MaxWordRunes = 100

// Options choose among the reference's modes. The zero value is BERT uncased with
// text as data.
type Options struct {
	// Cased keeps case and accents, for cased vocabularies.
	Cased bool
	// Special recognises [UNK], [CLS], [SEP], [PAD] and [MASK] in the text as the
	// pieces of that name. By default text is data, and they are cut like any other.
	Special bool
}

// Tokenizer encodes text. It is safe for concurrent use and never changes.
type Tokenizer struct {
	vocabulary *Vocabulary
	options    Options
	unknown    int32 // −1 if the vocabulary has no [UNK]
	special    []special
}

type special struct {
	text string
	id   int32
}

// New returns a tokenizer over v.
func New(v *Vocabulary, o Options) *Tokenizer {
	t := &Tokenizer{vocabulary: v, options: o, unknown: -1}
	if id, ok := v.Lookup("[UNK]"); ok {
		t.unknown = id
	}
	if o.Special {
		for _, text := range []string{"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"} {
			if id, ok := v.Lookup(text); ok {
				t.special = append(t.special, special{text, id})
			}
		}
	}
	return t
}

// Vocabulary returns the vocabulary t was made with.
func (t *Tokenizer) Vocabulary() *Vocabulary { return t.vocabulary }

// Encode appends the ids of text to dst and returns it. It allocates nothing but
// what dst lacks. Invalid UTF-8 is dropped. A vocabulary without [UNK] leaves words
// it does not know out.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 {
	e := encoding{t: t, ids: dst}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c == '[' {
				if s := t.specialAt(text[i:]); s != nil {
					e.end()
					e.ids = append(e.ids, s.id)
					i += len(s.text)
					continue
				}
			}
			e.ascii(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		e.rune(r)
		i += size
	}
	e.end()
	return e.ids
}

func (t *Tokenizer) specialAt(text string) *special {
	for i := range t.special {
		if s := &t.special[i]; len(text) >= len(s.text) && text[:len(s.text)] == s.text {
			return s
		}
	}
	return nil
}

// encoding is the state of one call of Encode: the ids so far and the word that is
// being read, already normalised.
type encoding struct {
	t     *Tokenizer
	ids   []int32
	word  [MaxWordRunes * utf8.UTFMax]byte
	n     int // bytes in word
	runes int // runes of the word; beyond MaxWordRunes they are counted, not kept
	run   int // where in word the run of marks begins that canonical order may permute
}

// ascii takes an ASCII byte of the text, of which none decomposes.
func (e *encoding) ascii(c byte) {
	switch asciiClass[c] {
	case drop:
	case space:
		e.end()
	case punctuation:
		e.end()
		e.append(rune(c))
		e.end()
	default:
		if 'A' <= c && c <= 'Z' && !e.t.options.Cased {
			c += 'a' - 'A'
		}
		e.runes++
		if e.runes <= MaxWordRunes {
			e.word[e.n] = c
			e.n++
			e.run = e.n
		}
	}
}

// rune takes any other rune of the text.
func (e *encoding) rune(r rune) {
	class := classOf(r)
	switch class {
	case drop: // U+FFFD too, and so invalid UTF-8
		return
	case space:
		e.end()
		return
	case isolate:
		e.end()
	}
	if e.t.options.Cased {
		e.emit(r, class)
	} else {
		e.decompose(r)
	}
	if class == isolate {
		e.end()
	}
}

// decompose emits the canonical decomposition of r, lower-cased, without accents.
// Classes are those of the parts: the Greek question mark is a semicolon.
func (e *encoding) decompose(r rune) {
	const (
		hangul, jamoL, jamoV, jamoT = 0xAC00, 0x1100, 0x1161, 0x11A7
		nL, nV, nT                  = 19, 21, 28
	)
	if s := r - hangul; 0 <= s && s < nL*nV*nT {
		e.emit(jamoL+s/(nV*nT), keep)
		e.emit(jamoV+s%(nV*nT)/nT, keep)
		if s%nT != 0 {
			e.emit(jamoT+s%nT, keep)
		}
		return
	}
	var text [utf8.UTFMax]byte
	parts := norm.NFD.Properties(text[:utf8.EncodeRune(text[:], r)]).Decomposition()
	if parts == nil {
		e.part(r)
		return
	}
	for len(parts) > 0 {
		p, size := utf8.DecodeRune(parts)
		parts = parts[size:]
		e.part(p)
	}
}

// part takes one rune that does not decompose further.
func (e *encoding) part(r rune) {
	class := classOf(r)
	if class == stripMark {
		if combiningClass(r) == 0 {
			e.run = e.n // a starter bars reordering even though it goes
		}
		return
	}
	e.emit(unicode.ToLower(r), class)
}

// emit appends a normalised rune to the word, or makes it a word of its own.
func (e *encoding) emit(r rune, class class) {
	if class == punctuation {
		e.end()
		e.append(r)
		e.end()
		return
	}
	e.append(r)
}

// append adds a rune to the word in canonical order: behind it only marks of the
// same run with a higher combining class.
func (e *encoding) append(r rune) {
	e.runes++
	if e.runes > MaxWordRunes {
		return
	}
	ccc := uint8(0)
	if r >= firstCombining && !e.t.options.Cased {
		ccc = combiningClass(r)
	}
	at := e.n
	if ccc != 0 {
		for at > e.run {
			before, size := utf8.DecodeLastRune(e.word[:at])
			if combiningClass(before) <= ccc {
				break
			}
			at -= size
		}
	}
	size := utf8.RuneLen(r)
	copy(e.word[at+size:], e.word[at:e.n])
	utf8.EncodeRune(e.word[at:], r)
	e.n += size
	if ccc == 0 {
		e.run = e.n
	}
}

// firstCombining is the lowest code point with a non-zero combining class.
const firstCombining = 0x300

func combiningClass(r rune) uint8 {
	var text [utf8.UTFMax]byte
	return norm.NFD.Properties(text[:utf8.EncodeRune(text[:], r)]).CCC()
}

// end cuts the word into pieces and begins the next.
func (e *encoding) end() {
	if e.runes == 0 {
		e.run = 0
		return
	}
	first := len(e.ids)
	known := e.runes <= MaxWordRunes
	trie := &e.t.vocabulary.trie
	node := root
	for at := 0; known && at < e.n; node = trie.continuation {
		n, id, ok := trie.longestPrefix(node, e.word[at:e.n])
		if !ok {
			known = false
			break
		}
		e.ids = append(e.ids, id)
		at += n
	}
	if !known {
		e.ids = e.ids[:first]
		if e.t.unknown >= 0 {
			e.ids = append(e.ids, e.t.unknown)
		}
	}
	e.n, e.runes, e.run = 0, 0, 0
}

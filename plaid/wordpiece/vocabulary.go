package wordpiece

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Vocabulary maps pieces to ids and back. It is safe for concurrent use.
type Vocabulary struct {
	pieces []string
	empty  int32 // id of the first empty piece, −1 if there is none
	trie   trie
}

// What can be wrong with a vocabulary; a [VocabularyError] wraps them.
var (
	ErrNoPieces       = errors.New("no pieces")
	ErrDuplicate      = errors.New("duplicate piece")
	ErrNUL            = errors.New("piece contains a NUL byte")
	ErrUTF8           = errors.New("piece is not valid UTF-8")
	ErrCarriageReturn = errors.New("carriage return in some lines only")
)

// VocabularyError says which piece of a vocabulary is refused, and why.
type VocabularyError struct {
	Line  int    // counted from 1; a piece's id is Line−1
	First int    // the earlier line with the same piece, for ErrDuplicate
	Piece string // as found
	Err   error
}

func (e *VocabularyError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("wordpiece: vocabulary: %v", e.Err)
	case e.First != 0:
		return fmt.Sprintf("wordpiece: vocabulary: line %d: %v %q, first in line %d", e.Line, e.Err, e.Piece, e.First)
	}
	return fmt.Sprintf("wordpiece: vocabulary: line %d: %v: %q", e.Line, e.Err, e.Piece)
}

func (e *VocabularyError) Unwrap() error { return e.Err }

// ReadVocabulary reads a vocabulary with one piece a line, as in vocab.txt files.
//
// Lines end with LF and nothing else, since pieces such as U+2028 exist; the last
// may lack it. An empty line is an empty piece, which keeps its id and matches
// nothing, so there may be several. A byte order mark at the start is skipped. If
// all lines end with CR LF, CR belongs to the line end; if only some do, that is
// ErrCarriageReturn. No blank is trimmed.
func ReadVocabulary(r io.Reader) (*Vocabulary, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("wordpiece: vocabulary: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(text) == 0 {
		return nil, &VocabularyError{Err: ErrNoPieces}
	}
	lines := strings.Split(string(text), "\n")
	terminated := lines[:len(lines)-1]
	if lines[len(terminated)] == "" {
		lines = terminated
	}
	returns := 0
	for _, line := range terminated {
		if strings.HasSuffix(line, "\r") {
			returns++
		}
	}
	if returns > 0 && returns == len(terminated) {
		for i, line := range terminated {
			terminated[i] = line[:len(line)-1]
		}
	}
	for i, line := range lines {
		if strings.Contains(line, "\r") {
			return nil, &VocabularyError{Line: i + 1, Piece: line, Err: ErrCarriageReturn}
		}
	}
	return NewVocabulary(lines)
}

// NewVocabulary makes a vocabulary of pieces, whose ids are their indices. It
// copies the slice.
func NewVocabulary(pieces []string) (*Vocabulary, error) {
	if len(pieces) == 0 {
		return nil, &VocabularyError{Err: ErrNoPieces}
	}
	if len(pieces) > math.MaxInt32 {
		return nil, fmt.Errorf("wordpiece: vocabulary: %d pieces, at most %d", len(pieces), math.MaxInt32)
	}
	v := &Vocabulary{pieces: append([]string(nil), pieces...), empty: -1, trie: newTrie()}
	first := make(map[string]int, len(pieces))
	for i, piece := range v.pieces {
		line := i + 1
		if piece == "" {
			if v.empty < 0 {
				v.empty = int32(i)
			}
			continue
		}
		switch earlier := first[piece]; {
		case earlier != 0:
			return nil, &VocabularyError{Line: line, First: earlier, Piece: piece, Err: ErrDuplicate}
		case strings.IndexByte(piece, 0) >= 0:
			return nil, &VocabularyError{Line: line, Piece: piece, Err: ErrNUL}
		case !utf8.ValidString(piece):
			return nil, &VocabularyError{Line: line, Piece: piece, Err: ErrUTF8}
		}
		first[piece] = line
		if err := v.trie.insert(piece, int32(i)); err != nil {
			return nil, &VocabularyError{Line: line, Piece: piece, Err: err}
		}
	}
	v.trie.freeze()
	return v, nil
}

// Len is the number of pieces; ids are below it.
func (v *Vocabulary) Len() int { return len(v.pieces) }

// Piece returns the piece of an id, and whether there is one.
func (v *Vocabulary) Piece(id int32) (string, bool) {
	if id < 0 || int(id) >= len(v.pieces) {
		return "", false
	}
	return v.pieces[id], true
}

// Lookup returns the id of a piece, and whether the vocabulary has it. The empty
// piece has the id of the first empty line.
func (v *Vocabulary) Lookup(piece string) (int32, bool) {
	if piece == "" {
		return max(v.empty, 0), v.empty >= 0
	}
	return v.trie.lookup(piece)
}

package cranfield

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"sync"

	"github.com/likbench/likbench/internal/npy"
	"github.com/likbench/likbench/plaid/wordpiece"
)

// Dim is the number of components of a token vector.
const Dim = 64

// Encoder is a token-embedding model without a network: one vector and one weight
// for each piece of the BERT-uncased vocabulary. It is derived from
// sentence-transformers/all-MiniLM-L6-v2. It is safe for concurrent use.
//
// Pieces of weight 0 are dropped on both sides: [PAD], [UNK] and other specials,
// and pieces of ASCII punctuation alone.
type Encoder struct {
	tokenizer *wordpiece.Tokenizer
	table     []int8    // vocabulary × Dim
	scale     []float64 // 1/norm of each row of the table
	weight    []float32 // of each piece
}

// LoadEncoder returns the embedded encoder, verified and built once.
func LoadEncoder() (*Encoder, error) { return loadEncoder() }

var loadEncoder = sync.OnceValues(func() (*Encoder, error) { return encoderFrom(embedded) })

func encoderFrom(files fs.FS) (*Encoder, error) {
	text, err := read(files, vocabularyFile)
	if err != nil {
		return nil, err
	}
	vocabulary, err := wordpiece.ReadVocabulary(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("cranfield: %s: %w", vocabularyFile, err)
	}
	n := vocabulary.Len()
	table, err := readArray(files, tableFile, "i1", n, Dim)
	if err != nil {
		return nil, err
	}
	weights, err := readArray(files, weightsFile, "f4", n)
	if err != nil {
		return nil, err
	}
	e := &Encoder{
		tokenizer: wordpiece.New(vocabulary, wordpiece.Options{}),
		table:     make([]int8, n*Dim), scale: make([]float64, n), weight: make([]float32, n),
	}
	for i, b := range table.Data {
		e.table[i] = int8(b)
	}
	for i, w := range weights.Float64s() {
		e.weight[i] = float32(w)
	}
	for i := range e.scale {
		sum := 0
		for _, v := range e.row(int32(i)) {
			sum += int(v) * int(v)
		}
		if sum == 0 {
			return nil, fmt.Errorf("cranfield: %s: row %d is zero", tableFile, i)
		}
		e.scale[i] = 1 / math.Sqrt(float64(sum))
	}
	return e, nil
}

func readArray(files fs.FS, name, dtype string, shape ...int) (*npy.Array, error) {
	raw, err := read(files, name)
	if err != nil {
		return nil, err
	}
	a, err := npy.Read(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("cranfield: %s: %w", name, err)
	}
	if a.DType != dtype || fmt.Sprint(a.Shape) != fmt.Sprint(shape) {
		return nil, fmt.Errorf("cranfield: %s: %s of shape %v, want %s of %v", name, a.DType, a.Shape, dtype, shape)
	}
	return a, nil
}

// Tokenizer returns the tokenizer of the encoder's vocabulary.
func (e *Encoder) Tokenizer() *wordpiece.Tokenizer { return e.tokenizer }

func (e *Encoder) row(id int32) []int8 { return e.table[int(id)*Dim : (int(id)+1)*Dim] }

// Pieces appends the kept pieces of text to dst, in order and with repeats.
func (e *Encoder) Pieces(dst []int32, text string) []int32 {
	first := len(dst)
	dst = e.tokenizer.Encode(dst, text)
	kept := dst[:first]
	for _, id := range dst[first:] {
		if e.weight[id] != 0 {
			kept = append(kept, id)
		}
	}
	return kept
}

// appendRow appends the unit vector of a piece times factor, rounded once.
func (e *Encoder) appendRow(dst []float32, id int32, factor float64) []float32 {
	factor *= e.scale[id]
	for _, v := range e.row(id) {
		dst = append(dst, float32(factor*float64(v)))
	}
	return dst
}

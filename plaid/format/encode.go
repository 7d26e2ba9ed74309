package format

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// blocks calls do for the blocks of n tokens.
func blocks(n int64, do func(from, n int64) error) error {
	for from := int64(0); from < n; from += codeBlock {
		if err := do(from, min(codeBlock, n-from)); err != nil {
			return err
		}
	}
	return nil
}

// inPieces encodes values through a buffer of bounded size.
func inPieces[T any](values []T, width int, encode func(dst []byte, part []T), b *bufio.Writer) error {
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	for len(values) > 0 {
		n := min(len(values), pieceBytes/width)
		encode(buf[:n*width], values[:n])
		if _, err := b.Write(buf[:n*width]); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// writeInts writes integers of 4 or 8 bytes, little-endian.
func writeInts[T int32 | int64](b *bufio.Writer, values []T, width int) error {
	return inPieces(values, width, func(dst []byte, part []T) {
		for i, v := range part {
			if width == 8 {
				binary.LittleEndian.PutUint64(dst[8*i:], uint64(int64(v)))
			} else {
				binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
			}
		}
	}, b)
}

func zeros(b *bufio.Writer, n int64) error {
	for range n {
		if err := b.WriteByte(0); err != nil {
			return err
		}
	}
	return nil
}

// decimal is a float64 that is spelled with a point, as Python and Rust do.
type decimal float64

func (d decimal) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(d), 'g', -1, 64)
	if f := math.Abs(float64(d)); f != 0 && (f < 1e-5 || f >= 1e16) {
		return []byte(text), nil
	}
	text = strconv.FormatFloat(float64(d), 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return []byte(text), nil
}

// pretty is JSON with an indent of two; the values written here always encode.
func pretty(v any) []byte {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("format: " + err.Error())
	}
	return text
}

func (w *writer) averageLength() decimal {
	return decimal(float64(w.tokens) / float64(max(w.documents, 1)))
}

// metadata is metadata.json with the keys of the layout, in its order. num_partitions
// is K: an estimate, as fast-plaid writes, makes its next update lose tokens.
func (w *writer) metadata() []byte {
	type common struct {
		AvgDoclen     decimal `json:"avg_doclen"`
		CompressOnly  bool    `json:"compress_only"`
		Nbits         int     `json:"nbits"`
		NumChunks     int     `json:"num_chunks"`
		NumDocuments  int     `json:"num_documents"`
		NumEmbeddings int64   `json:"num_embeddings"`
		NumPartitions int     `json:"num_partitions"`
	}
	s := w.source
	c := common{w.averageLength(), false, s.Bits(), len(w.chunks), w.documents, w.tokens, s.K()}
	switch w.flavour {
	case FastPlaid17:
		return pretty(struct {
			common
			Frozen  bool `json:"frozen"`
			Mutable bool `json:"mutable"`
		}{c, true, true})
	case ColBERT:
		return pretty(struct {
			Config     colBERTConfig `json:"config"`
			Chunks     int           `json:"num_chunks"`
			Partitions int           `json:"num_partitions"`
			Embeddings int64         `json:"num_embeddings"`
			Average    decimal       `json:"avg_doclen"`
			Threshold  decimal       `json:"cluster_threshold,omitempty"`
		}{w.config(), len(w.chunks), s.K(), w.tokens, c.AvgDoclen, w.threshold()})
	case NextPlaid:
		return pretty(struct {
			NumChunks     int     `json:"num_chunks"`
			Nbits         int     `json:"nbits"`
			NumPartitions int     `json:"num_partitions"`
			NumEmbeddings int64   `json:"num_embeddings"`
			AvgDoclen     decimal `json:"avg_doclen"`
			NumDocuments  int     `json:"num_documents"`
			EmbeddingDim  int     `json:"embedding_dim"`
			Compatible    bool    `json:"next_plaid_compatible"`
			Binary        bool    `json:"binary"`
		}{len(w.chunks), s.Bits(), s.K(), w.tokens, c.AvgDoclen, w.documents, s.Dim(), true, false})
	}
	return pretty(c)
}

// threshold is the cluster threshold that the source has, else 0. ColBERT has no file for it, and
// passes over keys that it does not know: so it survives a conversion there and back.
func (w *writer) threshold() decimal {
	if t := w.source.ClusterThreshold(); t > 0 && t <= math.MaxFloat32 {
		return decimal(t)
	}
	return 0
}

// colBERTConfig is what ColBERT needs to know of the settings an index was built with.
type colBERTConfig struct {
	Dim   int `json:"dim"`
	Nbits int `json:"nbits"`
}

func (w *writer) config() colBERTConfig {
	return colBERTConfig{w.source.Dim(), w.source.Bits()}
}

// planText is plan.json.
func (w *writer) planText() []byte {
	if w.flavour == ColBERT {
		return pretty(struct {
			Config     colBERTConfig `json:"config"`
			Chunks     int           `json:"num_chunks"`
			Partitions int           `json:"num_partitions"`
			Embeddings int64         `json:"num_embeddings_est"`
			Average    decimal       `json:"avg_doclen_est"`
		}{w.config(), len(w.chunks), w.source.K(), w.tokens, w.averageLength()})
	}
	return append(pretty(struct {
		Nbits     int `json:"nbits"`
		NumChunks int `json:"num_chunks"`
	}{w.source.Bits(), len(w.chunks)}), '\n')
}

// chunkMetadata is {i}.metadata.json.
func (w *writer) chunkMetadata(c chunk) []byte {
	if w.flavour == ColBERT {
		return fmt.Appendf(nil, `{"passage_offset": %d, "num_passages": %d, "num_embeddings": %d, "embedding_offset": %d}`,
			c.first, c.documents, c.tokens, c.token)
	}
	return pretty(struct {
		Offset     int64 `json:"embedding_offset"`
		Documents  int   `json:"num_documents"`
		Embeddings int64 `json:"num_embeddings"`
	}{c.token, c.documents, c.tokens})
}

// listFiles writes the inverted lists.
func (w *writer) listFiles() error {
	documents := w.lists.Documents
	lengths := make([]int64, len(w.lists.Offsets)-1)
	for c := range lengths {
		lengths[c] = w.lists.Offsets[c+1] - w.lists.Offsets[c]
	}
	if w.flavour == ColBERT {
		return w.torch("ivf.pid.pt",
			torchPart{"i4", []int{len(documents)}, func(b *bufio.Writer) error { return writeInts(b, documents, 4) }},
			torchPart{"i8", []int{len(lengths)}, func(b *bufio.Writer) error { return writeInts(b, lengths, 8) }})
	}
	return errors.Join(
		w.array("ivf.npy", "i8", []int{len(documents)}, func(b *bufio.Writer) error { return writeInts(b, documents, 8) }),
		w.array("ivf_lengths.npy", "i4", []int{len(lengths)}, func(b *bufio.Writer) error { return writeInts(b, lengths, 4) }))
}

// lengthsText is doclens.{i}.json.
func (w *writer) lengthsText(c chunk) []byte {
	offsets := w.source.Offsets()
	text := []byte{'['}
	for j := c.first; j < c.first+c.documents; j++ {
		if j > c.first {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, offsets[j+1]-offsets[j], 10)
	}
	return append(text, ']')
}

// manifestText is a manifest of fast-plaid 1.7, as its Python side spells it.
func manifestText(chunks []chunk, kind string) []byte {
	text := []byte{'{'}
	for i, c := range chunks {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, `"`+strconv.Itoa(i)+"."+kind+`.npy": {"rows": `...)
		text = append(strconv.AppendInt(text, c.tokens, 10), `, "merged": true, "mtime": null}`...)
	}
	return append(text, '}')
}

package format

import (
	"fmt"

	"github.com/likbench/likbench/plaid/codec"
)

// Source is an index to be written: an open [*Index], a [*Memory], or a builder's own.
// Its slices are read, never changed. The methods are those of Index; those that may be nil
// or 0 say so there.
type Source interface {
	Dim() int
	Bits() int
	K() int
	Offsets() []int64
	Centroids() []float32
	Cutoffs() []float32
	Weights() []float32
	AverageResidual() []float32
	ClusterThreshold() float32
	ReadCodes(dst []int32, from int64) error
	ReadResiduals(dst []byte, from int64) error
}

// Guard runs f, which reads a source, inside the source's own Guard if it has one: slices of
// a snapshot of package store are mappings of files.
func Guard(s Source, f func() error) error {
	if g, ok := s.(interface{ Guard(f func() error) error }); ok {
		return g.Guard(f)
	}
	return f()
}

// Memory is an index in memory.
type Memory struct {
	Components, Width int       // d, and bits a component
	DocumentOffsets   []int64   // N+1
	Cells             []float32 // centroids, K×d
	Table             codec.Table
	Average           []float32
	Radius            float32
	TokenCodes        []int32
	Residuals         []byte // row-major, d·bits/8 bytes a token
}

func (m *Memory) Dim() int                   { return m.Components }
func (m *Memory) Bits() int                  { return m.Width }
func (m *Memory) K() int                     { return len(m.Cells) / max(m.Components, 1) }
func (m *Memory) Offsets() []int64           { return m.DocumentOffsets }
func (m *Memory) Centroids() []float32       { return m.Cells }
func (m *Memory) Cutoffs() []float32         { return m.Table.Cutoffs }
func (m *Memory) Weights() []float32         { return m.Table.Weights }
func (m *Memory) AverageResidual() []float32 { return m.Average }
func (m *Memory) ClusterThreshold() float32  { return m.Radius }

// ReadCodes is as of Index; a code out of range fails with codec.ErrCode.
func (m *Memory) ReadCodes(dst []int32, from int64) error {
	if from < 0 || from+int64(len(dst)) > int64(len(m.TokenCodes)) {
		return fmt.Errorf("format: tokens %d to %d of %d codes: %w", from, from+int64(len(dst)), len(m.TokenCodes), ErrRange)
	}
	copy(dst, m.TokenCodes[from:])
	for i, c := range dst {
		if c < 0 || int(c) >= m.K() {
			return fmt.Errorf("format: token %d has code %d of %d: %w", from+int64(i), c, m.K(), codec.ErrCode)
		}
	}
	return nil
}

// ReadResiduals is as of Index.
func (m *Memory) ReadResiduals(dst []byte, from int64) error {
	row, err := codec.RowBytes(m.Components, m.Width)
	if err != nil {
		return fmt.Errorf("format: %w", err)
	}
	at := from * int64(row)
	if from < 0 || len(dst)%row != 0 || at+int64(len(dst)) > int64(len(m.Residuals)) {
		return fmt.Errorf("format: %d bytes of residuals from token %d on, %d in all: %w", len(dst), from, len(m.Residuals), ErrRange)
	}
	copy(dst, m.Residuals[at:])
	return nil
}

// Lists are inverted lists: Documents[Offsets[c]:Offsets[c+1]] are the documents that own a
// token of centroid c, ascending, each once.
type Lists struct {
	Offsets   []int64 // K+1
	Documents []int32
}

// codeBlock is how many tokens' codes are held at a time.
const codeBlock = 1 << 16

// BuildLists makes the inverted lists from codes and offsets, by counting: two passes over
// the codes, four bytes for each pair of centroid and document and twelve for each centroid.
func BuildLists(s Source) (*Lists, error) {
	l := &Lists{Offsets: make([]int64, s.K()+1)}
	// last is the document that was last put into each list, plus one.
	last := make([]int32, s.K())
	err := eachCode(s, func(document, code int32) {
		if last[code] != document+1 {
			last[code] = document + 1
			l.Offsets[code+1]++
		}
	})
	if err != nil {
		return nil, err
	}
	for c := range s.K() {
		l.Offsets[c+1] += l.Offsets[c]
	}
	l.Documents = make([]int32, l.Offsets[s.K()])
	clear(last)
	next := append([]int64(nil), l.Offsets...)
	err = eachCode(s, func(document, code int32) {
		if last[code] != document+1 && next[code] < l.Offsets[code+1] {
			last[code] = document + 1
			l.Documents[next[code]] = document
			next[code]++
		}
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// eachCode visits the tokens in order.
func eachCode(s Source, visit func(document, code int32)) error {
	offsets := s.Offsets()
	total := offsets[len(offsets)-1]
	codes := make([]int32, min(total, codeBlock))
	document := 0
	for from := int64(0); from < total; from += codeBlock {
		block := codes[:min(codeBlock, total-from)]
		if err := s.ReadCodes(block, from); err != nil {
			return err
		}
		for i, code := range block {
			for offsets[document+1] <= from+int64(i) {
				document++
			}
			visit(int32(document), code)
		}
	}
	return nil
}

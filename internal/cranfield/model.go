package cranfield

import (
	"fmt"
	"math"
	"strings"
)

// Mode is a way of weighting token vectors. In all of them the score of a document
// is MaxSim of the weighted vectors:
//
//	score(q, d) = Σ over pieces i of q  a(i) · max over pieces t of d  s_d(t) · ⟨E(i), E(t)⟩
//
// with a(i) = 1 in Plain and w(i)·√idf(i) in the others.
type Mode uint8

const (
	TF     Mode = iota // s_d(t) = f·1.3 / (f + .3·(.25 + .75·L_d/L̄)): the best quality
	Plain              // s_d(t) = 1: unit vectors on both sides
	Cosine             // s_d(t) = 1: unit document vectors
	Prior              // s_d(t) = 1 / (.9 + .1·U_d/Ū), one number for a document
)

// Here f is how often t occurs in d, L_d the number of kept pieces of d with
// repeats, U_d that of distinct ones, L̄ and Ū their means over all documents.
const (
	tfK1, tfB   = 0.3, 0.75
	priorWeight = 0.1
)

var modeNames = [...]string{TF: "tf", Plain: "plain", Cosine: "cosine", Prior: "prior"}

func (m Mode) String() string { return modeNames[m] }

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("cranfield: mode %q, want one of %s", name, strings.Join(modeNames[:], ", "))
}

// Tokens are the vectors of several texts, packed: text i has the rows
// Offsets[i] to Offsets[i+1] of Vectors, a row-major matrix with Dim columns, and
// the piece ids of the same range of IDs. A text without kept pieces has no rows.
type Tokens struct {
	Vectors []float32
	IDs     []int32
	Offsets []int64
	Dim     int
}

// Len is the number of texts.
func (t *Tokens) Len() int { return len(t.Offsets) - 1 }

// Model is an encoder with the statistics of one set of documents. It is safe for
// concurrent use.
type Model struct {
	encoder   *Encoder
	documents []counts
	idf       map[int32]float64 // of pieces that occur
	unseen    float64           // idf of pieces that do not
	meanLen   float64           // L̄
	meanKinds float64           // Ū
}

// counts are the distinct pieces of a document in order of appearance, how often
// each occurs, and the sum of that.
type counts struct {
	ids    []int32
	often  []int32
	length int
}

// Fit tokenises the documents and takes their statistics.
func (e *Encoder) Fit(documents []string) *Model {
	m := &Model{encoder: e, documents: make([]counts, len(documents)), idf: map[int32]float64{}}
	place := map[int32]int{}
	var pieces []int32
	var total, kinds int
	for i, text := range documents {
		pieces = e.Pieces(pieces[:0], text)
		clear(place)
		d := &m.documents[i]
		for _, id := range pieces {
			at, ok := place[id]
			if !ok {
				at = len(d.ids)
				place[id] = at
				d.ids = append(d.ids, id)
				d.often = append(d.often, 0)
				m.idf[id]++ // a count until all documents are seen
			}
			d.often[at]++
		}
		d.length = len(pieces)
		total += len(pieces)
		kinds += len(d.ids)
	}
	n := float64(len(documents))
	for id, df := range m.idf {
		m.idf[id] = math.Log(1 + (n-df+0.5)/(df+0.5))
	}
	m.unseen = math.Log(1 + (n+0.5)/0.5)
	m.meanLen, m.meanKinds = float64(total)/n, float64(kinds)/n
	return m
}

// Means returns the mean number of kept pieces of a document, with repeats and
// distinct.
func (m *Model) Means() (pieces, distinct float64) { return m.meanLen, m.meanKinds }

// Documents returns the weighted vectors of the documents the model was fitted on,
// each distinct piece once: a repeated one never changes a maximum.
func (m *Model) Documents(mode Mode) *Tokens {
	rows := 0
	for i := range m.documents {
		rows += len(m.documents[i].ids)
	}
	t := &Tokens{Dim: Dim, Vectors: make([]float32, 0, rows*Dim), IDs: make([]int32, 0, rows), Offsets: []int64{0}}
	for i := range m.documents {
		d := &m.documents[i]
		for j, id := range d.ids {
			t.Vectors = m.encoder.appendRow(t.Vectors, id, m.documentFactor(mode, d, j))
		}
		t.IDs = append(t.IDs, d.ids...)
		t.Offsets = append(t.Offsets, int64(len(t.IDs)))
	}
	return t
}

func (m *Model) documentFactor(mode Mode, d *counts, j int) float64 {
	switch mode {
	case Prior:
		return 1 / (1 - priorWeight + priorWeight*float64(len(d.ids))/m.meanKinds)
	case TF:
		f := float64(d.often[j])
		return f * (1 + tfK1) / (f + tfK1*(1-tfB+tfB*float64(d.length)/m.meanLen))
	}
	return 1
}

// Factors returns the document factors of mode Prior, for those who keep unit
// vectors: a score in mode Cosine times the document's factor is the score in mode
// Prior. An empty document's is that of no pieces.
func (m *Model) Factors() []float64 {
	f := make([]float64, len(m.documents))
	for i := range f {
		f[i] = m.documentFactor(Prior, &m.documents[i], 0)
	}
	return f
}

// Queries returns the weighted vectors of texts, repeated pieces each time.
func (m *Model) Queries(mode Mode, texts []string) *Tokens {
	t := &Tokens{Dim: Dim, Offsets: []int64{0}}
	for _, text := range texts {
		first := len(t.IDs)
		t.IDs = m.encoder.Pieces(t.IDs, text)
		for _, id := range t.IDs[first:] {
			t.Vectors = m.encoder.appendRow(t.Vectors, id, m.queryFactor(mode, id))
		}
		t.Offsets = append(t.Offsets, int64(len(t.IDs)))
	}
	return t
}

func (m *Model) queryFactor(mode Mode, id int32) float64 {
	if mode == Plain {
		return 1
	}
	idf, ok := m.idf[id]
	if !ok {
		idf = m.unseen
	}
	return float64(m.encoder.weight[id]) * math.Sqrt(idf)
}

// Texts returns field .W of all documents, which is what the pipeline indexes.
func (c *Collection) Texts() []string {
	texts := make([]string, len(c.Documents))
	for i := range texts {
		texts[i] = c.Documents[i].Text
	}
	return texts
}

// Questions returns the text of all queries.
func (c *Collection) Questions() []string {
	texts := make([]string, len(c.Queries))
	for i := range texts {
		texts[i] = c.Queries[i].Text
	}
	return texts
}

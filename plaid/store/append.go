package store

import (
	"errors"
	"math"

	"github.com/likbench/likbench/plaid/codec"
)

// Block is a run of documents to be appended. It is read, never kept.
type Block struct {
	Lens      []int64   // tokens of each document; 0 is legal
	Codes     []int32   // of all tokens, from 0 to below K
	Residuals []byte    // Dim·Bits/8 a token, as package codec packs them
	InvNorms  []float32 // one a token, as codec.Decoder.InvNorm; nil computes them here
	IDs       []int64   // of each document, ascending, from NextID on; nil takes the next ones
}

// Append adds documents to the next generation. It fails with an *InputError that names the
// first wrong element, or with an *Error of the system; nothing is appended then, and the
// writer can be used further.
func (w *Writer) Append(b Block) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	return w.append(b)
}

func (w *Writer) append(b Block) error {
	if err := w.checkBlock(&b); err != nil {
		return err
	}
	if len(b.Lens) == 0 {
		return nil
	}
	if b.InvNorms == nil && len(b.Codes) > 0 {
		norms, err := w.invNorms(b.Codes, b.Residuals)
		if err != nil {
			return err
		}
		b.InvNorms = norms
	}
	m := w.next
	documents := int64(len(b.Lens))
	if b.IDs == nil {
		b.IDs = make([]int64, documents)
		for i := range b.IDs {
			b.IDs[i] = m.nextID + int64(i)
		}
	}
	ends := make([]int64, documents)
	end := m.tokens
	for i, n := range b.Lens {
		end += n
		ends[i] = end
	}
	parts := map[kind][]byte{
		fileCodes: asBytes(b.Codes), fileResiduals: b.Residuals, fileInvNorms: asBytes(b.InvNorms),
		fileOffsets: asBytes(ends), fileIDs: asBytes(b.IDs),
	}
	w.touched = true
	for _, k := range grown { // all are written before one is counted
		e := m.file(k)
		if err := writeAt(w.open[k], parts[k], e.length); err != nil {
			return fail(w.path(e), err)
		}
	}
	for _, k := range grown {
		m.file(k).extend(parts[k], m.block)
	}
	m.documents, m.tokens, m.nextID = m.documents+documents, end, b.IDs[documents-1]+1
	w.dirty = true
	return nil
}

// checkBlock checks all that can be wrong with a block.
func (w *Writer) checkBlock(b *Block) error {
	m := w.next
	tokens, row := int64(len(b.Codes)), m.row()
	if int64(len(b.Lens)) > maxDocuments-m.documents {
		return input("Lens", -1, ErrRange, "%d documents after %d, limit %d", len(b.Lens), m.documents, int64(maxDocuments))
	}
	total := int64(0)
	for i, n := range b.Lens {
		if n < 0 || n > tokens-total {
			return input("Lens", int64(i), codec.ErrLength, "%d tokens after %d of %d codes", n, total, tokens)
		}
		total += n
	}
	switch {
	case total != tokens:
		return input("Lens", -1, codec.ErrLength, "%d tokens, %d codes", total, tokens)
	case int64(len(b.Residuals)) != tokens*row:
		return input("Residuals", -1, codec.ErrLength, "%d bytes, %d tokens of %d bytes", len(b.Residuals), tokens, row)
	case b.InvNorms != nil && int64(len(b.InvNorms)) != tokens:
		return input("InvNorms", -1, codec.ErrLength, "%d norms, %d tokens", len(b.InvNorms), tokens)
	}
	if at := outside(b.Codes, m.k); at >= 0 {
		return input("Codes", int64(at), codec.ErrCode, "%d of %d centroids", b.Codes[at], m.k)
	}
	if at := notFinite(b.InvNorms); at >= 0 {
		return input("InvNorms", int64(at), ErrNotFinite, "%v", b.InvNorms[at])
	}
	return w.checkIDs(b)
}

func (w *Writer) checkIDs(b *Block) error {
	next := w.next.nextID
	if b.IDs == nil {
		if int64(len(b.Lens)) > math.MaxInt64-next {
			return input("IDs", -1, ErrRange, "%d documents from id %d on", len(b.Lens), next)
		}
		return nil
	}
	if len(b.IDs) != len(b.Lens) {
		return input("IDs", -1, codec.ErrLength, "%d ids, %d documents", len(b.IDs), len(b.Lens))
	}
	for i, id := range b.IDs {
		if id < next || id == math.MaxInt64 {
			return input("IDs", int64(i), ErrID, "%d, the least is %d", id, next)
		}
		next = id + 1
	}
	return nil
}

// outside is the index of the first code that names no centroid, or −1.
func outside(values []int32, k int64) int {
	for i, c := range values {
		if int64(uint32(c)) >= k {
			return i
		}
	}
	return -1
}

// normer computes the norms that a block does not bring.
type normer struct {
	cells   region
	decoder *codec.Decoder
	scratch []float32
}

func (n *normer) release() error {
	if n == nil {
		return nil
	}
	return n.cells.release()
}

// newNormer maps the centroids.
func newNormer(dir string, m *manifest) (*normer, error) {
	cells, err := loadCells(dir, m, false)
	if err != nil {
		return nil, err
	}
	d, err := codec.NewDecoder(as[float32](cells.data), m.dim, m.bits, m.weights)
	if err != nil {
		return nil, errors.Join(err, cells.release())
	}
	return &normer{cells, d, make([]float32, m.dim)}, nil
}

// norms fills dst with the norms of as many tokens.
func (n *normer) norms(dst []float32, codes []int32, rows []byte) error {
	row := len(rows) / max(len(codes), 1)
	for i, c := range codes {
		v, err := n.decoder.InvNorm(n.scratch, int64(c), rows[i*row:(i+1)*row])
		if err != nil {
			return err
		}
		dst[i] = v
	}
	return nil
}

func (w *Writer) invNorms(codes []int32, rows []byte) ([]float32, error) {
	if w.norms == nil {
		n, err := newNormer(w.dir, w.next)
		if err != nil {
			return nil, err
		}
		w.norms = n
	}
	out := make([]float32, len(codes))
	if err := w.norms.norms(out, codes, rows); err != nil {
		return nil, err
	}
	return out, nil
}

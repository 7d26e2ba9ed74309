package format

import (
	"errors"
	"slices"
	"strconv"
)

// torch opens a .pt file of the index, which keeps it open, and requires n tensors.
func (x *Index) torch(name string, n int) ([]*tensor, error) {
	t, err := openTorch(x.dir, name)
	if err != nil {
		return nil, err
	}
	x.files = append(x.files, t.file)
	if len(t.tensors) != n {
		return nil, corrupt(t.path, "%d tensors, want %d", len(t.tensors), n)
	}
	return t.tensors, nil
}

// torchTensor is torch for the one tensor of a file, of a type and rank.
func (x *Index) torchTensor(name, kinds string, rank int) (*tensor, error) {
	t, err := x.torch(name, 1)
	if err != nil {
		return nil, err
	}
	return t[0], t[0].want(kinds, rank)
}

// openColBERT opens the layout of ColBERTv2.
func (x *Index) openColBERT() error {
	x.flavour = ColBERT
	config, err := x.meta.child("config")
	if err != nil {
		return err
	}
	if config == nil {
		return corrupt(x.meta.path, "lacks config")
	}
	bits, err := config.count("nbits")
	if err != nil {
		return err
	}
	chunks, err := x.meta.count("num_chunks")
	if err != nil {
		return err
	}
	if bits < 0 || chunks < 0 {
		return corrupt(x.meta.path, "lacks config.nbits or num_chunks")
	}
	if err := errors.Join(x.openColBERTTables(bits), x.keptThreshold()); err != nil {
		return err
	}
	if dim, err := config.count("dim"); err != nil || dim >= 0 && dim != int64(x.dim) {
		x.warn(x.meta.path, "config.dim is %s, centroids have %d components", config.keys["dim"], x.dim)
	}
	if err := x.readDoclens(chunks); err != nil {
		return err
	}
	for i, c := range x.chunks {
		s := segment{from: c.token, rows: c.tokens}
		if s.codes, err = x.torchTensor(strconv.Itoa(i)+".codes.pt", "i", 1); err != nil {
			return err
		}
		if s.residuals, err = x.torchTensor(strconv.Itoa(i)+".residuals.pt", "u", 2); err != nil {
			return err
		}
		if err := x.payload(s.codes, s.residuals, c.tokens, true); err != nil {
			return err
		}
		x.segments = append(x.segments, s)
	}
	if err := x.openColBERTLists(); err != nil {
		return err
	}
	if err := x.openChunkMetadata(); err != nil {
		return err
	}
	return x.colBERTCounts()
}

func (x *Index) openColBERTTables(bits int64) error {
	centroids, err := x.torchTensor("centroids.pt", "f", 2)
	if err != nil {
		return err
	}
	buckets, err := x.torch("buckets.pt", 2)
	if err != nil {
		return err
	}
	for _, t := range buckets {
		if err := t.want("f", 1); err != nil {
			return err
		}
	}
	if err := x.setCodec(bits, centroids, buckets[0], buckets[1]); err != nil {
		return err
	}
	return x.optional("avg_residual.pt", func() error {
		t, err := x.torch("avg_residual.pt", 1)
		if err != nil {
			return err
		}
		if n := t[0].len(); len(t[0].shape) > 1 || t[0].dtype[0] != 'f' || n != 1 && n != int64(x.dim) {
			return corrupt(t[0].path, "shape %v of %s, want one float or %d", t[0].shape, t[0].dtype, x.dim)
		}
		x.average, err = t[0].floats()
		return err
	})
}

// keptThreshold reads the cluster threshold that a conversion to this layout has kept.
func (x *Index) keptThreshold() error {
	const key = "cluster_threshold"
	if !x.meta.has(key) {
		return nil
	}
	text := string(x.meta.keys[key])
	t, err := strconv.ParseFloat(text, 32)
	if err != nil || t < 0 {
		return corrupt(x.meta.path, "%s is %.40s, want a number from 0 on", key, text)
	}
	x.radius = float32(t)
	return nil
}

// openColBERTLists opens ivf.pid.pt, whose ids may go on with zeros beyond the lists. Old
// indexes have ivf.pt with lists of tokens, which are no use here: BuildLists makes lists
// of documents from the codes.
func (x *Index) openColBERTLists() error {
	if !x.exists("ivf.pid.pt") {
		return x.optional("ivf.pt", func() error {
			_, err := x.torch("ivf.pt", 2)
			x.warn(x.path("ivf.pt"), "lists of tokens are not read")
			return x.derivable(err)
		})
	}
	t, err := x.torch("ivf.pid.pt", 2)
	if err == nil {
		err = errors.Join(t[0].want("i", 1), t[1].want("i", 1))
	}
	if err == nil {
		err = x.setLists(t[0], t[1])
	}
	return x.derivable(err)
}

func (x *Index) colBERTCounts() error {
	if err := x.optional("plan.json", func() error { return x.derivable(x.wholeObject("plan.json")) }); err != nil {
		return err
	}
	if err := x.compareCount(x.meta, "num_partitions", int64(x.k)); err != nil {
		return err
	}
	if err := errors.Join(x.compareCount(x.meta, "num_documents", int64(x.Documents())), x.compareCount(x.meta, "num_embeddings", x.Tokens())); err != nil {
		return err
	}
	x.compareAverage()
	return x.complete()
}

// openWARP opens the layout of WARP: tokens lie grouped by centroid, each with the number of
// its document. Documents are put together by a stable counting sort, so the tokens of a
// document are in order of centroid; their order in the text is not kept by this layout.
func (x *Index) openWARP() error {
	x.flavour, x.frozen = WARP, true
	centroids, err := x.array("centroids.npy", "f", 2)
	if err != nil {
		return err
	}
	weights, err := x.array("bucket_weights.npy", "f", 1)
	if err != nil {
		return err
	}
	bits := int64(0)
	for n := weights.len(); n > 1; n /= 2 {
		bits++
	}
	if err := x.setCodec(bits, centroids, nil, weights); err != nil {
		return err
	}
	sizes, err := x.torchTensor("sizes.compacted.pt", "i", 1)
	if err != nil {
		return err
	}
	ids, err := x.torchTensor("codes.compacted.pt", "i", 1)
	if err != nil {
		return err
	}
	residuals, err := x.torchTensor("residuals.compacted.pt", "u", 2)
	if err != nil {
		return err
	}
	if err := x.payload(ids, residuals, ids.len(), true); err != nil {
		return err
	}
	x.segments = []segment{{rows: ids.len(), codes: ids, residuals: residuals}}
	if err := x.group(sizes, ids); err != nil {
		return err
	}
	return errors.Join(x.compareCount(x.meta, "num_partitions", int64(x.k)), x.compareCount(x.meta, "num_embeddings", x.Tokens()))
}

// group sets the offsets of documents and where their tokens lie, and the first token of
// each centroid as the lists' offsets, for looking codes up.
func (x *Index) group(sizes, ids *tensor) error {
	if sizes.len() != int64(x.k) || ids.len() > 1<<31-1 {
		return corrupt(sizes.path, "%d sizes for %d centroids, %d tokens", sizes.len(), x.k, ids.len())
	}
	n := make([]int64, x.k)
	if err := sizes.integers(n, 0); err != nil {
		return err
	}
	starts := make([]int64, x.k+1)
	for c, size := range n {
		if size < 0 || size > ids.len()-starts[c] {
			return corruptAt(sizes.path, int64(c), "%d tokens after %d of %d", size, starts[c], ids.len())
		}
		starts[c+1] = starts[c] + size
	}
	if starts[x.k] != ids.len() {
		return corrupt(sizes.path, "sizes sum to %d, %s has %d tokens", starts[x.k], ids.path, ids.len())
	}
	document := make([]int32, ids.len())
	if err := ids.bounded(document, 0, 1<<31-1, "document"); err != nil {
		return err
	}
	documents := int32(-1)
	for _, j := range document {
		documents = max(documents, j)
	}
	// A document without tokens leaves no trace, so a number beyond all tokens is a wrong one
	// sooner than a collection of empty documents; it would also cost memory at will.
	if int64(documents) >= 64*(ids.len()+1) {
		return corrupt(ids.path, "document %d with %d tokens in all", documents, ids.len())
	}
	x.offsets = make([]int64, documents+2)
	for _, j := range document {
		x.offsets[j+1]++
	}
	for j := range documents + 1 {
		x.offsets[j+1] += x.offsets[j]
	}
	next := slices.Clone(x.offsets)
	x.grouped = make([]int32, len(document))
	for at, j := range document {
		x.grouped[next[j]] = int32(at)
		next[j]++
	}
	x.starts = starts
	return nil
}

func (x *Index) readGroupedCodes(dst []int32, from int64) error {
	return x.tokens(int64(len(dst)), from, func(_ *segment, at, rows, done int64) error {
		for i, place := range x.grouped[at : at+rows] {
			c, found := slices.BinarySearch(x.starts, int64(place))
			for found && x.starts[c+1] == int64(place) {
				c++ // empty cells before
			}
			if !found {
				c--
			}
			dst[done+int64(i)] = int32(c)
		}
		return nil
	})
}

func (x *Index) readGroupedResiduals(dst []byte, from int64) error {
	row := int64(x.row)
	return x.tokens(int64(len(dst))/row, from, func(s *segment, at, rows, done int64) error {
		for i, place := range x.grouped[at : at+rows] {
			to := (done + int64(i)) * row
			if err := s.residuals.readAt(dst[to:to+row], s.residuals.at+int64(place)*row); err != nil {
				return err
			}
		}
		return nil
	})
}

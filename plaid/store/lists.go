package store

import "io"

// defaultBudget is how many list entries are held at a time while lists are made: 64 MiB.
const defaultBudget = 16 << 20

// readTokens is how many codes are read at a time.
const readTokens = 1 << 16

// tokens reads the codes of documents from files.
type tokens struct {
	codes, offsets io.ReaderAt
	codesPath      string
	offsetsPath    string
	total          int64 // of the generation
}

// each visits the tokens of count documents from first on, in order. Offsets that descend or
// leave the generation fail with ErrCorrupt.
func (t *tokens) each(first, count int64, visit func(document, code int32)) error {
	const readDocuments = 4096
	ends, codes := make([]int64, min(count, readDocuments)+1), make([]int32, 0, min(t.total, readTokens))
	for done := int64(0); done < count; {
		n := min(count-done, readDocuments)
		part := ends[:n+1]
		if _, err := t.offsets.ReadAt(asBytes(part), 8*(first+done)); err != nil {
			return fail(t.offsetsPath, err)
		}
		if part[0] < 0 {
			return corruptElement(t.offsetsPath, first+done, "offset %d", part[0])
		}
		for i := range n {
			if part[i+1] < part[i] || part[i+1] > t.total {
				return corruptElement(t.offsetsPath, first+done+i+1, "offset %d after %d, %d tokens", part[i+1], part[i], t.total)
			}
		}
		document := int64(0)
		for at := part[0]; at < part[n]; at += int64(len(codes)) {
			codes = codes[:min(readTokens, part[n]-at)]
			if _, err := t.codes.ReadAt(asBytes(codes), 4*at); err != nil {
				return fail(t.codesPath, err)
			}
			for i, c := range codes {
				for part[document+1] <= at+int64(i) {
					document++
				}
				visit(int32(first+done+document), c)
			}
		}
		done += n
	}
	return nil
}

// sink takes the parts of a list file in order.
type sink struct {
	offsets   func(offsets []int64) error
	documents func(from int64, documents []int32) error // entries from the given one on
}

// derive makes the lists of a run of documents by counting, holding 20 bytes a centroid and
// at most budget entries, or those of one list: the codes are read once to count and once
// for each budget. Codes out of range are left out.
func derive(k int64, t *tokens, first, count, budget int64, out sink) error {
	offsets := make([]int64, k+1)
	last := make([]int32, k) // the document that was last put into each list, plus one
	err := t.each(first, count, func(document, code int32) {
		if int64(uint32(code)) < k && last[code] != document+1 {
			last[code] = document + 1
			offsets[code+1]++
		}
	})
	if err != nil {
		return err
	}
	for c := range k {
		offsets[c+1] += offsets[c]
	}
	if err := out.offsets(offsets); err != nil {
		return err
	}
	clear(last)
	next := append([]int64(nil), offsets...)
	held := make([]int32, 0, min(offsets[k], budget))
	for from := int64(0); from < k; {
		to := from + 1
		for to < k && offsets[to+1]-offsets[from] <= budget {
			to++
		}
		base := offsets[from]
		if n := int(offsets[to] - base); n > cap(held) {
			held = make([]int32, n)
		} else {
			held = held[:n]
		}
		if len(held) > 0 {
			err := t.each(first, count, func(document, code int32) {
				c := int64(uint32(code))
				if c >= from && c < to && last[c] != document+1 && next[c] < offsets[c+1] {
					last[c] = document + 1
					held[next[c]-base] = document
					next[c]++
				}
			})
			if err != nil {
				return err
			}
			if err := out.documents(base, held); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// segment writes the list file of a run of documents.
func (w *Writer) segment(m *manifest, first, count int64) (entry, error) {
	e := m.fresh(fileLists)
	e.first, e.count = first, count
	err := w.emit(&e, func(put func(p []byte) error) error {
		return derive(m.k, w.tokens(m), first, count, w.budget, sink{
			offsets: func(offsets []int64) error {
				if err := put(asBytes(offsets)); err != nil {
					return err
				}
				return put(make([]byte, listsAt(m.k)-8*(m.k+1)))
			},
			documents: func(_ int64, documents []int32) error { return put(asBytes(documents)) },
		})
	})
	return e, err
}

// tokens are the documents of a generation, read through the writer's files.
func (w *Writer) tokens(m *manifest) *tokens {
	return &tokens{
		codes: w.open[fileCodes], codesPath: w.path(m.file(fileCodes)),
		offsets: w.open[fileOffsets], offsetsPath: w.path(m.file(fileOffsets)), total: m.tokens,
	}
}

// offset reads where a document starts.
func (w *Writer) offset(m *manifest, document int64) (int64, error) {
	one := []int64{0}
	_, err := w.open[fileOffsets].ReadAt(asBytes(one), 8*document)
	return one[0], fail(w.path(m.file(fileOffsets)), err)
}

// seal makes the lists of documents that have none. Small files before them are taken into
// the new one, so that their number stays logarithmic and each token is listed anew a
// logarithmic number of times.
func (w *Writer) seal(m *manifest) error {
	old := m.segments()
	covered := int64(0)
	if n := len(old); n > 0 {
		covered = old[n-1].first + old[n-1].count
	}
	if covered == m.documents {
		return nil
	}
	keep, first := len(old), covered
	at, err := w.offset(m, first) // the first token to be listed
	for keep > 0 && err == nil {
		var from int64
		if from, err = w.offset(m, old[keep-1].first); err != nil {
			break
		}
		// Making a file costs the offsets of all centroids, whatever is in it.
		if n := at - from; n > 2*(m.tokens-at) && n > m.k {
			break
		}
		keep--
		at, first = from, old[keep].first
	}
	if err != nil {
		return err
	}
	e, err := w.segment(m, first, m.documents-first)
	if err != nil {
		return err
	}
	m.drop(fileLists, keep)
	m.add(e)
	return nil
}

// lister gives the lists of all segments as one.
type lister struct {
	k        int64
	offsets  [][]int64
	segments [][]int32
}

// merge concatenates each centroid's lists: segments hold ascending runs of documents. Offsets
// are held within their file and ascending, whatever a hostile one says, so that no more is
// made than there is.
func (l *lister) merge() ([]int64, []int32) {
	at := make([]int64, len(l.segments))
	total := 0
	for _, s := range l.segments {
		total += len(s)
	}
	offsets, documents := make([]int64, l.k+1), make([]int32, 0, total)
	for c := range l.k {
		for i, s := range l.segments {
			from := min(max(l.offsets[i][c], at[i]), int64(len(s)))
			to := min(max(l.offsets[i][c+1], from), int64(len(s)))
			documents = append(documents, s[from:to]...)
			at[i] = to
		}
		offsets[c+1] = int64(len(documents))
	}
	return offsets, documents
}

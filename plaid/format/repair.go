package format

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/likbench/likbench/internal/npy"
)

// Repair rebuilds what Check finds missing or malformed and is derivable: inverted lists,
// counts, chunk metadata, plan, manifests, inverse norms; a stale copy of the payload is
// removed, or made again where the layout reads it; leftovers of crashed writers are removed,
// but only where num_documents and num_embeddings agreed with the rest before.
// Lists that merely lack what an update did not get to are made again, too; other lists, norms
// or copies that contradict the payload stay, since it may be the payload that is wrong. Codes,
// residuals, centroids and tables are never touched. metadata.json is replaced last, so
// programs that watch it notice. It returns the report of what it found.
//
// It fails with ErrFrozen for an index whose owner froze it, and with the first problem that
// is not repairable; nothing is changed then. No other program may write meanwhile.
func Repair(dir string) (*Report, error) { return repair(dir, nil) }

func repair(dir string, step func(op, path string) error) (_ *Report, err error) {
	r, x, err := check(dir)
	if x != nil {
		defer func() { err = errors.Join(err, x.Close()) }()
	}
	if err != nil {
		return r, err
	}
	if err := r.blocking(); err != nil {
		return r, err
	}
	if r.Clean() && len(r.Leftovers) == 0 {
		return r, nil
	}
	if x.frozen {
		return r, &Error{File: x.path(metadataName), Byte: -1, Element: -1, Err: ErrFrozen}
	}
	c, err := begin(dir, step)
	if err != nil {
		return r, err
	}
	w := &writer{commit: c, source: x, flavour: x.flavour, dialect: npy.NumPy, documents: x.Documents(), tokens: x.Tokens(), row: x.row, chunks: x.chunks}
	stale, err := w.rebuild(x, r)
	if err == nil {
		err = w.text(metadataName, x.recounted(r))
	}
	if x.disputed == nil { // what else is there belongs to nothing
		stale = append(stale, r.Leftovers...)
	}
	for _, name := range stale {
		if err == nil && x.exists(name) {
			err = c.remove(name)
		}
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.abort()
	}
	return r, err
}

// blocking is the first problem that is not repairable, and says how many others stay for it.
func (r *Report) blocking() error {
	var first error
	repairable := 0
	for _, p := range r.Problems {
		if p.Repairable {
			repairable++
		} else if first == nil {
			first = p.Err
		}
	}
	if first == nil || repairable == 0 {
		return first
	}
	return fmt.Errorf("%w; nothing was changed, %d repairable problems stay, too", first, repairable)
}

// rebuild writes the files that have problems, each once, and names those to remove.
func (w *writer) rebuild(x *Index, r *Report) (stale []string, err error) {
	done := map[string]bool{}
	for _, p := range r.Problems {
		var e *Error
		if !errors.As(p.Err, &e) {
			return nil, p.Err
		}
		group := derivedGroup(filepath.Base(e.File))
		if e.File == x.dir { // one of the two list files is missing
			group = "lists"
		}
		if done[group] {
			continue
		}
		done[group] = true
		var names []string
		if names, err = w.rebuildGroup(x, group); err != nil {
			return nil, err
		}
		stale = append(stale, names...)
	}
	return stale, nil
}

// derivedGroup says what a file is rebuilt together with.
func derivedGroup(name string) string {
	switch {
	case strings.HasPrefix(name, "ivf"):
		return "lists"
	case strings.HasPrefix(name, "merged_"):
		return "merged"
	case strings.HasSuffix(name, ".inv_norms.npy"):
		return "norms"
	case name != metadataName && strings.HasSuffix(name, ".metadata.json"):
		return "chunks"
	}
	return name
}

func (w *writer) rebuildGroup(x *Index, group string) (stale []string, err error) {
	switch group {
	case "lists":
		if w.lists, err = BuildLists(x); err != nil {
			return nil, err
		}
		return nil, w.listFiles()
	case "merged":
		return w.mergedAgain(x)
	case "norms":
		for i, c := range w.chunks {
			err = errors.Join(err, w.array(strconv.Itoa(i)+".inv_norms.npy", "f4", []int{int(c.tokens)}, func(b *bufio.Writer) error { return w.norms(b, c) }))
		}
		return nil, err
	case "chunks":
		for i, c := range w.chunks {
			err = errors.Join(err, w.text(strconv.Itoa(i)+".metadata.json", w.chunkMetadata(c)))
		}
		return nil, err
	case "plan.json":
		return nil, w.text("plan.json", w.planText())
	case metadataName:
		return nil, nil // written in any case
	}
	return nil, fmt.Errorf("format: %s is not derivable: %w", group, ErrUnsupported)
}

// mergedAgain writes fast-plaid 1.7's merged files, its only payload once the chunk files
// are gone, and lets other programs make their caches again.
func (w *writer) mergedAgain(x *Index) ([]string, error) {
	if w.flavour == FastPlaid17 {
		if x.spare != nil || len(x.segments) != 1 {
			return nil, w.merged()
		}
		return nil, errors.Join(
			w.text("merged_codes.manifest.json", manifestText(w.chunks, "codes")),
			w.text("merged_residuals.manifest.json", manifestText(w.chunks, "residuals")))
	}
	var stale []string
	for _, kind := range []string{"codes", "residuals", "inv_norms"} {
		stale = append(stale, "merged_"+kind+".npy", "merged_"+kind+".manifest.json")
	}
	return stale, nil
}

// recounted is metadata.json with counts as the arrays have them, or as it was.
func (x *Index) recounted(r *Report) []byte {
	wrong := false
	for _, p := range r.Problems {
		var e *Error
		wrong = wrong || errors.As(p.Err, &e) && e.File == x.meta.path
	}
	if !wrong {
		return x.meta.text
	}
	average, _ := decimal(float64(x.Tokens()) / float64(max(x.Documents(), 1))).MarshalJSON()
	keys := map[string]json.RawMessage{}
	for key, value := range x.meta.keys {
		keys[key] = value
	}
	for key, value := range map[string]string{
		"num_documents": strconv.Itoa(x.Documents()), "num_embeddings": strconv.FormatInt(x.Tokens(), 10),
		"num_partitions": strconv.Itoa(x.k), "embedding_dim": strconv.Itoa(x.dim), "avg_doclen": string(average),
	} {
		if keys[key] != nil {
			keys[key] = json.RawMessage(value)
		}
	}
	return pretty(keys)
}

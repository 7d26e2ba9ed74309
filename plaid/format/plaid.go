package format

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// knownKeys of metadata.json. Others are ignored with a warning, but for codecKeys.
var knownKeys = []string{"avg_doclen", "compress_only", "nbits", "num_chunks", "num_documents", "num_embeddings",
	"num_partitions", "frozen", "mutable", "embedding_dim", "next_plaid_compatible", "binary"}

// codecKeys say that residuals are something other than buckets. An index that sets one is
// refused by that name: read as buckets, its bytes would be vectors of nothing.
var codecKeys = []string{"binary", "ternary", "codec", "codec_type", "quantization", "asymmetric"}

// openPlaid opens the .npy layouts: fast-plaid and next-plaid.
func (x *Index) openPlaid() error {
	manifest, err := x.setFlavour()
	if err != nil {
		return err
	}
	n, err := x.meta.counts("nbits", "num_chunks")
	if err != nil {
		return err
	}
	for i, key := range []string{"nbits", "num_chunks"} {
		if n[i] < 0 {
			return corrupt(x.meta.path, "lacks %s", key)
		}
	}
	if err := x.openTables(n[0]); err != nil {
		return err
	}
	if err := x.readDoclens(n[1]); err != nil {
		return err
	}
	if err := x.openPayload(manifest); err != nil {
		return err
	}
	if err := x.openLists(); err != nil {
		return err
	}
	if err := x.openChunkMetadata(); err != nil {
		return err
	}
	if err := errors.Join(x.compareCounts(), x.complete()); err != nil {
		return err
	}
	return x.openBystanders()
}

// setFlavour tells fast-plaid from next-plaid and 1.4 from 1.7, and reads the manifest.
func (x *Index) setFlavour() (*manifest, error) {
	for _, key := range codecKeys {
		if v := strings.TrimSpace(string(x.meta.keys[key])); v != "" && v != "false" && v != "null" {
			return nil, &Error{File: x.meta.path, Byte: -1, Element: -1, Err: because(ErrUnsupported, "%s is %.40s", key, v)}
		}
	}
	for _, key := range x.meta.names() {
		if !slices.Contains(knownKeys, key) && !slices.Contains(codecKeys, key) {
			x.warn(x.meta.path, "key %q is not known", key)
		}
	}
	var flags [4]bool
	for i, key := range []string{"next_plaid_compatible", "frozen", "mutable", "compress_only"} {
		var err error
		if flags[i], err = x.meta.flag(key); err != nil {
			return nil, err
		}
	}
	m, err := readManifest(x.dir, "merged_codes.manifest.json")
	if err = x.derivable(err); err != nil {
		return nil, err
	}
	other, err := readManifest(x.dir, "merged_residuals.manifest.json")
	if err = x.derivable(err); err != nil {
		return nil, err
	}
	x.manifests = [2]*manifest{m, other}
	switch {
	case flags[0]:
		x.flavour = NextPlaid
	case x.meta.has("frozen") || x.meta.has("mutable") || m.merged() || other.merged():
		x.flavour = FastPlaid17
	default:
		x.flavour = FastPlaid14
	}
	// "frozen" alone is from a release that could not write such an index any more.
	x.frozen = flags[1] && !flags[2]
	return m, nil
}

func (x *Index) openTables(bits int64) error {
	centroids, err := x.array("centroids.npy", "f", 2)
	if err != nil {
		return err
	}
	cutoffs, err := x.array("bucket_cutoffs.npy", "f", 1)
	if err != nil {
		return err
	}
	weights, err := x.array("bucket_weights.npy", "f", 1)
	if err != nil {
		return err
	}
	if err := x.setCodec(bits, centroids, cutoffs, weights); err != nil {
		return err
	}
	if err := x.optional("avg_residual.npy", func() error {
		t, err := x.array("avg_residual.npy", "f", 1)
		if err != nil {
			return err
		}
		if n := t.len(); n > 1 && n != int64(x.dim) {
			return corrupt(t.path, "%d average residuals, want 1 or %d", n, x.dim)
		}
		x.average, err = t.floats()
		return err
	}); err != nil {
		return err
	}
	return x.optional("cluster_threshold.npy", func() error {
		t, err := openArray(x.dir, "cluster_threshold.npy")
		if err != nil {
			return err
		}
		x.files = append(x.files, t.file)
		if t.dtype[0] != 'f' || t.len() != 1 {
			return corrupt(t.path, "shape %v of %s, want one float", t.shape, t.dtype)
		}
		v, err := t.floats()
		if err == nil {
			x.radius = v[0]
		}
		return err
	})
}

// openPayload takes the chunk files where they are complete, and the merged ones otherwise.
// Whatever is there has to be whole, used or not.
func (x *Index) openPayload(m *manifest) error {
	missing, err := x.openShards()
	if err != nil {
		return err
	}
	merged, err := x.openMerged(m, len(missing) == 0)
	switch {
	case err != nil:
		return err
	case len(missing) == 0 || merged:
		return nil
	}
	gone := append(missing, "merged_codes.npy", "merged_residuals.npy")
	return &Error{File: x.dir, Byte: -1, Element: -1, Err: because(ErrMissing, "%s, one of which is needed", strings.Join(gone, ", "))}
}

// openShards opens {i}.codes.npy and {i}.residuals.npy; missing names what there is not.
func (x *Index) openShards() (missing []string, err error) {
	var segments []segment
	norms := 0
	for i, c := range x.chunks {
		s := segment{from: c.token, rows: c.tokens}
		for name, into := range map[string]**tensor{"codes": &s.codes, "residuals": &s.residuals, "inv_norms": &s.norms} {
			name = strconv.Itoa(i) + "." + name + ".npy"
			if !x.exists(name) {
				if into != &s.norms {
					missing = append(missing, name)
				}
				continue
			}
			if err := x.shard(name, into, &norms, c.tokens); err != nil {
				return nil, err
			}
		}
		if s.codes != nil && s.residuals != nil {
			if err := x.payload(s.codes, s.residuals, c.tokens, true); err != nil {
				return nil, err
			}
		}
		segments = append(segments, s)
	}
	slices.Sort(missing)
	if len(missing) == 0 {
		x.segments = segments
		x.hasNorms = norms == len(segments) && norms > 0
	}
	return missing, nil
}

func (x *Index) shard(name string, into **tensor, norms *int, rows int64) error {
	switch {
	case strings.HasSuffix(name, "codes.npy"):
		t, err := x.array(name, "i", 1)
		*into = t
		return err
	case strings.HasSuffix(name, "residuals.npy"):
		t, err := x.array(name, "u", 2)
		*into = t
		return err
	}
	t, err := x.array(name, "f", 1)
	if err == nil && t.rows() != rows {
		err = corrupt(t.path, "%d rows, document lengths sum to %d", t.rows(), rows)
	}
	if err = x.derivable(err); err == nil && t != nil {
		*into = t
		*norms++
	}
	return err
}

// openMerged opens the merged files. They are the payload unless spare is set; rows beyond
// the tokens are padding of any content.
func (x *Index) openMerged(m *manifest, spare bool) (bool, error) {
	s := segment{rows: x.Tokens()}
	pass := func(err error) error { return err }
	if spare { // a cache, which can be made again
		pass = x.derivable
	}
	for _, part := range []struct {
		name, kinds string
		rank        int
		into        **tensor
	}{{"merged_codes.npy", "i", 1, &s.codes}, {"merged_residuals.npy", "u", 2, &s.residuals}, {"merged_inv_norms.npy", "f", 1, &s.norms}} {
		if err := x.optional(part.name, func() error {
			t, err := x.array(part.name, part.kinds, part.rank)
			if err == nil {
				*part.into = t
			}
			return pass(err)
		}); err != nil {
			return false, err
		}
	}
	if spare {
		if s.codes != nil || s.residuals != nil || s.norms != nil {
			x.spare, x.stale = &s, m != nil && m.compare(x.chunks) != nil
		}
		return false, nil
	}
	if s.codes == nil || s.residuals == nil {
		return false, nil
	}
	if err := x.payload(s.codes, s.residuals, x.Tokens(), false); err != nil {
		return false, err
	}
	if s.norms != nil && s.norms.rows() < x.Tokens() {
		return false, corrupt(s.norms.path, "%d rows, document lengths sum to %d", s.norms.rows(), x.Tokens())
	}
	x.segments, x.hasNorms = []segment{s}, s.norms != nil
	if m == nil {
		x.unmerged = errors.New("there is no manifest")
	} else if x.unmerged = m.compare(x.chunks); x.unmerged != nil {
		x.miscounted(x.path("merged_codes.manifest.json"), "%v", x.unmerged)
	}
	return true, nil
}

func (x *Index) openLists() error {
	switch have := [2]bool{x.exists("ivf.npy"), x.exists("ivf_lengths.npy")}; have {
	case [2]bool{true, true}:
	case [2]bool{}:
		return nil // compress_only
	default:
		return x.derivable(&Error{File: x.dir, Byte: -1, Element: -1,
			Err: because(ErrMissing, "%s", []string{"ivf.npy", "ivf_lengths.npy"}[btoi(have[0])])})
	}
	ids, err := x.array("ivf.npy", "i", 1)
	if err != nil {
		return x.derivable(err)
	}
	lengths, err := x.array("ivf_lengths.npy", "i", 1)
	if err != nil {
		return x.derivable(err)
	}
	return x.derivable(x.setLists(ids, lengths))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// openChunkMetadata compares {i}.metadata.json with the arrays.
func (x *Index) openChunkMetadata() error {
	for i, c := range x.chunks {
		name := strconv.Itoa(i) + ".metadata.json"
		if err := x.derivable(x.optional(name, func() error {
			o, err := readObject(x.dir, name)
			if err != nil {
				return err
			}
			return errors.Join(x.compareCount(o, "num_documents", int64(c.documents)),
				x.compareCount(o, "num_passages", int64(c.documents)), x.compareCount(o, "passage_offset", int64(c.first)),
				x.compareCount(o, "num_embeddings", c.tokens), x.compareCount(o, "embedding_offset", c.token))
		})); err != nil {
			return err
		}
	}
	return nil
}

// compareCounts compares metadata.json with the arrays. fast-plaid's num_partitions is an
// estimate, which is no count of anything.
func (x *Index) compareCounts() error {
	err := errors.Join(x.compareCount(x.meta, "num_documents", int64(x.Documents())),
		x.compareCount(x.meta, "num_embeddings", x.Tokens()))
	if x.flavour == NextPlaid {
		err = errors.Join(err, x.compareCount(x.meta, "num_partitions", int64(x.k)), x.compareCount(x.meta, "embedding_dim", int64(x.dim)))
	}
	if err == nil {
		x.compareAverage()
	}
	return err
}

// manifest says how many rows of each chunk the merged files hold.
type manifest struct {
	rows     map[string]int64
	modified map[string]float64 // seconds since 1970 of the chunk file, where the manifest says it
	claim    bool               // fast-plaid 1.7: the merged files are the truth
}

func (m *manifest) merged() bool { return m != nil && m.claim }

// readManifest reads either form: chunk names at the top (fast-plaid) or below "chunks"
// (next-plaid). Absent gives nil.
func readManifest(dir, name string) (*manifest, error) {
	o, err := readObject(dir, name)
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseManifest(o)
}

func parseManifest(o *object) (*manifest, error) {
	if inner, err := o.child("chunks"); err != nil {
		return nil, err
	} else if inner != nil {
		o = inner
	}
	m := &manifest{rows: map[string]int64{}, modified: map[string]float64{}}
	for _, name := range o.names() {
		entry, err := o.child(name)
		if err != nil || entry == nil {
			return nil, corrupt(o.path, "%q is no JSON object", name)
		}
		rows, err := entry.count("rows")
		if err != nil {
			return nil, err
		}
		claim, err := entry.flag("merged")
		if err != nil {
			return nil, err
		}
		m.rows[name], m.claim = rows, m.claim || claim
		if v, err := strconv.ParseFloat(string(entry.keys["mtime"]), 64); err == nil {
			m.modified[name] = v
		}
	}
	return m, nil
}

// compare says which chunk has other rows than its document lengths sum to.
func (m *manifest) compare(chunks []chunk) error {
	for i, c := range chunks {
		name := strconv.Itoa(i) + ".codes.npy"
		if rows, ok := m.rows[name]; !ok || rows != c.tokens {
			return fmt.Errorf("rows of %s are %d, document lengths sum to %d", name, rows, c.tokens)
		}
	}
	return nil
}

// plausible is the second, since 1970, from which on a time of a file means something: some
// archives and file systems know no times, and give 1970 or 1980.
const plausible = 946684800 // 2000

// older reports a copy that was made of the chunk file before it was written again, which is
// fast-plaid's own rule: the times differ. Where the merged files claim to be the truth, only
// a later chunk file is another. Files that lost the parts of their second are not another.
func (m *manifest) older(chunk *tensor) bool {
	if m == nil {
		return false
	}
	was, ok := m.modified[filepath.Base(chunk.path)]
	is := float64(chunk.modified.UnixNano()) / 1e9
	if !ok || was < plausible || is < plausible {
		return false
	}
	limit := 1e-5 // float64 has 2.4e-7 left of a second
	if chunk.modified.Nanosecond() == 0 {
		limit = 2
	}
	return is-was > limit || was-is > limit && !m.claim
}

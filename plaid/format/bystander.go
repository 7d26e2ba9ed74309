package format

import (
	"encoding/binary"
	"io"
	"os"
	"regexp"

	"github.com/likbench/likbench/internal/npy"
)

// bystanders are files of other programs' business. They are not used, but a copy of an
// index that has lost the end of one of them is not whole.
var bystanders = map[string]func(x *Index, name string) error{
	"plan.json":                      (*Index).wholeObject,
	"buffer_info.json":               (*Index).wholeObject,
	"merged_inv_norms.manifest.json": (*Index).wholeObject,
	"embeddings_lengths.json":        (*Index).wholeLengths,
	"buffer_lengths.json":            (*Index).wholeLengths,
	"embeddings.npy":                 (*Index).wholeArray,
	"buffer.npy":                     (*Index).wholeArray,
	"average_residual_norm.npy":      (*Index).wholeArray,
	"metadata.db":                    (*Index).wholeDatabase,
}

func (x *Index) openBystanders() error {
	for name, whole := range bystanders {
		if err := x.optional(name, func() error { return whole(x, name) }); err != nil {
			if name == "plan.json" || name == "merged_inv_norms.manifest.json" {
				err = x.derivable(err)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *Index) wholeObject(name string) error {
	_, err := readObject(x.dir, name)
	return err
}

func (x *Index) wholeLengths(name string) error {
	_, err := readLengths(x.dir, name, nil)
	return err
}

// wholeArray checks an array, and walks a pickle to its end without running it.
func (x *Index) wholeArray(name string) error {
	f, err := openFile(x.dir, name)
	if err != nil {
		return err
	}
	defer f.f.Close()
	h, err := npy.ReadHeader(io.NewSectionReader(f.f, 0, f.size))
	if err != nil {
		return fail(f.path, npyError(err))
	}
	if h.DType != npy.Object {
		_, err := arrayOf(f)
		return err
	}
	x.warn(f.path, "pickled Python objects are not read")
	return skim(f, h.Offset)
}

// wholeDatabase compares a database's length with the one its header states: pages of a
// size, big-endian, if the count is marked as current (SQLite file format, §1.3).
func (x *Index) wholeDatabase(name string) error {
	f, err := openFile(x.dir, name)
	if err != nil {
		return err
	}
	x.files = append(x.files, f)
	if info, err := os.Stat(x.path(name + "-wal")); err == nil && info.Size() > 0 {
		x.warn(f.path, "its write-ahead log of %d bytes is not read", info.Size())
	}
	x.database = f
	var h [100]byte
	if err := f.readAt(h[:], 0); err != nil {
		return err
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 1 << 16
	}
	current := [4]byte(h[24:28]) == [4]byte(h[92:96])
	pages := int64(binary.BigEndian.Uint32(h[28:]))
	switch {
	case string(h[:16]) != "SQLite format 3\x00":
		return corrupt(f.path, "no SQLite database")
	case page < 512 || page&(page-1) != 0:
		return corrupt(f.path, "pages of %d bytes", page)
	case f.size%page != 0 || current && f.size != page*pages:
		return corrupt(f.path, "%d bytes, the header says %d pages of %d", f.size, pages, page)
	}
	return nil
}

// leftover matches chunk files; those from num_chunks on are a crashed or shrunk writer's.
var leftover = regexp.MustCompile(`^(?:doclens\.([0-9]+)\.json|([0-9]+)\.(?:codes|residuals|inv_norms|metadata)\.(?:npy|pt|json))$`)

// Leftovers are the chunk files in the folder that belong to no chunk of the index.
func (x *Index) Leftovers() ([]string, error) {
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return nil, fail(x.dir, err)
	}
	var names []string
	for _, e := range entries {
		if m := leftover.FindStringSubmatch(e.Name()); m != nil && !x.owns(m[1]+m[2]) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// owns reports a chunk number, compared as the writers spell it: without leading zeros.
func (x *Index) owns(number string) bool {
	n := 0
	for _, c := range number {
		if n = n*10 + int(c-'0'); n >= len(x.chunks) {
			return false
		}
	}
	return number == "0" || number[0] != '0'
}

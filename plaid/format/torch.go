package format

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxPickle bounds the pickle of a torch file, whose tensors lie outside it.
const maxPickle = 1 << 20

// torchFile is an open torch file of one tensor, or of a tuple or list of tensors.
type torchFile struct {
	*file
	tensors []*tensor
	entries []*zip.File
}

// openTorch opens a .pt file in the zip form that torch writes since 1.6. Tensors are found
// through the directory at the end of the file, never at a guessed position; compressed
// entries, which torch does not write, are refused, so nothing can expand.
func openTorch(dir, name string) (*torchFile, error) {
	f, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	t, err := torchOf(f)
	if err != nil {
		return nil, errors.Join(fail(f.path, err), f.f.Close())
	}
	return t, nil
}

func torchOf(f *file) (*torchFile, error) {
	var magic [4]byte
	if f.size >= int64(len(magic)) {
		if err := f.readAt(magic[:], 0); err != nil {
			return nil, err
		}
	}
	if magic[0] == 0x80 && magic[2] == 0x8a { // PROTO, then the old format's magic number as LONG1
		return nil, because(ErrUnsupported, "written by torch before 1.6")
	}
	r, err := zip.NewReader(f.f, f.size)
	if err != nil {
		return nil, because(ErrCorrupt, "%v", err)
	}
	entries := map[string]*zip.File{}
	var pickle *zip.File
	for _, e := range r.File {
		if entries[e.Name] != nil {
			return nil, because(ErrCorrupt, "entry %.80q occurs twice", e.Name)
		}
		entries[e.Name] = e
		if strings.HasSuffix(e.Name, "/data.pkl") && strings.Count(e.Name, "/") == 1 {
			if pickle != nil {
				return nil, because(ErrCorrupt, "entries %.80q and %.80q", pickle.Name, e.Name)
			}
			pickle = e
		}
	}
	if pickle == nil {
		return nil, because(ErrCorrupt, "no data.pkl in a zip file of %d entries", len(r.File))
	}
	root := strings.TrimSuffix(pickle.Name, "data.pkl")
	if order := entries[root+"byteorder"]; order != nil {
		if text, err := entryText(f, order, 16); err != nil || string(text) != "little" {
			return nil, because(ErrUnsupported, "byte order %.16q %v", text, err)
		}
	}
	text, err := entryText(f, pickle, maxPickle)
	if err != nil {
		return nil, err
	}
	v, at, err := unpickle(text)
	if err != nil {
		return nil, fmt.Errorf("byte %d of %s: %w", at, pickle.Name, err)
	}
	t := &torchFile{file: f, entries: r.File}
	for _, item := range flatten(v) {
		p, ok := item.(*pickled)
		if !ok {
			return nil, because(ErrCorrupt, "%T among the tensors of %s", item, pickle.Name)
		}
		dense, err := p.locate(f, entries[root+"data/"+p.storage.key])
		if err != nil {
			return nil, err
		}
		t.tensors = append(t.tensors, dense)
	}
	return t, nil
}

func flatten(v any) []any {
	switch v := v.(type) {
	case tuple:
		return v
	case *list:
		return v.items
	}
	return []any{v}
}

// locate finds the tensor's elements in the file.
func (p *pickled) locate(f *file, e *zip.File) (*tensor, error) {
	if e == nil {
		return nil, because(ErrCorrupt, "no entry for storage %.40q", p.storage.key)
	}
	at, err := entryAt(f, e)
	if err != nil {
		return nil, err
	}
	item := int64(itemSize[p.storage.dtype])
	if uint64(p.storage.n) > e.UncompressedSize64/uint64(item) || uint64(p.storage.n*item) != e.UncompressedSize64 {
		return nil, because(ErrCorrupt, "entry %s of %d bytes, storage of %d elements of %s", e.Name, e.UncompressedSize64, p.storage.n, p.storage.dtype)
	}
	return &tensor{file: f, dtype: p.storage.dtype, shape: p.shape, at: at + p.offset*item}, nil
}

// entryAt is the position of an entry's content, all of which is inside the file.
func entryAt(f *file, e *zip.File) (int64, error) {
	if e.Method != zip.Store || e.CompressedSize64 != e.UncompressedSize64 {
		return 0, because(ErrUnsupported, "entry %.80q is compressed by method %d", e.Name, e.Method)
	}
	at, err := e.DataOffset()
	if err != nil {
		return 0, because(ErrCorrupt, "entry %.80q: %v", e.Name, err)
	}
	if at < 0 || at > f.size || e.UncompressedSize64 > uint64(f.size-at) {
		return 0, because(ErrCorrupt, "entry %.80q of %d bytes at %d of %d", e.Name, e.UncompressedSize64, at, f.size)
	}
	return at, nil
}

// entryText reads an entry of at most limit bytes and checks its sum.
func entryText(f *file, e *zip.File, limit uint64) ([]byte, error) {
	if e.UncompressedSize64 > limit {
		return nil, because(ErrCorrupt, "entry %.80q of %d bytes, limit %d", e.Name, e.UncompressedSize64, limit)
	}
	if _, err := entryAt(f, e); err != nil {
		return nil, err
	}
	r, err := e.Open()
	if err != nil {
		return nil, because(ErrCorrupt, "entry %.80q: %v", e.Name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, because(ErrCorrupt, "entry %.80q: %v", e.Name, err)
	}
	return text, nil
}

// verify reads every entry and compares its sum.
func (t *torchFile) verify() error {
	for _, e := range t.entries {
		r, err := e.Open()
		if err != nil {
			return corrupt(t.path, "entry %.80q: %v", e.Name, err)
		}
		_, err = io.Copy(io.Discard, r)
		if err = errors.Join(err, r.Close()); err != nil {
			return corrupt(t.path, "entry %.80q: %v", e.Name, err)
		}
	}
	return nil
}

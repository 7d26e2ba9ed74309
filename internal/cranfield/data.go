package cranfield

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

//go:generate go run ./gen data

//go:embed data/*.gz
var embedded embed.FS

// Source is one raw file and the SHA-256 of its bytes.
type Source struct{ Name, SHA256 string }

// Sources are the raw files that are embedded, compressed.
var Sources = []Source{
	{documentsFile, "b234544b6ceccd131520df4a3cb6d42aee6576eb577933d047e722bbfe7b0b09"},
	{queriesFile, "99578ceb88941ef89c14faf7c63c23776a376d8fba319b990f01d0c601d8b03f"},
	{judgementsFile, "92e54b58dac0b980152178f350d892fae66c8a239b8a11715b835fb8d2f6bc0e"},
	{vocabularyFile, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
	{tableFile, "d9bddc3a0fff06ef97add0c839190dd46d28e9993fb9c9ad6119504a9ba5b478"},
	{weightsFile, "2247a57b864a7da87af6d3bb363b7035bdad3655201040dd339b82627ac5d62d"},
}

const (
	documentsFile  = "cran.all.1400"
	queriesFile    = "cran.qry"
	judgementsFile = "cranqrel"
	vocabularyFile = "vocab.txt"
	tableFile      = "table-64.int8.npy"
	weightsFile    = "weights.f32.npy"
)

// ErrCorrupt is wrapped by the [DataError] of a file whose bytes are not the ones
// that were embedded.
var ErrCorrupt = errors.New("corrupt")

// DataError says which embedded file cannot be used, and why. It wraps ErrCorrupt
// unless the file is absent.
type DataError struct {
	File   string
	Reason string
	Err    error
}

func (e *DataError) Error() string {
	return fmt.Sprintf("cranfield: embedded %s: %v: %s", e.File, e.Err, e.Reason)
}

func (e *DataError) Unwrap() error { return e.Err }

// Raw returns the bytes of the named source, uncompressed and verified.
func Raw(name string) ([]byte, error) { return read(embedded, name) }

// read returns the raw bytes of the named source, verified, from data/<name>.gz.
func read(files fs.FS, name string) ([]byte, error) {
	packed, err := fs.ReadFile(files, "data/"+name+".gz")
	if err != nil {
		return nil, &DataError{File: name, Reason: "not in the binary", Err: err}
	}
	raw, err := unpack(packed)
	if err != nil {
		return nil, &DataError{File: name, Reason: err.Error(), Err: ErrCorrupt}
	}
	if err := Verify(name, raw); err != nil {
		return nil, err
	}
	return raw, nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Verify compares the hash of raw bytes with the one in [Sources].
func Verify(name string, raw []byte) error {
	for _, s := range Sources {
		if s.Name != name {
			continue
		}
		sum := sha256.Sum256(raw)
		if got := hex.EncodeToString(sum[:]); got != s.SHA256 {
			return &DataError{File: name, Err: ErrCorrupt,
				Reason: fmt.Sprintf("%d bytes with sha-256 %s, want %s", len(raw), got, s.SHA256)}
		}
		return nil
	}
	return &DataError{File: name, Reason: "no such source", Err: fs.ErrNotExist}
}

// Pack compresses raw bytes for embedding. Equal input gives equal bytes: the
// header holds neither name nor time.
func Pack(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("cranfield: pack: %w", err)
	}
	if _, err := w.Write(raw); err != nil {
		return nil, fmt.Errorf("cranfield: pack: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cranfield: pack: %w", err)
	}
	return b.Bytes(), nil
}

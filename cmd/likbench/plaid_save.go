package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/likbench/likbench/internal/npy"
	"github.com/likbench/likbench/plaid"
	"github.com/likbench/likbench/plaid/build"
)

// saver keeps what a benchmark ran on, so that another tool can be measured on the same data.
// A nil one keeps nothing.
type saver struct{ dir string }

// newSaver makes the folder; no name keeps nothing.
func newSaver(dir, corpus string) (*saver, error) {
	if dir == "" {
		return nil, nil
	}
	s := &saver{filepath.Join(dir, corpus)}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return nil, fmt.Errorf("--save: %w", err)
	}
	return s, nil
}

// corpus writes token vectors and offsets of documents and queries.
func (s *saver) corpus(docs *build.Arrays, queries *tokens) error {
	if s == nil {
		return nil
	}
	rows := func(vectors []float32, d int) []int { return []int{len(vectors) / d, d} }
	return errors.Join(
		saveArray(s, "documents", "f4", docs.Vectors, rows(docs.Vectors, docs.Components)...),
		saveArray(s, "document_offsets", "i8", docs.Offsets, len(docs.Offsets)),
		saveArray(s, "queries", "f4", queries.vectors, rows(queries.vectors, queries.dim)...),
		saveArray(s, "query_offsets", "i8", queries.offsets, len(queries.offsets)))
}

// hits writes the ids of results, a row each query, −1 where a query has fewer.
func (s *saver) hits(way string, hits [][]plaid.Hit) error {
	if s == nil {
		return nil
	}
	ids := make([]int64, 0, len(hits)*top)
	for _, row := range hits {
		for i := range top {
			id := int64(-1)
			if i < len(row) {
				id = row[i].ID
			}
			ids = append(ids, id)
		}
	}
	return saveArray(s, "hits-"+way, "i8", ids, len(hits), top)
}

// saveArray writes one array as NumPy does.
func saveArray[T any](s *saver, name, dtype string, data []T, shape ...int) (err error) {
	head, err := npy.AppendHeader(nil, npy.NumPy, dtype, shape...)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(s.dir, name+".npy"))
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.Write(head); err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), 1<<16)
		if err := binary.Write(w, binary.LittleEndian, data[:n]); err != nil {
			return fmt.Errorf("--save: %w", err)
		}
		data = data[n:]
	}
	return w.Flush()
}

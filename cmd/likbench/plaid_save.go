package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// corpus writes token vectors and offsets of documents and queries: all of them or none.
func (s *saver) corpus(ctx context.Context, docs *build.Arrays, queries *tokens) error {
	if s == nil {
		return nil
	}
	rows := func(vectors []float32, d int) []int { return []int{len(vectors) / d, d} }
	return s.whole(
		arrayFile(ctx, "documents", "f4", docs.Vectors, rows(docs.Vectors, docs.Components)...),
		arrayFile(ctx, "document_offsets", "i8", docs.Offsets, len(docs.Offsets)),
		arrayFile(ctx, "queries", "f4", queries.vectors, rows(queries.vectors, queries.dim)...),
		arrayFile(ctx, "query_offsets", "i8", queries.offsets, len(queries.offsets)))
}

// hits writes the ids of results, a row each query, −1 where a query has fewer.
func (s *saver) hits(ctx context.Context, way string, hits [][]plaid.Hit) error {
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
	return s.whole(arrayFile(ctx, "hits-"+way, "i8", ids, len(hits), top))
}

// namedFile is a file to be written.
type namedFile struct {
	name  string
	write func(w io.Writer) error
}

// partial ends the name of a file that is being written.
const partial = ".part"

// whole writes files under other names and gives them their own when all are complete. It
// leaves none behind when one fails.
func (s *saver) whole(files ...namedFile) (err error) {
	var done []string
	defer func() {
		if err == nil {
			return
		}
		err = fmt.Errorf("--save: %w", err)
		for _, path := range done {
			err = errors.Join(err, os.Remove(path+partial))
		}
	}()
	for _, f := range files {
		path := filepath.Join(s.dir, f.name)
		out, err := os.Create(path + partial)
		if err != nil {
			return err
		}
		done = append(done, path)
		if err := errors.Join(f.write(out), out.Close()); err != nil {
			return err
		}
	}
	for len(done) > 0 {
		if err := os.Rename(done[0]+partial, done[0]); err != nil {
			return err
		}
		done = done[1:]
	}
	return nil
}

// arrayFile is one array as NumPy writes it, until ctx ends.
func arrayFile[T any](ctx context.Context, name, dtype string, data []T, shape ...int) namedFile {
	return namedFile{name + ".npy", func(out io.Writer) error {
		head, err := npy.AppendHeader(nil, npy.NumPy, dtype, shape...)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(out, 1<<20)
		if _, err := w.Write(head); err != nil {
			return err
		}
		for rest := data; len(rest) > 0; {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(len(rest), 1<<16)
			if err := binary.Write(w, binary.LittleEndian, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return w.Flush()
	}}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
)

// ownIndex reports whether a folder holds an index of this program, readable or not.
func ownIndex(dir string) (bool, error) {
	s, err := store.Open(dir)
	if err == nil {
		return true, s.Close()
	}
	return !errors.Is(err, store.ErrNoIndex), nil
}

// foreign says more of a failure to change an index of another program.
func foreign(dir string, err error) error {
	if !errors.Is(err, store.ErrNoIndex) {
		return err
	}
	if _, statErr := os.Stat(filepath.Join(dir, "metadata.json")); statErr != nil {
		return err
	}
	return fmt.Errorf("%w of this program: convert %s by --to likbench, and change what that writes", err, dir)
}

func fsckStore(dir string, repair bool) (found []finding, warnings []string, err error) {
	do := store.Check
	if repair {
		do = store.Repair
	}
	r, err := do(dir)
	if r == nil {
		return nil, nil, err
	}
	for _, p := range r.Problems {
		found = append(found, finding{p.String(), p.Repairable})
	}
	for _, name := range r.Leftovers {
		warnings = append(warnings, "left over by a writer that was killed: "+name)
	}
	return found, warnings, err
}

// importIndex makes an index of this program of one in any layout.
func importIndex(w io.Writer, dir string, src format.Source) error {
	src, err := live(src)
	if err != nil {
		return err
	}
	if err := store.Import(dir, src, store.Options{}); err != nil {
		return err
	}
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d documents, %d tokens, %s\n", s.Documents(), s.Tokens(), backend.FormatBytes(s.Bytes()))
	return errors.Join(err, s.Close())
}

func addCommand() *cobra.Command {
	var in inputFlags
	var o build.AddOptions
	cmd := &cobra.Command{
		Use:   "add DIR",
		Short: "Add documents to an index, with the centroids it has",
		Long:  "Appends documents as one generation: all of them or none. It says when the index has drifted so far from its centroids that it should be built anew.",
		Args:  dirs("DIR"),
	}
	name := backendFlag(cmd)
	in.add(cmd, "documents")
	cmd.Flags().BoolVar(&o.Normalize, "normalize", false, "normalise tokens first, as when the index was built")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		t, err := in.open()
		if err != nil {
			return err
		}
		return withDevice(c, *name, func(ctx context.Context, dev backend.Device) error {
			bar := newProgress(c.ErrOrStderr())
			defer bar.close()
			o.Progress = buildProgress(bar)
			return addTo(ctx, c, dev, args[0], t, o, bar)
		})
	}
	return cmd
}

func addTo(ctx context.Context, c *cobra.Command, dev backend.Device, dir string, t build.Collection, o build.AddOptions, bar *progress) error {
	start := time.Now()
	stats, drift, err := build.Add(ctx, dev, dir, t, o)
	if err != nil {
		return wrapped(foreign(dir, err))
	}
	bar.close()
	w := c.OutOrStdout()
	fmt.Fprintf(w, "%d documents (%d empty), %d tokens added in %.2f s; %.1f %% of them are far from every centroid\n",
		stats.Documents, stats.Empty, stats.Tokens, time.Since(start).Seconds(), 100*drift.Share())
	for _, warning := range stats.Warnings() {
		fmt.Fprintln(w, "  warning:", warning)
	}
	if advice := drift.Advice(); advice != "" {
		fmt.Fprintln(w, "  advice:", advice)
	}
	return nil
}

func compactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compact DIR",
		Short: "Rewrite an index without its deleted documents",
		Long:  "Writes a new generation without deleted documents and with one file of inverted lists. Ids stay; readers keep what they have open.",
		Args:  dirs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			generation, err := store.Compact(args[0])
			if err != nil {
				return foreign(args[0], err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "generation %d\n", generation)
			return err
		},
	}
}

func mergeCommand() *cobra.Command {
	var reencode bool
	cmd := &cobra.Command{
		Use:   "merge DST SRC...",
		Short: "Make one index of several",
		Long: `Makes an index in DST of the live documents of the others, in order. Codes are carried over where
the centroids and tables are the same. With --reencode, documents of an index that differs from
the first are decoded and encoded again with the first one's centroids, which loses precision.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 3 {
				return usage("%s takes DST and at least two sources", c.CommandPath())
			}
			return nil
		},
	}
	name := backendFlag(cmd)
	cmd.Flags().BoolVar(&reencode, "reencode", false, "encode documents of indexes with other centroids again")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("backend") && !reencode {
			return usage("--backend is about --reencode: nothing else of merge is computed")
		}
		shifts, err := store.Merge(args[0], args[1:]...)
		if errors.Is(err, store.ErrCodec) && reencode {
			return withDevice(c, *name, func(ctx context.Context, dev backend.Device) error { return mergeAnew(ctx, c, dev, args[0], args[1:]) })
		}
		if err != nil {
			for _, dir := range args[1:] {
				if own, ownErr := ownIndex(dir); ownErr == nil && !own {
					return foreign(dir, err)
				}
			}
			return err
		}
		for i, s := range shifts {
			if _, err := fmt.Fprintf(c.OutOrStdout(), "%s: ids moved by %d\n", args[i+1], s); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// mergeAnew takes the first source over and encodes the documents of the others. A folder
// that it made is removed after a failure; in one that was there the index stays, of the
// sources that were done.
func mergeAnew(ctx context.Context, c *cobra.Command, dev backend.Device, dst string, sources []string) (err error) {
	_, statErr := os.Stat(dst)
	if _, err := store.Merge(dst, sources[0]); err != nil {
		return err
	}
	defer func() {
		if err != nil && errors.Is(statErr, os.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(dst))
		}
	}()
	for _, dir := range sources[1:] {
		if err := addDecoded(ctx, c, dev, dst, dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

func addDecoded(ctx context.Context, c *cobra.Command, dev backend.Device, dst, dir string) (err error) {
	src, closer, err := openIndex(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if src, err = live(src); err != nil {
		return err
	}
	d, err := decode(src)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.OutOrStdout(), "%s: other centroids, documents are decoded and encoded again\n", dir); err != nil {
		return err
	}
	bar := newProgress(c.ErrOrStderr())
	defer bar.close()
	return addTo(ctx, c, dev, dst, d, build.AddOptions{Progress: buildProgress(bar)}, bar)
}

// decoded is the documents of an index as vectors. Offsets and centroids are its own: those
// of the index may be mappings of files, which others may cut short.
type decoded struct {
	src     format.Source
	offsets []int64
	dec     *codec.Decoder
}

func decode(src format.Source) (*decoded, error) {
	d := &decoded{src: src}
	err := format.Guard(src, func() (err error) {
		if d.offsets = slices.Clone(src.Offsets()); !slices.IsSorted(d.offsets) {
			return fmt.Errorf("offsets of documents descend: %w", store.ErrCorrupt)
		}
		d.dec, err = codec.NewDecoder(slices.Clone(src.Centroids()), src.Dim(), src.Bits(), src.Weights())
		return err
	})
	return d, err
}

// Dim implements build.Collection.
func (d *decoded) Dim() int { return d.src.Dim() }

// Documents implements build.Collection.
func (d *decoded) Documents() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		for i := 1; i < len(d.offsets); i++ {
			doc, err := d.document(d.offsets[i-1], d.offsets[i])
			if !yield(doc, err) || err != nil {
				return
			}
		}
	}
}

func (d *decoded) document(from, to int64) ([]float32, error) {
	dim := d.src.Dim()
	row := dim * d.src.Bits() / 8
	n := int(to - from)
	codes, rest, out := make([]int32, n), make([]byte, n*row), make([]float32, n*dim)
	if err := errors.Join(d.src.ReadCodes(codes, from), d.src.ReadResiduals(rest, from)); err != nil {
		return nil, err
	}
	for t, c := range codes {
		if err := d.dec.Token(out[t*dim:(t+1)*dim], int64(c), rest[t*row:(t+1)*row]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
)

func statCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stat DIR",
		Short: "Describe an index of any layout",
		Args:  dirs("DIR"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			src, closer, err := openIndex(args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closer.Close()) }()
			return format.Guard(src, func() error { return printStat(c.OutOrStdout(), src) })
		},
	}
}

func printStat(w io.Writer, src format.Source) error {
	offsets := src.Offsets()
	n, tokens, empty, longest := int64(len(offsets)-1), offsets[len(offsets)-1], int64(0), int64(0)
	for i := range n {
		l := offsets[i+1] - offsets[i]
		longest = max(longest, l)
		if l == 0 {
			empty++
		}
	}
	switch x := src.(type) {
	case *store.Snapshot:
		fmt.Fprintf(w, "layout       likbench, generation %d, %d runs of documents\n", x.Generation(), x.Segments())
		fmt.Fprintf(w, "size         %s\n", backend.FormatBytes(x.Bytes()))
		fmt.Fprintf(w, "documents    %d: %d live, %d deleted, %d without tokens; next id %d\n", n, x.Live(), n-int64(x.Live()), empty, x.NextID())
	case *format.Index:
		frozen := ""
		if x.Frozen() {
			frozen = ", frozen"
		}
		fmt.Fprintf(w, "layout       %v%s\n", x.Flavour(), frozen)
		fmt.Fprintf(w, "size         %s\n", backend.FormatBytes(x.Bytes()))
		fmt.Fprintf(w, "documents    %d: %d without tokens\n", n, empty)
	}
	mean := 0.0
	if n > empty {
		mean = float64(tokens) / float64(n-empty)
	}
	fmt.Fprintf(w, "tokens       %d: %.1f a document, at most %d\n", tokens, mean, longest)
	fmt.Fprintf(w, "codec        %d centroids of %d components, %d bits\n", src.K(), src.Dim(), src.Bits())
	if t := src.ClusterThreshold(); t > 0 {
		fmt.Fprintf(w, "threshold    %.4f, the norm beyond which residuals are long\n", t)
	}
	if err := printCells(w, src); err != nil {
		return err
	}
	if x, ok := src.(*format.Index); ok {
		for _, warning := range x.Warnings() {
			fmt.Fprintf(w, "warning      %v\n", warning)
		}
	}
	return nil
}

// printCells says how tokens spread over centroids.
func printCells(w io.Writer, src format.Source) error {
	offsets := src.Offsets()
	tokens, count := offsets[len(offsets)-1], make([]int64, src.K())
	codes := make([]int32, min(tokens, 1<<16))
	for at := int64(0); at < tokens; at += int64(len(codes)) {
		codes = codes[:min(int64(len(codes)), tokens-at)]
		if err := src.ReadCodes(codes, at); err != nil {
			return err
		}
		for _, c := range codes {
			count[c]++
		}
	}
	if len(count) == 0 {
		return nil
	}
	slices.Sort(count)
	unused, _ := slices.BinarySearch(count, 1)
	_, err := fmt.Fprintf(w, "cells        tokens of a cell: median %d, 95 %% at most %d, largest %d; %d unused\n",
		count[len(count)/2], count[len(count)*95/100], count[len(count)-1], unused)
	return err
}

// finding is a problem of any layout.
type finding struct {
	text       string
	repairable bool
}

func fsckCommand() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "fsck DIR",
		Short: "Check every file of an index, and repair what is derivable",
		Long: `Reads every file of an index in full and compares what follows from codes, residuals and document
lengths with what is stored. It names the file and the first offending element. --repair makes again
what is missing or malformed and follows from the rest; where whole files contradict each other,
either may be wrong, and nothing is changed.`,
		Args: dirs("DIR"),
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "rebuild what can be derived")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		found, warnings, err := fsck(args[0], repair)
		if err != nil {
			return err
		}
		w := c.OutOrStdout()
		for _, text := range warnings {
			fmt.Fprintln(w, "warning:", text)
		}
		left := 0
		for _, p := range found {
			switch {
			case repair && p.repairable:
				fmt.Fprintln(w, "repaired:", p.text)
				continue
			case p.repairable:
				fmt.Fprintln(w, "problem (repairable):", p.text)
			default:
				fmt.Fprintln(w, "problem:", p.text)
			}
			left++
		}
		if left > 0 {
			return fmt.Errorf("%s: %d problems", args[0], left)
		}
		if len(found) == 0 {
			fmt.Fprintln(w, "clean")
		}
		return nil
	}
	return cmd
}

// fsck checks a folder of any layout.
func fsck(dir string, repair bool) (found []finding, warnings []string, err error) {
	if own, err := ownIndex(dir); err != nil {
		return nil, nil, err
	} else if own {
		return fsckStore(dir, repair)
	}
	do := format.Check
	if repair {
		do = format.Repair
	}
	r, err := do(dir)
	if r == nil {
		return nil, nil, err
	}
	for _, p := range r.Problems {
		found = append(found, finding{p.String(), p.Repairable})
	}
	for _, x := range r.Warnings {
		warnings = append(warnings, x.Error())
	}
	for _, name := range r.Leftovers {
		warnings = append(warnings, "left over by an earlier writer: "+name)
	}
	return found, warnings, err
}

// layouts are what convert writes.
const layouts = "fastplaid14, fastplaid17, nextplaid, colbertv2 or likbench"

func convertCommand() *cobra.Command {
	var to string
	var o format.WriteOptions
	cmd := &cobra.Command{
		Use:   "convert SRC DST",
		Short: "Write an index in the layout of another program",
		Long: `Writes the index in SRC to the folder DST. Codes and residual bytes are carried over as they are.
Documents that are deleted are left out, and the others move up.`,
		Args: dirs("SRC", "DST"),
	}
	cmd.Flags().StringVar(&to, "to", "", layouts)
	cmd.Flags().IntVar(&o.ChunkDocuments, "chunk", 0, "documents of a chunk; default the layout's")
	cmd.Flags().BoolVar(&o.Tch, "tch", false, "spell .npy headers as fast-plaid's Rust side does")
	cmd.RunE = func(c *cobra.Command, args []string) (err error) {
		if o.ChunkDocuments < 0 {
			return usage("--chunk %d", o.ChunkDocuments)
		}
		if err := unusedOf(to, &o); err != nil {
			return err
		}
		src, closer, err := openIndex(args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closer.Close()) }()
		if to == "likbench" {
			return importIndex(c.OutOrStdout(), args[1], src)
		}
		flavour, err := format.ParseFlavour(to)
		if err != nil {
			return usage("--to %q: want %s", to, layouts)
		}
		if src, err = live(src); err != nil {
			return err
		}
		var written *format.Written
		err = format.Guard(src, func() (err error) { written, err = format.Write(args[1], flavour, src, o); return err })
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%d files, %s\n", len(written.Files), backend.FormatBytes(written.Bytes))
		if len(written.Rounded) > 0 {
			fmt.Fprintf(c.OutOrStdout(), "rounded to half precision, as the layout keeps it: %s\n", strings.Join(written.Rounded, ", "))
		}
		return err
	}
	return cmd
}

// unusedOf refuses options that a layout has no use for.
func unusedOf(layout string, o *format.WriteOptions) error {
	switch {
	case o.ChunkDocuments > 0 && layout == "likbench":
		return usage("--chunk: layout %s has no chunks", layout)
	case o.Tch && (layout == "likbench" || layout == "colbertv2"):
		return usage("--tch: layout %s has no .npy files", layout)
	}
	return nil
}

func deleteCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "delete DIR [ID...]",
		Short: "Delete documents by id",
		Long:  "Marks documents as deleted in a new generation. Ids of other documents stay. An id that the index does not hold is an error, and nothing is deleted.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || (len(args) == 1) == (file == "") {
				return usage("%s takes DIR and either ids or --ids FILE", c.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "ids", "", "file of ids, one a line; - is standard input")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		var ids []int64
		var err error
		if file != "" {
			ids, err = readIDs(file)
		} else {
			ids, err = parseIDs(args[1:])
		}
		if err != nil {
			return err
		}
		return change(c.OutOrStdout(), args[0], func(w *store.Writer) error { return w.Delete(ids) })
	}
	return cmd
}

// change commits one generation.
func change(out io.Writer, dir string, do func(*store.Writer) error) (err error) {
	w, err := store.OpenWriter(dir)
	if err != nil {
		return foreign(dir, err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := do(w); err != nil {
		return err
	}
	generation, err := w.Commit()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "generation %d\n", generation)
	return err
}

// live is an index without its deleted documents.
func live(src format.Source) (format.Source, error) {
	if s, ok := src.(*store.Snapshot); ok {
		return s.Compacted()
	}
	return src, nil
}

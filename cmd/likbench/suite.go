package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/benchsuite"
)

// suite is the default run: choose, measure, score the collection, report.
func suite(ctx context.Context, o *options, stdout, stderr io.Writer) (err error) {
	start := time.Now()
	lines := stdout
	if o.json {
		lines = stderr
	}
	dev, decisions, err := openBackend(o.backend, lines)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	items, err := benchsuite.Plan(dev.Backend(), o.selection)
	if err != nil {
		return &usageError{err}
	}
	if o.list {
		return list(stdout, o, dev.Info(), items)
	}
	if err := runnable(o, dev.Info(), items); err != nil {
		return err
	}
	out, err := newOutput(o.outdir)
	if err != nil {
		return err
	}
	report := benchsuite.NewReport(dev, decisions, o.args)
	bar := newProgress(stderr)
	defer bar.close()
	above := bar.above(stdout)
	cfg := benchsuite.Config{Device: dev, Selection: o.selection, Progress: bar.update}
	rows := &table{w: above, report: report}
	if !o.json {
		cfg.Row = rows.row
	}
	if o.collection() {
		bar.update(0, 1, "collection")
		if report.Collection, err = collection(ctx, dev, o.selection.Quick); err != nil {
			return err
		}
		if !o.json {
			printCollection(above, report.Collection)
		}
	}
	if err := benchsuite.Run(ctx, cfg, report); err != nil {
		return err
	}
	rows.end()
	if o.collection() {
		note := func(stage string) { bar.update(0, 1, stage) }
		if report.Indexes, err = indexes(ctx, dev, o, note); err != nil {
			return err
		}
		if !o.json {
			printIndexes(above, report.Indexes)
		}
	}
	bar.close()
	report.Seconds = time.Since(start).Seconds()
	return finish(o, report, out, stdout)
}

// runnable refuses variants of which none runs on the device: a run of nothing must not look
// like a clean one.
func runnable(o *options, dev backend.Info, items []benchsuite.Item) error {
	if o.selection.Variants == nil {
		return nil
	}
	var missing []string
	for i := range items {
		for _, b := range items[i].Bindings {
			m := dev.Missing(b.Requires)
			if m == "" {
				return nil
			}
			if !slices.Contains(missing, m) {
				missing = append(missing, m)
			}
		}
	}
	return usage("--variants %s: none of what is selected runs on %s, which lacks %s", strings.Join(o.selection.Variants, ","), dev.Name, strings.Join(missing, ", "))
}

// openBackend opens the backend of a name and writes down why it was taken, and why not
// the others.
func openBackend(name string, lines io.Writer) (backend.Device, []backend.Decision, error) {
	dev, decisions, err := backend.Select(name)
	for _, d := range decisions {
		fmt.Fprintln(lines, d)
	}
	if unknown := (*backend.SelectError)(nil); errors.As(err, &unknown) {
		err = &usageError{err}
	}
	return dev, decisions, err
}

func finish(o *options, report *benchsuite.Report, out *output, stdout io.Writer) error {
	written := out.write(report) // before what may find no reader
	if o.json {
		if err := errors.Join(written, report.WriteJSON(stdout)); err != nil { // what was measured is not lost with a disk
			return err
		}
	} else {
		if written != nil {
			return written
		}
		fmt.Fprintf(stdout, "\n%d rows in %.1f s", len(report.Rows), report.Seconds)
		if o.outdir != "" {
			fmt.Fprintf(stdout, "; results.json, results.md and bench.txt are in %s", o.outdir)
		}
		fmt.Fprintln(stdout)
	}
	if x := report.Indexes; x != nil && len(x.Failed) > 0 {
		return fmt.Errorf("indexes of %s: %s", x.Name, strings.Join(x.Failed, "; "))
	}
	if n := report.Failures(); n > 0 {
		return fmt.Errorf("%d of %d rows failed: see their reasons", n, len(report.Rows))
	}
	return nil
}

// list prints the plan: of each case the variants that the device has what it takes for.
func list(w io.Writer, o *options, dev backend.Info, items []benchsuite.Item) error {
	var total time.Duration
	var peak int64
	for i := range items {
		it := &items[i]
		e := it.Estimate(o.selection, items)
		total += e
		peak = max(peak, it.Bytes)
		var names string
		for _, b := range it.Bindings {
			if dev.Missing(b.Requires) != "" {
				continue
			}
			if names != "" {
				names += ","
			}
			names += b.Variant
		}
		if names == "" {
			names = "no variant runs here"
		}
		if _, err := fmt.Fprintf(w, "%-36s %-18s %10s  ~%5.1f s  %s\n", it.Instance.Name, it.Case.Name, backend.FormatBytes(it.Bytes), e.Seconds(), names); err != nil {
			return err
		}
	}
	and := ""
	if o.collection() {
		and = " and the collection with its indexes"
	}
	_, err := fmt.Fprintf(w, "%d cases, about %.0f s%s; largest operands %s, several sets of them rotate\n", len(items), total.Seconds(), and, backend.FormatBytes(peak))
	return err
}

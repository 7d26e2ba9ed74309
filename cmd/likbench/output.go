package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/likbench/likbench/benchsuite"
)

// output writes the result files, each whole or not at all.
type output struct{ dir string }

// newOutput makes the folder and proves that it can be written to, before any time is
// spent on measuring.
func newOutput(dir string) (*output, error) {
	if dir == "" {
		return &output{}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("outdir: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".likbench-*")
	if err != nil {
		return nil, fmt.Errorf("outdir %s cannot be written to: %w", dir, err)
	}
	name := probe.Name()
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("outdir: %w", err)
	}
	return &output{dir}, os.Remove(name)
}

func (o *output) write(r *benchsuite.Report) error {
	if o.dir == "" {
		return nil
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{"results.json", r.WriteJSON}, {"results.md", r.WriteMarkdown}, {"bench.txt", r.WriteBench}} {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := maybe.WriteFile(filepath.Join(o.dir, f.name), b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// table prints rows as they come; variants that the device does not run follow at the end.
type table struct {
	w      io.Writer
	report *benchsuite.Report
	began  bool
	notRun map[string][]string // by reason
}

// unsupportedMark ends the part of an unsupported row's reason that repeats the row.
const unsupportedMark = "unsupported: "

func (t *table) row(r benchsuite.Row) {
	if r.Status == benchsuite.Unsupported {
		if t.notRun == nil {
			t.notRun = map[string][]string{}
		}
		why := r.Reason
		if i := strings.LastIndex(why, unsupportedMark); i >= 0 {
			why = why[i+len(unsupportedMark):]
		}
		t.notRun[why] = append(t.notRun[why], strings.TrimSuffix(r.Kernel+"/"+r.Variant, "/"))
		return
	}
	if !t.began {
		t.began = true
		fmt.Fprintf(t.w, "\nceilings of this run (clock steps of %v):\n", time.Duration(t.report.Clock))
		for _, c := range t.report.Ceilings {
			fmt.Fprintf(t.w, "  %-12s %14s  %s\n", c.Name, c.Text(), c.Note)
		}
		fmt.Fprintf(t.w, "\n%-34s %-16s %-13s %9s %8s %9s %9s %8s %6s %-9s %s\n", "kernel", "case", "variant", "ms", "± iqr", "wall ms", "GFLOP/s", "GB/s", "share", "bound by", "of a plain move")
	}
	mark := " "
	if r.Chosen {
		mark = "*"
	}
	if r.Status != benchsuite.OK {
		fmt.Fprintf(t.w, "%-34s %-16s %-12s%s %s: %s\n", r.Kernel, r.Case, r.Variant, mark, r.Status, r.Reason)
		return
	}
	fmt.Fprintf(t.w, "%-34s %-16s %-12s%s %9s %8s %9s %9.1f %8.1f %5.0f%% %-9s %s\n", r.Kernel, r.Case, r.Variant, mark,
		benchsuite.Milliseconds(r.DeviceNS.Median), benchsuite.Milliseconds(r.DeviceNS.IQR), benchsuite.Milliseconds(r.Wall.Median),
		r.GFLOPS, r.GBS, 100*r.Share, r.BoundBy, ofPlain(&r))
}

func ofPlain(r *benchsuite.Row) string {
	if r.OfPlain == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*r.OfPlain)
}

// end lists what did not run and why.
func (t *table) end() {
	if len(t.notRun) == 0 {
		return
	}
	fmt.Fprintln(t.w, "\nnot run:")
	for _, why := range slices.Sorted(maps.Keys(t.notRun)) {
		fmt.Fprintf(t.w, "  %s: %s\n", why, strings.Join(t.notRun[why], ", "))
	}
}

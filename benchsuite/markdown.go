package benchsuite

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strings"
	"time"
)

// Milliseconds prints nanoseconds with three significant digits.
func Milliseconds(ns float64) string {
	ms := ns / 1e6
	switch {
	case ms <= 0:
		return "–"
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	}
	digits := max(2-int(math.Floor(math.Log10(ms))), 0)
	return fmt.Sprintf("%.*f", min(digits, 6), ms)
}

func percent(x float64) string {
	if x <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}

// WriteMarkdown writes the report as tables for people.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# likbench results\n\n%s, %s/%s, %s, revision %s, started %s, %.1f s.\n\n",
		r.Device.Name, r.OS, r.Arch, r.Go, r.Revision, r.Started.Format("2006-01-02 15:04:05Z"), r.Seconds)
	for _, d := range r.Decisions {
		fmt.Fprintf(&b, "- %s\n", d)
	}
	if r.Cancelled {
		b.WriteString("\n**The run was cancelled: rows are missing.**\n")
	}
	fmt.Fprintf(&b, "\nThe clock was seen to take steps of %v.\n", time.Duration(r.Clock))
	b.WriteString("\n## Ceilings measured in this run\n\n| limit | value | how |\n| --- | --- | --- |\n")
	for _, c := range r.Ceilings {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Name, c.Text(), cell(c.Note))
	}
	if c := r.Collection; c != nil {
		b.WriteString("\n## Collection\n\n")
		c.markdown(&b)
	}
	if x := r.Indexes; x != nil {
		b.WriteString("\n## PLAID indexes\n\n")
		x.markdown(&b)
	}
	b.WriteString("\n## Kernels\n\nTimes in ms: median and interquartile range, launches back to back; wall is one launch with Sync. ")
	b.WriteString("The bound is the larger of operations and compulsory bytes over the ceilings above; a plain move reads and writes the same bytes and computes nothing.\n\n")
	b.WriteString("| kernel | case | variant | ms | ± | wall | GFLOP/s | GB/s | bound | by | share | plain move | of plain | error/limit | peak MB |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Rows {
		r.Rows[i].markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func (r *Row) markdown(b *strings.Builder) {
	mark := ""
	if r.Chosen {
		mark = " ✓"
	}
	if r.Status != OK {
		fmt.Fprintf(b, "| %s | %s | %s%s | %s: %s | | | | | | | | | | | |\n", r.Kernel, r.Case, r.Variant, mark, r.Status, cell(r.Reason))
		return
	}
	shared := ""
	if r.Shared {
		shared = " shared"
	}
	fmt.Fprintf(b, "| %s | %s | %s%s | %s | %s | %s | %.1f | %.1f | %s | %s | %s | %s | %s | %.2f | %.1f%s |\n", r.Kernel, r.Case, r.Variant, mark,
		Milliseconds(r.DeviceNS.Median), Milliseconds(r.DeviceNS.IQR), Milliseconds(r.Wall.Median), r.GFLOPS, r.GBS,
		Milliseconds(r.BoundNS), r.BoundBy, percent(r.Share), Milliseconds(r.PlainNS.Median), percent(r.OfPlain), r.ErrorOf, r.PeakMB, shared)
}

// Text prints the value with a unit prefix.
func (c Ceiling) Text() string {
	if c.Unit == "s" {
		return fmt.Sprintf("%.2f µs", c.Value*1e6)
	}
	v, p := c.Value, ""
	for _, u := range []string{"k", "M", "G", "T", "P"} {
		if v < 1000 {
			break
		}
		v, p = v/1000, u
	}
	return fmt.Sprintf("%.4g %s%s", v, p, c.Unit)
}

func (c *Collection) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %d documents, %d queries, %d document tokens; mode %s, %s, variant %s; %.0f queries/s, %.3g document tokens/s.\n\n",
		c.Name, c.Documents, c.Queries, c.Tokens, c.Mode, c.DType, c.Variant, c.QueriesPerSec, c.TokensPerSec)
	b.WriteString("| measure | late interaction | BM25 |\n| --- | --- | --- |\n")
	var names []string
	for n := range c.Metrics {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(b, "| %s | %.6f | %.6f |\n", n, c.Metrics[n], c.BM25[n])
	}
	if c.Agreement != "" {
		fmt.Fprintf(b, "\n%s\n", c.Agreement)
	}
}

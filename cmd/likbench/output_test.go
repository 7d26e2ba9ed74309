package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/benchsuite"
)

// Variants that did not run are listed once for each reason, after the rows.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	rows := &table{w: &out, report: &benchsuite.Report{Clock: 100, Ceilings: []benchsuite.Ceiling{{Name: "read", Unit: "B/s", Value: 2e9, Note: "how"}}}}
	rows.row(benchsuite.Row{Kernel: "maxsim_bf16", Case: "a", Variant: "wgmma", Status: benchsuite.Unsupported, Reason: "cuda: maxsim_bf16/wgmma: unsupported: needs sm_90a"})
	rows.row(benchsuite.Row{Kernel: "maxsim_f32", Case: "a", Variant: "naive", Chosen: true, Status: benchsuite.OK, DeviceNS: benchsuite.Spread{Median: 1.5e6}, OfPlain: .5})
	rows.row(benchsuite.Row{Kernel: "topk", Case: "a", Variant: "naive", Status: benchsuite.Failed, Reason: "wrong"})
	rows.row(benchsuite.Row{Kernel: "softmax_f32", Case: "a", Status: benchsuite.Unsupported, Reason: "no variant is compiled in"})
	rows.row(benchsuite.Row{Kernel: "topk", Case: "a", Variant: "wgmma", Status: benchsuite.Unsupported, Reason: "cuda: topk/wgmma: unsupported: needs sm_90a"})
	rows.end()
	text := out.String()
	for _, want := range []string{
		"ceilings of this run (clock steps of 100ns):\n", "2 GB/s  how\n", "naive       *", "1.50", "50%\n", "failed: wrong\n",
		"\nnot run:\n  needs sm_90a: maxsim_bf16/wgmma, topk/wgmma\n  no variant is compiled in: softmax_f32\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "unsupported")
}

// A list that agrees and one that does not, NaN counting as no agreement.
func TestAgreement(t *testing.T) {
	const nd = top + 2
	ids := func(swap bool) []int32 {
		out := make([]int32, 2*nd)
		for i := range out {
			out[i] = int32(i % nd)
		}
		if swap {
			out[nd], out[nd+1] = out[nd+1], out[nd]
			out[top], out[top+1] = out[top+1], out[top] // beyond the ranks compared
		}
		return out
	}
	a := &ranking{queries: 2, ids: ids(false), scores: make([]float32, 2*nd)}
	b := &ranking{queries: 2, ids: ids(true), scores: make([]float32, 2*nd)}
	require.Equal(t, 2, agreement(a, a, nd))
	require.Equal(t, 1, agreement(a, b, nd))
}

// A file that cannot be put in place leaves an error that names it.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	o, err := newOutput(dir)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "results.md", "in the way"), 0o755))
	err = o.write(&benchsuite.Report{})
	require.ErrorContains(t, err, "results.md: ")
	o, err = newOutput("")
	require.NoError(t, err)
	require.NoError(t, o.write(&benchsuite.Report{}))
}

// A folder that cannot be written to in the end fails the run, but JSON that was asked for is there.
func TestReportOutlivesItsFolder(t *testing.T) {
	dir := t.TempDir()
	out, err := newOutput(dir)
	require.NoError(t, err)
	require.NoError(t, os.Remove(dir))
	var text bytes.Buffer
	report := benchsuite.Report{Seconds: 3}
	require.ErrorIs(t, finish(&options{outdir: dir, json: true}, &report, out, &text), os.ErrNotExist)
	var got benchsuite.Report
	require.NoError(t, json.Unmarshal(text.Bytes(), &got))
	require.EqualValues(t, 3, got.Seconds)
	text.Reset()
	require.ErrorIs(t, finish(&options{outdir: dir}, &report, out, &text), os.ErrNotExist)
	require.Empty(t, text.String())
}

package benchsuite

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/likbench/likbench/backend"
)

// runFake measures the headline of topk on f.
func runFake(t *testing.T, ctx context.Context, f *fake, sel Selection) (*Report, error) {
	t.Helper()
	dev, err := f.Open(0)
	require.NoError(t, err)
	r := NewReport(dev, nil, []string{"--only", "topk"})
	if sel.Only == nil {
		sel.Only = []string{"topk"}
	}
	return r, Run(ctx, Config{Device: dev, Selection: sel, Clock: f.clock}, r)
}

func TestRunTimes(t *testing.T) {
	r, err := runFake(t, t.Context(), newFake("good"), Selection{})
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	row := r.Rows[0]
	require.Equal(t, OK, row.Status, row.Reason)
	require.True(t, row.Chosen)
	require.Equal(t, "rerank-1k-10", row.Case)
	require.EqualValues(t, 1000, row.Dims["n"])
	require.InEpsilon(t, 9000, row.Wall.Median, .02)
	require.InEpsilon(t, 9000, row.DeviceNS.Median, .02)
	require.GreaterOrEqual(t, row.DeviceNS.N, minRepeats)
	require.Positive(t, row.GBS)
	require.EqualValues(t, 100, r.Clock)
	require.Zero(t, r.Failures())
}

// A wrong answer has no time, and neither has one that an earlier variant left behind.
func TestRunReportsNoTimeForWrongOutputs(t *testing.T) {
	r, err := runFake(t, t.Context(), newFake("good", "broken", "silent", "refusing"), Selection{})
	require.NoError(t, err)
	require.Len(t, r.Rows, 4)
	require.Equal(t, OK, r.Rows[0].Status)
	for _, row := range r.Rows[1:3] {
		require.Equal(t, Failed, row.Status, row.Variant)
		require.Contains(t, row.Reason, "topk, case rerank-1k-10 (seed ", row.Variant)
		require.Zero(t, row.Wall, row.Variant)
		require.Zero(t, row.DeviceNS, row.Variant)
		require.Zero(t, row.GBS, row.Variant)
		require.Zero(t, row.Share, row.Variant)
	}
	require.Equal(t, Unsupported, r.Rows[3].Status)
	require.Equal(t, "fake: topk/refusing: unsupported: not today", r.Rows[3].Reason)
	require.Equal(t, 2, r.Failures())
}

func TestQuickRunsTheChosenVariantOnly(t *testing.T) {
	r, err := runFake(t, t.Context(), newFake("refusing", "good", "broken"), Selection{Quick: true})
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	require.Equal(t, "good", r.Rows[0].Variant)
	// Where a launch would find nothing, every reason is a row.
	r, err = runFake(t, t.Context(), newFake("refusing"), Selection{Quick: true})
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	require.Equal(t, Unsupported, r.Rows[0].Status)
}

func TestKernelWithoutVariantIsARow(t *testing.T) {
	r, err := runFake(t, t.Context(), newFake(), Selection{})
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	require.Equal(t, Unsupported, r.Rows[0].Status)
	require.Equal(t, "no variant is compiled in", r.Rows[0].Reason)
	require.Equal(t, "topk/rerank-1k-10 : unsupported: no variant is compiled in", r.Rows[0].String())
}

func TestRunStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake("good")
	launches := 0
	f.launched = func(string) {
		if launches++; launches == 50 {
			cancel()
		}
	}
	r, err := runFake(t, ctx, f, Selection{})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, r.Cancelled)
	require.Empty(t, r.Rows)
}

func TestRunRefusesABadClock(t *testing.T) {
	dev, err := newFake("good").Open(0)
	require.NoError(t, err)
	clock := sequence{9, 3}
	err = Run(t.Context(), Config{Device: dev, Clock: &clock}, NewReport(dev, nil, nil))
	require.ErrorIs(t, err, ErrClock)
}

// A device that shares the system's memory takes what is available there, and says so.
func TestSharedMemory(t *testing.T) {
	f := newFake("good")
	f.info.Shared = true
	dev, err := f.Open(0)
	require.NoError(t, err)
	run := &runner{cfg: Config{Device: dev}, available: func() int64 { return 4 << 20 }}
	require.EqualValues(t, 1<<20, run.room(&f.info))
	run.available = func() int64 { return 0 }
	require.EqualValues(t, 1<<28, run.room(&f.info))
	f.info.Shared = false
	require.EqualValues(t, 1<<29, run.room(&f.info))

	f.info.Shared = true
	r, err := runFake(t, t.Context(), f, Selection{})
	require.NoError(t, err)
	require.True(t, r.Rows[0].Shared)
	require.True(t, r.Device.Shared)
	var md bytes.Buffer
	require.NoError(t, r.WriteMarkdown(&md))
	require.Contains(t, md.String(), " shared |\n")
}

// A memory-bound row has a plain move of its bytes beside it; one that cannot be had does
// not cost the row its time.
func TestPlainMove(t *testing.T) {
	f := newFake("good", "other")
	r, err := runFake(t, t.Context(), f, Selection{})
	require.NoError(t, err)
	require.Equal(t, "read", r.Rows[0].BoundBy)
	require.InEpsilon(t, 4500, r.Rows[0].PlainNS.Median, .03)
	require.InEpsilon(t, .5, r.Rows[0].OfPlain, .03)
	require.Positive(t, f.moved)
	require.Zero(t, f.moved%(1000*4+10*8))
	require.Zero(t, r.Rows[1].PlainNS, "once for a case, beside the variant that a launch takes")

	f.traffic = backend.ErrOutOfMemory
	r, err = runFake(t, t.Context(), f, Selection{})
	require.NoError(t, err)
	require.Equal(t, OK, r.Rows[0].Status)
	require.InEpsilon(t, 9000, r.Rows[0].DeviceNS.Median, .02)
	require.Zero(t, r.Rows[0].PlainNS)
	require.Equal(t, "no plain move beside it: out of memory", r.Rows[0].Reason)
	require.Zero(t, r.Failures())
}

func TestOperandsThatDoNotFit(t *testing.T) {
	f := newFake("good")
	f.info.Memory = 1 << 10
	r, err := runFake(t, t.Context(), f, Selection{})
	require.NoError(t, err)
	require.Equal(t, Unsupported, r.Rows[0].Status)
	require.Equal(t, "fake: topk: unsupported: operands of 4.0 KiB do not fit: 512 B may be taken", r.Rows[0].Reason)
}

// The rates and the bound of a row, by hand: 2 GFLOP and 300 MB read, 100 MB written in 4 ms.
func TestRates(t *testing.T) {
	it := &Item{}
	it.Cost.FLOP, it.Cost.Read, it.Cost.Write = 2e9, 3e8, 1e8
	rates := func(ceilings ...Ceiling) Row {
		run := &runner{report: &Report{Ceilings: ceilings}}
		row := Row{DeviceNS: Spread{Median: 4e6}}
		run.rates(it, &row)
		return row
	}
	row := rates()
	require.EqualValues(t, 500, row.GFLOPS)
	require.EqualValues(t, 100, row.GBS)
	require.Zero(t, row.Share)
	require.Empty(t, row.BoundBy)

	// 2 ms of arithmetic, 1 ms of copying.
	row = rates(Ceiling{Name: "fma_f32", Value: 1e12}, Ceiling{Name: "copy", Value: 4e11}, Ceiling{Name: "read", Value: 1e9})
	require.Equal(t, "fma_f32", row.BoundBy)
	require.InDelta(t, 2e6, row.BoundNS, 1e-6)
	require.InDelta(t, .5, row.Share, 1e-12)

	// Stores past the caches are the limit where they were measured: 3.2 ms.
	row = rates(Ceiling{Name: "fma_f32", Value: 1e12}, Ceiling{Name: "copy", Value: 4e11}, Ceiling{Name: "copy_nt", Value: 1.25e11})
	require.Equal(t, "copy_nt", row.BoundBy)
	require.InDelta(t, .8, row.Share, 1e-12)

	// Few writes: the limit is reading. A unit of its own for the arithmetic.
	it.Cost.Write, it.Cost.Unit = 1e6, "dot_bf16"
	row = rates(Ceiling{Name: "dot_bf16", Value: 1e13}, Ceiling{Name: "fma_f32", Value: 1e12}, Ceiling{Name: "read", Value: 3.01e11}, Ceiling{Name: "copy", Value: 1})
	require.Equal(t, "read", row.BoundBy)
	require.InDelta(t, .25, row.Share, 1e-9)

	// No time, no rate: a JSON number stays finite.
	zero := Row{}
	(&runner{report: &Report{}}).rates(it, &zero)
	require.Zero(t, zero.GFLOPS)
	require.Zero(t, zero.GBS)
	require.Zero(t, zero.Share)
}

func TestReportFormats(t *testing.T) {
	f := newFake("good", "broken")
	r, err := runFake(t, t.Context(), f, Selection{})
	require.NoError(t, err)
	r.Decisions = []backend.Decision{{Backend: "fake", Chosen: true, Reason: "chosen: fake device"}}
	r.Collection = &Collection{Name: "Cranfield", Metrics: map[string]float64{"nDCG@10": .5}, BM25: map[string]float64{"nDCG@10": .25}}

	var js bytes.Buffer
	require.NoError(t, r.WriteJSON(&js))
	require.NotContains(t, js.String(), "null", "lists are lists even when empty")
	back, err := ReadJSON(&js)
	require.NoError(t, err)
	require.Equal(t, r, back)

	var md bytes.Buffer
	require.NoError(t, r.WriteMarkdown(&md))
	for _, want := range []string{"fake device", "- fake: chosen: fake device", "steps of 100ns", "| topk | rerank-1k-10 | good ✓ | 0.00900 |", "| failed: harness: topk", "| nDCG@10 | 0.500000 | 0.250000 |"} {
		require.Contains(t, md.String(), want)
	}

	var text bytes.Buffer
	require.NoError(t, r.WriteBench(&text))
	reader := benchfmt.NewReader(&text, "bench.txt")
	var results []*benchfmt.Result
	for reader.Scan() {
		res, ok := reader.Result().(*benchfmt.Result)
		require.True(t, ok, "%v", reader.Result())
		results = append(results, res.Clone())
	}
	require.NoError(t, reader.Err())
	require.Len(t, results, 1, "a failed row is no result")
	require.Equal(t, "Topk/case=rerank-1k-10/variant=good", results[0].Name.String())
	require.Equal(t, "fake device", results[0].GetConfig("device"))
	sec, ok := results[0].Value("sec/op")
	require.True(t, ok)
	require.InEpsilon(t, 9e-6, sec, .02)
}

func TestReadJSONRefuses(t *testing.T) {
	const good = `{"schema":"likbench/1","rows":[]}`
	_, err := ReadJSON(strings.NewReader(good + "\n"))
	require.NoError(t, err)
	for text, want := range map[string]string{
		"{":                                  "unexpected end of JSON input",
		"":                                   "unexpected end of JSON input",
		good[:20]:                            "unexpected end of JSON input",
		good + good:                          "after top-level value",
		good + "x":                           "after top-level value",
		"null":                               `schema "", want "likbench/1"`,
		`{"schema":"likbench/0"}`:            `schema "likbench/0", want "likbench/1"`,
		`{"schema":"likbench/2","rows":{}}`:  `schema "likbench/2", want "likbench/1"`,
		`{"schema":"likbench/1","rows":{}}`:  "cannot unmarshal object",
		`{"schema":"likbench/1","rows":[1]}`: "cannot unmarshal number",
	} {
		_, err := ReadJSON(strings.NewReader(text))
		require.ErrorContains(t, err, "benchsuite: results: ", text)
		require.ErrorContains(t, err, want, text)
	}
	_, err = ReadJSON(iotest.ErrReader(io.ErrUnexpectedEOF))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestMilliseconds(t *testing.T) {
	for ns, want := range map[float64]string{0: "–", 1e9: "1000", 123456789: "123", 12345678: "12.3", 1234567: "1.23", 9000: "0.00900", 70: "0.000070"} {
		require.Equal(t, want, Milliseconds(ns))
	}
}

func TestCeilingText(t *testing.T) {
	require.Equal(t, "236.4 GFLOP/s", Ceiling{Unit: "FLOP/s", Value: 236.4e9}.Text())
	require.Equal(t, "12 B/s", Ceiling{Unit: "B/s", Value: 12}.Text())
	require.Equal(t, "10.40 µs", Ceiling{Unit: "s", Value: 10.4e-6}.Text())
}

func TestPerRowSharesTheBudget(t *testing.T) {
	items := []Item{{Bindings: make([]backend.Binding, 40)}, {}}
	require.Equal(t, rowsBudget/2/41, perRow(Selection{}, items))
	require.Equal(t, quickBudget/2/41, perRow(Selection{Quick: true}, items))
	require.Equal(t, minQuickRow, perRow(Selection{Quick: true}, []Item{{Bindings: make([]backend.Binding, 10000)}}))
	require.Equal(t, maxPerRow, perRow(Selection{Full: true}, items))
	require.Equal(t, maxPerRow, perRow(Selection{}, nil))
	many := []Item{{Bindings: make([]backend.Binding, 10000)}}
	require.Equal(t, minPerRow, perRow(Selection{}, many))
	require.Greater(t, items[0].Estimate(Selection{}, items), 40*time.Millisecond)
}

package conform

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/kernel"
)

// The suite must fail for a backend that breaks a rule. Each fault runs in a process of its
// own, since a failing test cannot be caught; the backend is the reference with the fault.

// faultVariable names the fault in the child process.
const faultVariable = "CONFORM_TEST_FAULT"

// toyArgs have what the suite looks at: a ragged and a strided operand, one in place, and a
// data error.
type toyArgs struct {
	X   backend.View   `kernel:"in T rows,n strided"`
	Off kernel.Offsets `kernel:"in i64 parts+1 offsets=rows"`
	Y   backend.View   `kernel:"out T rows,n alias=X"`
	Sum backend.View   `kernel:"out acc(T) parts,n"`
}

var toy = kernel.Declare(kernel.Spec[toyArgs]{
	Name: "toy", Family: "toys", Source: "definition", Doc: "y = x, and sums of parts", Vars: []string{"T"},
	Instances: [][]backend.DType{{backend.F32}, {backend.BF16}}, Faults: []string{"thirteen"},
	Reference: func(r *kernel.Ref, a *toyArgs) error {
		x, off := r.Read(&a.X), r.Ints(&a.Off.View)
		rows, n := a.X.Dims[0], int(a.X.Dims[1])
		sum, low := make([]float64, int(a.Off.N)*n), int64(0)
		for i, o := range off {
			if o < low || o > rows {
				r.Fault(kernel.FaultOffsets, "Off", int64(i))
			}
			off[i] = min(max(o, low), rows)
			low = off[i]
		}
		for i, v := range x {
			if v == 13 {
				r.Fault(1, "X", int64(i))
			}
		}
		for p := range int(a.Off.N) {
			for i, v := range x[int(off[p])*n : int(off[p+1])*n] {
				sum[p*n+i%n] += v
			}
		}
		r.Write(&a.Y, x)
		r.Write(&a.Sum, sum)
		return nil
	},
	Tolerance:   map[string]kernel.Tolerance{"Y": kernel.ULP(2), "Sum": kernel.Rounding[toyArgs]{Terms: "rows", Slack: 4}},
	Independent: "n",
	Cost:        func(c *backend.Call) kernel.Cost { return kernel.Cost{FLOP: float64(c.Axes[0] * c.Axes[1])} },
	Cases: []kernel.Case{
		{Name: "one", Dims: kernel.Dims{"n": 1}, Lens: map[string][]int64{"rows": {1}}},
		{Name: "parts", Dims: kernel.Dims{"n": 6}, Lens: map[string][]int64{"rows": {2, 0, 3}}},
		{Name: "fault", Dims: kernel.Dims{"n": 2}, Lens: map[string][]int64{"rows": {2}}, Faults: true,
			Fill: map[string]func(kernel.Rand, []float64){"X": func(_ kernel.Rand, x []float64) {
				if len(x) > 1 {
					x[1] = 13
				}
			}}},
	},
})

// TestChild is the suite on a backend with the fault that the environment names.
func TestChild(t *testing.T) {
	fault, ok := os.LookupEnv(faultVariable)
	if !ok {
		t.Skip("conform: runs in the processes that TestFaults starts")
	}
	Run(t, Config{Backend: &broken{fault}})
}

// FuzzChild is the fuzz target on such a backend.
func FuzzChild(f *testing.F) {
	fault, ok := os.LookupEnv(faultVariable)
	if !ok {
		f.Skip("conform: runs in the processes that TestFuzzFaults starts")
	}
	Fuzz(f, Config{Backend: &broken{fault}})
}

// child runs a test with a fault and returns its output and whether it passed.
func child(t *testing.T, test, fault string) (string, bool) {
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), faultVariable+"="+fault)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ fault, failed, text string }{
		{"element", "kernels/toy_f32/parts", "output Y[0] is"},
		{"guard", "kernels/toy_f32/parts", "bytes after it were written"},
		{"input", "kernels/toy_f32/parts", "operand X: the input was written|output X: the input was written"},
		{"unwritten", "kernels/toy_f32/parts", "output Y[0] is"},
		{"status", "kernels/toy_f32/fault", "in chain"},
		{"status element", "kernels/toy_f32/fault", "thirteen at element 2"},
		{"offsets status", "kernels/toy_f32/device-offsets", "in chain"},
		{"spurious status", "kernels/toy_f32/parts", "Received unexpected error"},
		{"second run", "kernels/toy_f32/parts", "a second run gave other bits"},
		{"class", "kernels/toy_f32/parts", "differs in bits from its class"},
		{"neighbours", "kernels/toy_f32/neighbours", "outputs depend on their neighbours"},
		{"streams", "kernels/toy_f32/two-streams", "output Y"},
		{"graph", "kernels/toy_f32/graph", "output Y"},
		{"graph capture", "kernels/toy_f32/graph", "not allowed while capturing"},
		{"accepts nothing", "kernels/toy_f32/one", "no variant of toy_f32 accepts case one"},
		{"load", "kernels/toy_f32", "in chain"},
		{"alloc length", "memory", "Not equal"},
		{"live", "memory", "Not equal"},
		{"double free", "memory", "in chain"},
		{"negative alloc", "memory", "in chain"},
		{"huge alloc", "memory", "in chain"},
		{"budget", "memory/budget", "in chain"},
		{"used budget", "memory/budget", "in chain"},
		{"leak", "memory/budget", "a live buffer must be reported"},
		{"peak", "memory/scope", "Not equal"},
		{"copy", "memory/transfers", "Should be true"},
		{"range", "memory/transfers", "in chain"},
		{"freed", "memory/transfers", "in chain"},
		{"closed stream", "memory/transfers", "in chain"},
		{"overlap", "memory/transfers", "in chain"},
		{"freed operand", "lifetimes/operands", "operands that were freed"},
		{"closed event", "lifetimes", "an event after its end"},
		{"foreign event", "lifetimes", "of another device"},
		{"stream of a closed device", "lifetimes", "after the device"},
		{"event order", "streams", "Not equal"},
		{"clock", "streams", "is not greater than or equal"},
		{"unknown kernel", "arguments", "in chain"},
		{"scratch leak", "", "device memory still live after the suite"},
		{"closed device", "", "in chain"},
		{"closed alloc", "", "in chain"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			out, passed := child(t, "TestChild", c.fault)
			require.False(t, passed, "the suite passed\n%s", out)
			require.False(t, strings.Contains(out, "panic:"), out)
			name := "--- FAIL: TestChild"
			if c.failed != "" {
				name += "/" + c.failed
			}
			require.Contains(t, out, name+" (", out)
			found := slices.ContainsFunc(strings.Split(c.text, "|"), func(s string) bool { return strings.Contains(out, s) })
			require.True(t, found, "%q is not in\n%s", c.text, out)
		})
	}
}

// The reference without a fault passes, and so do kernels that a device does not support.
func TestNoFault(t *testing.T) {
	out, passed := child(t, "TestChild", "")
	require.True(t, passed, out)
	for _, name := range []string{"kernels/toy_f32/parts", "kernels/toy_bf16/device-offsets", "kernels/toy_f32/graph", "memory/budget", "arguments/toy"} {
		require.Contains(t, out, "--- PASS: TestChild/"+name+" (")
	}
	out, passed = child(t, "TestChild", "no bindings")
	require.True(t, passed, out)
	require.Contains(t, out, "unsupported (0 bindings)")
	out, passed = child(t, "TestChild", "no device")
	require.True(t, passed, out)
	require.Contains(t, out, "--- SKIP: TestChild")
	require.Contains(t, out, "broken: unavailable: unplugged")
}

// The seeds of the fuzz target find the faults of results.
func TestFuzzFaults(t *testing.T) {
	for _, fault := range []string{"element", "guard", "unwritten", "second run", "class"} {
		out, passed := child(t, "FuzzChild", fault)
		require.False(t, passed, out)
		require.NotContains(t, out, "panic")
	}
	for _, fault := range []string{"", "no bindings", "no device"} {
		out, passed := child(t, "FuzzChild", fault)
		require.True(t, passed, out)
	}
}

// inner is the reference's backend.
var inner = host.Backend{}

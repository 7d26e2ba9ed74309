package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/benchsuite"
)

// beMain makes this test binary the command itself.
const beMain = "LIKBENCH_TEST_BE_MAIN"

// deaf is what beMain is for a command that does not look at its context.
const deaf = "deaf"

func TestMain(m *testing.M) {
	switch os.Getenv(beMain) {
	case "":
		os.Exit(m.Run())
	case deaf:
		os.Exit(interruptible(func(context.Context) int {
			fmt.Println("waiting")
			_, err := io.Copy(io.Discard, os.Stdin)
			fmt.Println("not ended:", err)
			return exitFailure
		}))
	}
	main()
}

// call runs a command line in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// short are the flags of a run that takes no time to speak of: the host backend has no
// ceilings to measure.
func short(dir string, more ...string) []string {
	return append([]string{"--backend", "host", "--only", "topk", "--quick", "--outdir", dir}, more...)
}

// Wrong command lines run nothing, say so once on standard error and exit with 2.
func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	choices := "choose one of auto, cuda, cuda:N, metal, metal:N, simd, simd:N, host, host:N"
	for _, x := range []struct {
		args []string
		text string
	}{
		{[]string{"serach"}, `unknown command "serach"`},
		{[]string{"palid"}, `unknown command "palid"; did you mean plaid?`},
		{[]string{"text-short"}, `unknown command "text-short"`},
		{[]string{"plaid", "serach", "idx"}, `unknown command "serach" of plaid; did you mean search?`},
		{[]string{"plaid", "zzzzzzz"}, `unknown command "zzzzzzz" of plaid`},
		{[]string{"--backend", "host", "serach"}, `unknown command "serach"`},
		{[]string{"help", "nosuch"}, `unknown help topic "nosuch"`},
		{[]string{"help", "plaid", "serach"}, `unknown help topic "plaid serach"; did you mean search?`},
		{[]string{"--backend", "cuda,simd"}, `unknown backend "cuda,simd": ` + choices},
		{[]string{"--backend", "CUDA"}, `unknown backend "CUDA": ` + choices},
		{[]string{"--backend", ""}, `unknown backend "": ` + choices},
		{[]string{"--backend", "cuda:x"}, `unknown backend "cuda:x": ` + choices},
		{[]string{"--backend", "simd:-1"}, `unknown backend "simd:-1": ` + choices},
		{[]string{"--backend", "auto:0"}, `unknown backend "auto:0": ` + choices},
		{[]string{"--nosuch"}, "unknown flag: --nosuch"},
		{[]string{"--quick=perhaps"}, `invalid argument "perhaps" for "--quick" flag`},
		{[]string{"--backend"}, "flag needs an argument: --backend"},
		{[]string{"--quick", "--full"}, "--quick and --full exclude one another"},
		{[]string{"--backend", "simd", "--only", ""}, "--only: nothing is named"},
		{[]string{"--backend", "simd", "--variants="}, "--variants: nothing is named"},
		{[]string{"--backend", "simd", "--only", "tpok"}, `--only "tpok" matches nothing`},
		{[]string{"--backend", "simd", "--only", "[", "--list"}, `--only "[": syntax error in pattern`},
		{[]string{"--backend", "simd", "--variants", "avx3"}, `--variants "avx3" matches nothing`},
		{[]string{"--backend", "simd", "--dtype", "fp32"}, `--dtype "fp32" matches nothing`},
	} {
		t.Run(strings.Join(x.args, " "), func(t *testing.T) {
			code, stdout, stderr := call(t, x.args...)
			require.Equal(t, exitUsage, code)
			require.Contains(t, stderr, "likbench: ")
			require.Contains(t, stderr, x.text)
			require.Equal(t, 2, strings.Count(stderr, "\n"), "one line of error and one of advice: %s", stderr)
			require.NotContains(t, stdout, "Usage:")
			require.NotContains(t, stdout, "ceilings")
			require.NoFileExists(t, "results/results.json")
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestBackendFromTheEnvironment(t *testing.T) {
	t.Setenv("LIKBENCH_BACKEND", "nosuch")
	code, _, stderr := call(t, "--list")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, `unknown backend "nosuch"`)

	code, stdout, _ := call(t, "--list", "--backend", "host")
	require.Equal(t, exitOK, code, "the flag wins")
	require.True(t, strings.HasPrefix(stdout, "host: chosen: "), stdout)

	t.Setenv("LIKBENCH_BACKEND", "host")
	code, stdout, _ = call(t, "--list")
	require.Equal(t, exitOK, code)
	require.True(t, strings.HasPrefix(stdout, "host: chosen: "), stdout)
}

// A backend asked for by name must open; auto always finds one.
func TestBackendThatDoesNotOpen(t *testing.T) {
	code, stdout, stderr := call(t, "--backend", "host:7", "--list")
	require.Equal(t, exitFailure, code)
	require.Contains(t, stderr, "likbench: host: unavailable: there is only device 0")
	require.NotContains(t, stdout, "cases, about")

	code, stdout, stderr = call(t, "--backend", "auto", "--list")
	require.Equal(t, exitOK, code, stderr)
	for _, b := range backend.All() {
		require.Contains(t, stdout, b.Name()+": ", "every backend has a line")
	}
	require.Equal(t, 1, strings.Count(stdout, ": chosen: "), stdout)
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {"help", "help"}, {"help", "--help"}, {"serach", "--help"}, {"--backend", "nosuch", "--help"}} {
		code, stdout, stderr := call(t, args...)
		require.Equal(t, exitOK, code, args)
		require.Contains(t, stdout, "Usage:", args)
		require.Empty(t, stderr, args)
	}
	_, stdout, _ := call(t, "--help")
	for _, want := range []string{"--only accepts", "maxsim (maxsim_bf16, maxsim_f32)", "cases: rerank-1k-10", "--backend", "LIKBENCH_BACKEND", "cuda:1"} {
		require.Contains(t, stdout, want)
	}
}

func TestUnwritableOutdir(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		code, stdout, stderr := call(t, short(dir)...)
		require.Equal(t, exitFailure, code)
		require.Contains(t, stderr, "likbench: outdir")
		require.Contains(t, stderr, file)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.NotContains(t, stdout, "ceilings", "nothing is measured before")
	}
}

func TestResultFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	code, stdout, stderr := call(t, short(dir)...)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, "host: chosen: ")
	require.Contains(t, stdout, "ceilings of this run")
	require.Contains(t, stdout, "1 rows in ")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3)

	f, err := os.Open(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	defer f.Close()
	r, err := benchsuite.ReadJSON(f)
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	require.Equal(t, benchsuite.OK, r.Rows[0].Status, r.Rows[0].Reason)
	require.Equal(t, short(dir), r.Flags)

	text, err := os.Open(filepath.Join(dir, "bench.txt"))
	require.NoError(t, err)
	defer text.Close()
	reader, n := benchfmt.NewReader(text, "bench.txt"), 0
	for reader.Scan() {
		res, ok := reader.Result().(*benchfmt.Result)
		require.True(t, ok, "%v", reader.Result())
		require.Equal(t, "host", res.GetConfig("backend"))
		n++
	}
	require.NoError(t, reader.Err())
	require.Equal(t, 1, n)

	md, err := os.ReadFile(filepath.Join(dir, "results.md"))
	require.NoError(t, err)
	require.Contains(t, string(md), "| topk | ")
}

// With --json standard output is the report and nothing else.
func TestJSONRoundTrip(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := call(t, short(dir, "--json")...)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stderr, "host: chosen: ")
	r, err := benchsuite.ReadJSON(strings.NewReader(stdout))
	require.NoError(t, err)
	var again bytes.Buffer
	require.NoError(t, r.WriteJSON(&again))
	require.Equal(t, stdout, again.String())
	file, err := os.ReadFile(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	require.Equal(t, stdout, string(file))
}

func TestEmptyOutdirWritesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	code, _, stderr := call(t, short("")...)
	require.Equal(t, exitOK, code, stderr)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// canceller ends the run when it sees a text.
type canceller struct {
	bytes.Buffer
	at     string
	cancel context.CancelFunc
}

func (c *canceller) Write(p []byte) (int, error) {
	n, err := c.Buffer.Write(p)
	if strings.Contains(c.String(), c.at) {
		c.cancel()
	}
	return n, err
}

// Interrupted at any stage: status 130, one line, and no file, whole or partial.
func TestInterruptedInProcess(t *testing.T) {
	for _, x := range []struct {
		stage, at string
		flags     []string
	}{
		{"before the collection", "simd: chosen", []string{"--backend", "simd", "--quick"}},
		{"after the collection", "BM25", []string{"--backend", "simd", "--quick"}},
		{"between rows", "topk", []string{"--backend", "host", "--only", "topk", "--full"}},
	} {
		t.Run(x.stage, func(t *testing.T) {
			if testing.Short() && x.at == "BM25" {
				t.Skip("scores the collection; left out with -short")
			}
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &canceller{at: x.at, cancel: cancel}
			var stderr bytes.Buffer
			require.Equal(t, exitInterrupted, run(ctx, append(x.flags, "--outdir", dir), out, &stderr))
			require.Equal(t, "likbench: interrupted; no results were written\n", stderr.String())
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// command is this test binary as likbench.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), beMain+"=1")
	return cmd
}

func TestInterruptSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent os.Interrupt on windows; TestInterruptedInProcess covers the rest")
	}
	dir := t.TempDir()
	cmd := command(t, "--backend", "simd", "--full", "--outdir", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "simd: chosen")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitInterrupted, exit.ExitCode(), stderr.String())
	require.Equal(t, "likbench: interrupted; no results were written\n", stderr.String())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// While a corpus is drawn and saved, a signal ends the command soon, and nothing is left of it. Drawing
// this one takes a minute.
func TestInterruptWhileDrawing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent os.Interrupt on windows; TestDrawingStops and TestSaveIsWholeOrNot cover the rest")
	}
	dir := t.TempDir()
	cmd := command(t, "plaid", "bench", "clustered", "--backend", "simd", "--corpora", "20k-nb2", "--save", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NotContains(t, string(rest), "built in")
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitInterrupted, exit.ExitCode(), stderr.String())
	require.True(t, strings.HasSuffix(stderr.String(), "\nlikbench: interrupted\n"), stderr.String())
	left, err := os.ReadDir(filepath.Join(dir, "20k-nb2"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A second signal does not wait for what the first one has to wait for.
func TestSecondInterruptSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent os.Interrupt on windows")
	}
	cmd := command(t)
	cmd.Env = append(cmd.Env, beMain+"="+deaf)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for err == nil {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended meanwhile
		select {
		case err = <-done:
		case <-again.C:
		}
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, -1, exit.ExitCode(), "ended by the signal")
}

// full is a standard output that takes nothing more, as /dev/full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A report that did not reach its reader is a failure; the files are there all the same.
func TestFullStandardOutput(t *testing.T) {
	for _, flags := range [][]string{{"--help"}, {"help"}, {"--backend", "host", "--list"}, short("out"), short("out", "--json")} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Chdir(t.TempDir())
			var stderr bytes.Buffer
			require.Equal(t, exitFailure, run(t.Context(), flags, full{}, &stderr))
			require.Contains(t, stderr.String(), "likbench: "+syscall.ENOSPC.Error()+"\n")
			if slices.Contains(flags, "out") {
				require.FileExists(t, "out/results.json")
			}
		})
	}
}

// The list names what this device runs, and the collection where it is scored.
func TestListIsWhatRuns(t *testing.T) {
	code, stdout, stderr := call(t, "--backend", "simd", "--list")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, " s and the collection with its indexes; largest")
	dev, _, err := backend.Select("simd")
	require.NoError(t, err)
	info := dev.Info()
	for _, b := range dev.Backend().Bindings() {
		if info.Missing(b.Requires) != "" {
			require.NotRegexp(t, "(?m)^"+b.Kernel+" .*[ ,]"+b.Variant+"(,|$)", stdout)
		} else {
			require.Regexp(t, "(?m)^"+b.Kernel+" .*[ ,]"+b.Variant+"(,|$)", stdout)
		}
	}
	require.NoError(t, dev.Close())
	for _, flags := range [][]string{{"--only", "topk"}, {"--no-collection"}} {
		_, stdout, _ = call(t, append(flags, "--backend", "simd", "--list")...)
		require.Contains(t, stdout, " cases, about ")
		require.NotContains(t, stdout, "and the collection")
	}
}

// As in likbench --list | head -1.
func TestClosedPipeIsQuiet(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a closed pipe ends a program by a signal on Unix only")
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := command(t, "--backend", "host", "--list")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
	_ = cmd.Wait() // by the signal, or cleanly if everything was written before
	require.Empty(t, stderr.String())
}

// TestNothingRuns: variants that the device cannot run are said to be that, not a run of no rows.
func TestNothingRuns(t *testing.T) {
	needs := backend.Binding{Kernel: "topk", Variant: "wide", Requires: []string{"wide"}}
	plain := backend.Binding{Kernel: "topk", Variant: "plain"}
	info := backend.Info{Name: "this machine", Features: []string{"narrow"}}
	o := &options{selection: benchsuite.Selection{Variants: []string{"wide"}}}
	err := runnable(o, info, []benchsuite.Item{{Bindings: []backend.Binding{needs}}, {Bindings: []backend.Binding{needs}}})
	var u *usageError
	require.ErrorAs(t, err, &u)
	require.EqualError(t, err, "--variants wide: none of what is selected runs on this machine, which lacks wide")
	require.NoError(t, runnable(o, info, []benchsuite.Item{{Bindings: []backend.Binding{needs, plain}}}))
	require.NoError(t, runnable(&options{}, info, []benchsuite.Item{{Bindings: []backend.Binding{needs}}}))
}

// TestListsWithSpaces: a list in quotes may have a space after a comma.
func TestListsWithSpaces(t *testing.T) {
	code, stdout, stderr := call(t, "--backend", "simd", "--list", "--only", "topk, softmax_f32 ", "--variants", "generic, avx2", "--dtype", " f32")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, "topk")
	require.Contains(t, stdout, "softmax_f32")
}

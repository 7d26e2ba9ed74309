// Command likbench checks and times every kernel on the hardware that is present, and runs
// a retrieval pipeline on embedded real data.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/likbench/likbench/backend/all"
)

// Exit statuses.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	os.Exit(interruptible(func(ctx context.Context) int { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) }))
}

// interruptible ends the context of do at the first signal; a second one ends the process at
// once.
func interruptible(do func(ctx context.Context) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return do(ctx)
}

// run executes the command line and returns the exit status. An error is printed once.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := newRoot(args)
	cmd.SetArgs(args)
	out := &checkedWriter{w: stdout}
	cmd.SetOut(out)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, interrupted(args))
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "likbench: %v\nRun 'likbench --help' for usage.\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "likbench: %v\n", err)
	return exitFailure
}

// interrupted says what an interrupted command leaves. Commands about indexes leave what was
// complete, which is for each of them to say.
func interrupted(args []string) string {
	if len(args) > 0 && args[0] == "plaid" {
		return "likbench: interrupted"
	}
	return "likbench: interrupted; no results were written"
}

// checkedWriter keeps the first failure, so that a table or a help text that did not reach
// its reader is no success.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// usageError is a wrong command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

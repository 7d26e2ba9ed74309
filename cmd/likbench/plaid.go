package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/plaid/build"
	"github.com/likbench/likbench/plaid/codec"
	"github.com/likbench/likbench/plaid/format"
	"github.com/likbench/likbench/plaid/store"
)

// plaidCommand is everything about indexes.
func plaidCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plaid",
		Short: "Build, search, check and convert late-interaction indexes",
		Long: `Indexes of this program, and of fast-plaid, next-plaid, ColBERTv2 and WARP. The layout of a
folder is told by its content. What only reads never changes a folder.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q of plaid%s", args[0], meant(c, args[0]))
			}
			return usage("plaid needs a command: build, search, eval, stat, fsck, convert, add, delete, compact, merge or bench")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(buildCommand(), addCommand(), deleteCommand(), compactCommand(), mergeCommand(), statCommand(), fsckCommand(), convertCommand(),
		searchCommand(), evalCommand(), benchCommand())
	return cmd
}

// dirs is cobra's check of positional arguments, as an error of usage.
func dirs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage("%s takes %s", c.CommandPath(), strings.Join(names, " "))
		}
		return nil
	}
}

// withDevice opens the backend that the flag or the environment names, says on stderr why
// it was taken, and closes it afterwards.
func withDevice(c *cobra.Command, name string, do func(ctx context.Context, dev backend.Device) error) (err error) {
	if v, ok := os.LookupEnv("LIKBENCH_BACKEND"); ok && !c.Flags().Changed("backend") {
		name = v
	}
	dev, _, err := openBackend(name, c.ErrOrStderr())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	return do(c.Context(), dev)
}

func backendFlag(c *cobra.Command) *string {
	return c.Flags().String("backend", "auto", "auto, "+strings.Join(backendNames(), ", ")+", or one with a device number (environment: LIKBENCH_BACKEND)")
}

// wrapped makes errors of arguments that the user gave errors of usage.
func wrapped(err error) error {
	if err != nil && (errors.Is(err, build.ErrOptions) || errors.Is(err, codec.ErrBits) || errors.Is(err, format.ErrRange) || errors.Is(err, store.ErrRange)) {
		return &usageError{err}
	}
	return err
}

func buildCommand() *cobra.Command {
	var in inputFlags
	var o build.Options
	cmd := &cobra.Command{
		Use:   "build DIR",
		Short: "Build an index of token vectors or text",
		Long: `Builds the index of a collection in DIR. The same collection, options and seed give the same
bytes on every backend. A build that was interrupted continues after its last complete chunk
when it is run again.`,
		Args: dirs("DIR"),
	}
	name := backendFlag(cmd)
	f := cmd.Flags()
	in.add(cmd, "documents")
	f.IntVar(&o.Bits, "bits", 2, "residual bits of a component: 1, 2, 4 or 8")
	f.IntVar(&o.Centroids, "centroids", 0, "centroids; default 2^floor(log2(16·√tokens))")
	f.IntVar(&o.Iterations, "iterations", 4, "iterations of k-means, at most")
	f.IntVar(&o.Sample, "sample", 0, "documents sampled; default 1 + 16·√(120·documents)")
	f.Uint64Var(&o.Seed, "seed", 42, "seed of every draw")
	f.BoolVar(&o.Normalize, "normalize", false, "normalise tokens first")
	f.BoolVar(&o.AllowEmpty, "allow-empty", false, "build an index without tokens")
	f.BoolVar(&o.Restart, "restart", false, "discard what an interrupted build has finished")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if o.Bits == 0 { // which build.Options takes for the default
			return usage("--bits 0: want 1, 2, 4 or 8")
		}
		t, err := in.open()
		if err != nil {
			return err
		}
		return withDevice(c, *name, func(ctx context.Context, dev backend.Device) error {
			bar := newProgress(c.ErrOrStderr())
			defer bar.close()
			o.Progress = buildProgress(bar)
			start := time.Now()
			stats, err := build.Build(ctx, dev, args[0], t, o)
			if err != nil {
				return wrapped(err)
			}
			bar.close()
			return printBuild(c.OutOrStdout(), stats, time.Since(start))
		})
	}
	return cmd
}

// buildProgress shows the stage and how far it is.
func buildProgress(bar *progress) func(build.Progress) {
	return func(p build.Progress) {
		what := string(p.Stage)
		if p.Iterations > 0 {
			what = fmt.Sprintf("%s %d/%d", what, p.Iteration, p.Iterations)
		}
		bar.update(int(p.Tokens), int(max(p.OfTokens, p.Tokens, 1)), what)
	}
}

func printBuild(w io.Writer, s *build.Statistics, elapsed time.Duration) error {
	fmt.Fprintf(w, "%d documents (%d empty), %d tokens, %d centroids from %d tokens of %d documents, in %.2f s\n",
		s.Documents, s.Empty, s.Tokens, s.Centroids, s.TrainingTokens, s.SampledDocuments, elapsed.Seconds())
	for _, t := range s.Stages {
		fmt.Fprintf(w, "  %-10s %8.3f s\n", t.Stage, t.Time.Seconds())
	}
	if s.Resumed > 0 {
		fmt.Fprintf(w, "  %d of %d chunks were finished earlier\n", s.Resumed, s.Chunks)
	}
	for _, warning := range s.Warnings() {
		fmt.Fprintln(w, "  warning:", warning)
	}
	return nil
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/benchsuite"
)

// options are the flags of the default suite.
type options struct {
	backend   string
	list      bool
	selection benchsuite.Selection
	outdir    string
	json      bool
	noData    bool
	args      []string // as given, for the report
}

// collection reports whether the embedded collection is scored.
func (o *options) collection() bool { return !o.noData && o.selection.Only == nil }

func newRoot(args []string) *cobra.Command {
	o := options{args: args}
	cmd := &cobra.Command{
		Use:   "likbench",
		Short: "Check and time every kernel on the hardware that is present",
		Long: `likbench opens a backend, checks every kernel variant against its float64 reference,
times it beside the limits measured in the same run, and scores the embedded Cranfield
collection with late interaction beside BM25.

` + onlyHelp(),
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q%s", args[0], meant(c, args[0]))
			}
			return nil
		},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("backend") {
				if v, ok := os.LookupEnv("LIKBENCH_BACKEND"); ok {
					o.backend = v
				}
			}
			for flag, list := range map[string][]string{"only": o.selection.Only, "variants": o.selection.Variants, "dtype": o.selection.DTypes} {
				if c.Flags().Changed(flag) && len(list) == 0 {
					return usage("--%s: nothing is named", flag) // an empty variable must not look like a clean run
				}
				for i := range list { // "a, b" in quotes
					list[i] = strings.TrimSpace(list[i])
				}
			}
			if o.selection.Quick && o.selection.Full {
				return usage("--quick and --full exclude one another")
			}
			return suite(c.Context(), &o, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.backend, "backend", "auto", "auto, "+strings.Join(backendNames(), ", ")+", or one with a device number, as cuda:1 (environment: LIKBENCH_BACKEND)")
	f.BoolVar(&o.list, "list", false, "list what would run, with estimates of time and memory, and stop")
	f.StringSliceVar(&o.selection.Only, "only", nil, "patterns of kernels, instances or cases; a case pattern selects shapes beyond the headline")
	f.StringSliceVar(&o.selection.Variants, "variants", nil, "variants to run; default all")
	f.StringSliceVar(&o.selection.DTypes, "dtype", nil, "dtypes to run, as f32,bf16; default all")
	f.BoolVar(&o.selection.Quick, "quick", false, "only the variant a launch would choose, no mixed dtypes, at most 30 s")
	f.BoolVar(&o.selection.Full, "full", false, "every shape of the catalogue")
	f.StringVar(&o.outdir, "outdir", "results", "folder for results.json, results.md and bench.txt; \"\" writes nothing")
	f.BoolVar(&o.json, "json", false, "print the report as JSON instead of a table")
	f.BoolVar(&o.noData, "no-collection", false, "leave the collection out")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	help := helpCommand(cmd)
	cmd.SetHelpCommand(help)
	cmd.AddCommand(plaidCommand(), help)
	cmd.PersistentFlags().BoolP("help", "h", false, "print this help")
	return cmd
}

// meant names the commands of c that a mistyped one may stand for.
func meant(c *cobra.Command, typed string) string {
	c.SuggestionsMinimumDistance = 2
	if names := c.SuggestionsFor(typed); len(names) > 0 {
		return "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return ""
}

// helpCommand is cobra's, but an unknown topic is an error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || c == nil || len(rest) > 0 {
				more := ""
				if c != nil && len(rest) == 1 {
					more = meant(c, rest[0])
				}
				return usage("unknown help topic %q%s", strings.Join(args, " "), more)
			}
			return c.Help()
		},
	}
}

func backendNames() []string {
	var out []string
	for _, b := range backend.All() {
		out = append(out, b.Name())
	}
	return out
}

// onlyHelp lists what --only accepts, from the declarations.
func onlyHelp() string {
	var b strings.Builder
	b.WriteString("--only accepts shell patterns of a kernel, an instance, a case, or instance/case:\n")
	for _, k := range kernel.All() {
		var cases []string
		for _, c := range k.Bench() {
			cases = append(cases, c.Name)
		}
		var dtypes []string
		for _, in := range k.Instances() {
			dtypes = append(dtypes, in.Name)
		}
		slices.Sort(dtypes)
		fmt.Fprintf(&b, "  %s (%s)\n      cases: %s\n", k.Name(), strings.Join(dtypes, ", "), strings.Join(cases, ", "))
	}
	return b.String()
}

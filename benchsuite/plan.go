package benchsuite

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/harness"
	"github.com/likbench/likbench/backend/kernel"
)

// Selection says which rows to run.
type Selection struct {
	Only     []string // patterns on instance, kernel or "instance/case"; nil = all
	Variants []string // names; nil = all
	DTypes   []string // of the first type variable; nil = all
	Full     bool     // every benchmark shape instead of the headline
	Quick    bool     // only what a launch would choose, with a smaller budget
}

// Item is one planned case with the variants to time on it.
type Item struct {
	Kernel   kernel.Info
	Instance kernel.Instance
	Case     kernel.Case
	Bindings []backend.Binding
	Bytes    int64
	Cost     kernel.Cost
}

// PatternError is a pattern or name in a selection that matches nothing.
type PatternError struct {
	Flag, Pattern string
	Err           error
}

func (e *PatternError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("benchsuite: --%s %q: %v", e.Flag, e.Pattern, e.Err)
	}
	return fmt.Sprintf("benchsuite: --%s %q matches nothing", e.Flag, e.Pattern)
}

// Is makes errors.Is(err, backend.ErrArgument) true.
func (e *PatternError) Is(t error) bool { return t == backend.ErrArgument }

// Unwrap returns the cause.
func (e *PatternError) Unwrap() error { return e.Err }

// Plan lists the cases a selection means for a backend, in the order of kernels. A pattern
// that matches nothing is an error: a mistyped name must not look like a clean run.
func Plan(b backend.Backend, sel Selection) ([]Item, error) {
	for _, p := range sel.Only {
		if _, err := path.Match(p, ""); err != nil {
			return nil, &PatternError{"only", p, err}
		}
	}
	used := map[string]bool{}
	var out []Item
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			items, err := planInstance(b, k, in, sel, used)
			if err != nil {
				return nil, err
			}
			out = append(out, items...)
		}
	}
	for flag, names := range map[string][]string{"only": sel.Only, "variants": sel.Variants, "dtype": sel.DTypes} {
		for _, n := range names {
			if !used[flag+"="+n] {
				return nil, &PatternError{flag, n, nil}
			}
		}
	}
	return out, nil
}

// mixed reports an instance of several dtypes, as weights kept in f32: a quick run leaves
// those to the others.
func mixed(k kernel.Info, in kernel.Instance) bool {
	for i := range k.Vars() {
		if in.Types[i] != in.Types[0] {
			return true
		}
	}
	return false
}

func planInstance(b backend.Backend, k kernel.Info, in kernel.Instance, sel Selection, used map[string]bool) ([]Item, error) {
	if !matchDType(in, sel.DTypes, used) || sel.Quick && sel.Only == nil && sel.DTypes == nil && mixed(k, in) {
		return nil, nil
	}
	var bindings []backend.Binding
	for _, bd := range b.Bindings() {
		if bd.Kernel != in.Name {
			continue
		}
		if sel.Variants != nil {
			if !slices.Contains(sel.Variants, bd.Variant) {
				continue
			}
			used["variants="+bd.Variant] = true
		}
		bindings = append(bindings, bd)
	}
	var out []Item
	for i, c := range k.Bench() {
		if !c.Of(in) {
			continue
		}
		byCase, any := matchOnly(k, in, c, sel.Only, used)
		if !any || i > 0 && !sel.Full && !byCase || len(bindings) == 0 && sel.Variants != nil {
			continue
		}
		bytes, cost, err := harness.Measure(k, in, c)
		if err != nil {
			return nil, fmt.Errorf("benchsuite: %s, case %s: %w", in.Name, c.Name, err)
		}
		out = append(out, Item{k, in, c, bindings, bytes, cost})
	}
	return out, nil
}

func matchDType(in kernel.Instance, dtypes []string, used map[string]bool) bool {
	if dtypes == nil {
		return true
	}
	for _, d := range dtypes {
		if in.Types[0].String() == d || in.Types[0] == backend.Invalid && d == "f32" {
			used["dtype="+d] = true
			return true
		}
	}
	return false
}

// matchOnly reports whether a case is selected, and whether by its own name.
func matchOnly(k kernel.Info, in kernel.Instance, c kernel.Case, only []string, used map[string]bool) (byCase, any bool) {
	if only == nil {
		return false, true
	}
	for _, p := range only {
		for i, name := range []string{in.Name, k.Name(), in.Name + "/" + c.Name, k.Name() + "/" + c.Name, c.Name} {
			if ok, _ := path.Match(p, name); ok {
				used["only="+p] = true
				any = true
				byCase = byCase || i >= 2
			}
		}
	}
	return byCase, any
}

// Budgets of a run without flags: under 90 s in all. Rows share what ceilings and the
// collection leave.
const (
	rowsBudget  = 50 * time.Second
	quickBudget = 12 * time.Second
	maxPerRow   = 2 * time.Second
	minPerRow   = 80 * time.Millisecond
	minQuickRow = 15 * time.Millisecond
)

// perRow is the time that one variant's measurement may take.
func perRow(sel Selection, items []Item) time.Duration {
	rows := 0
	for i := range items {
		rows += max(len(items[i].Bindings), 1)
	}
	total, least := rowsBudget, minPerRow
	if sel.Quick {
		total, least = quickBudget, minQuickRow
	}
	if sel.Full {
		return maxPerRow
	}
	// Half goes to data and references.
	return min(max(total/2/time.Duration(max(rows, 1)), least), maxPerRow)
}

// Estimate is a guess of an item's time: data, reference and measurements.
func (it *Item) Estimate(sel Selection, items []Item) time.Duration {
	data := time.Duration(float64(it.Bytes) / 1e9 * float64(time.Second)) // drawn and uploaded at about 1 GB/s
	return data + time.Duration(len(it.Bindings))*2*perRow(sel, items)
}

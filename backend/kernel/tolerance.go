package kernel

import (
	"fmt"
	"strconv"
	"strings"
)

// Tolerance judges one output against the float64 reference. NaN must meet NaN, and an
// infinity the same infinity, under every rule.
type Tolerance interface {
	// Reason says where the limit comes from, for docs.
	Reason() string
}

// Exact is for copies, integers and selections: the values are equal (-0 equals +0).
type Exact struct{}

// Reason implements Tolerance.
func (Exact) Reason() string { return "exact: no arithmetic" }

// ULP allows n units in the last place of the output's dtype: n correctly rounded steps.
type ULP int

// Reason implements Tolerance.
func (u ULP) Reason() string { return fmt.Sprintf("%d ulp of the output's dtype", int(u)) }

// Rounding is for sums: slack × unit roundoff of the accumulator × terms × scale, plus
// terms × the accumulator's smallest normal (subnormals may flush), plus one ulp of the
// output's dtype where that is narrower than the accumulator.
type Rounding[A any] struct {
	Terms string  // sum of axes and integers: "d", "d+tq", "n+8"
	Slack float64 // allowance over the worst case bound's constant 1
	// Scale is a magnitude per output element. nil: the reference on absolute inputs,
	// right for multilinear kernels (sums and maxima of products) only.
	Scale func(r *Ref, a *A) []float64
	// Unit is the accumulator's unit roundoff where it is not that of acc(T): tensor cores
	// that keep fewer bits declare theirs. 0 = 2^-24, or 2^-53 where T is f64.
	Unit float64
	// Ulps counts roundings to a storage dtype on the way to the output. 0 = the default of
	// one where the output is narrower than the accumulator.
	Ulps float64
	// Extra is a further allowance per output element, for roundings to a narrow dtype inside.
	Extra func(r *Ref, a *A) []float64
}

// Reason implements Tolerance.
func (r Rounding[A]) Reason() string {
	scale := "the reference on absolute inputs"
	if r.Scale != nil {
		scale = "a declared magnitude"
	}
	return fmt.Sprintf("rounding: %g u × (%s) × %s", r.Slack, r.Terms, scale)
}

// Winner is for indices of a maximum: equal to the reference's wherever its margin over
// the runner-up exceeds the limit of output Of for one dot product. The reference gives
// both through Ref.Margin.
type Winner struct{ Of string }

// Reason implements Tolerance.
func (w Winner) Reason() string {
	return "index of a maximum: equal where the margin exceeds the limit of " + w.Of
}

// Bounds is the untyped side of Rounding, read by the harness.
type Bounds struct {
	Terms             string
	Slack, Unit, Ulps float64
}

// Bounds returns the constants.
func (r Rounding[A]) Bounds() Bounds { return Bounds{r.Terms, r.Slack, r.Unit, r.Ulps} }

// Sum evaluates a Terms expression over axis sizes.
func Sum(terms string, axes func(name string) (int64, bool)) (float64, error) {
	t, err := sum(terms, axes)
	if err != nil {
		return 0, fmt.Errorf("kernel: %w", err)
	}
	return t, nil
}

func sum(terms string, axes func(name string) (int64, bool)) (float64, error) {
	var t float64
	for _, w := range strings.Split(terms, "+") {
		w = strings.TrimSpace(w)
		if n, err := strconv.ParseInt(w, 10, 64); err == nil {
			t += float64(n)
			continue
		}
		n, ok := axes(w)
		if !ok {
			return 0, fmt.Errorf("terms %q: %q is neither an axis nor an integer", terms, w)
		}
		t += float64(n)
	}
	return t, nil
}

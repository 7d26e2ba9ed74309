package canon

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Fixed is a sum as a count of steps of its [Scale], or one of the values below.
// Sums of one scale order as integers do, greater first, NaN last; that order, not
// the one of [Scale.Float], which rounds, is canonical.
type Fixed int64

// The values that are not counts. A sum lies within ±2^62, so none collides.
const (
	NaN    Fixed = math.MinInt64
	NegInf Fixed = math.MinInt64 + 1
	PosInf Fixed = math.MaxInt64
)

var (
	// ErrScale reports bounds that no scale can have.
	ErrScale = errors.New("invalid bounds of a fixed-point sum")
	// ErrRange reports an addend beyond the bound that the scale was made for, or
	// more addends than it was made for. The sum is unchanged.
	ErrRange = errors.New("outside the bounds of the fixed-point sum")
)

// Scale fixes the step 2^−s of a sum of at most n addends of magnitude at most m:
// s = 62 − ⌈log2 n⌉ − ⌈log2 m⌉, so that the total stays within ±2^62. Both bounds
// must come from the query and the collection alone, never from a batch or a tile.
// For n = 0 and for m = 0 the logarithm counts as 0. The zero Scale is that of
// n = 0, m = 0 and admits no addend.
type Scale struct {
	n       int64
	m       float64
	shift   int
	by, too float64 // by·too = 2^s, by alone where s ≤ 1023
}

// NewScale returns the scale for n addends of magnitude at most m. It fails with
// [ErrScale] where n is negative or m is negative, infinite or NaN.
func NewScale(n int64, m float64) (Scale, error) {
	if n < 0 || !(m >= 0) || math.IsInf(m, 0) {
		return Scale{}, fmt.Errorf("canon: scale for %d addends of magnitude %v: %w", n, m, ErrScale)
	}
	s := 62 - log2Ceil(n) - log2CeilFloat(m)
	by := min(s, 1023)
	return Scale{n: n, m: m, shift: s, by: math.Ldexp(1, by), too: math.Ldexp(1, s-by)}, nil
}

// log2Ceil returns ⌈log2 n⌉, and 0 for n = 0.
func log2Ceil(n int64) int {
	if n <= 1 {
		return 0
	}
	return bits.Len64(uint64(n - 1))
}

// log2CeilFloat returns ⌈log2 m⌉, and 0 for m = 0.
func log2CeilFloat(m float64) int {
	if m == 0 {
		return 0
	}
	fraction, exp := math.Frexp(m) // fraction in [½, 1)
	if fraction == 0.5 {
		return exp - 1
	}
	return exp
}

// Shift returns s: the step is 2^−s.
func (c Scale) Shift() int { return c.shift }

// Bound returns the number of addends and the magnitude the scale admits.
func (c Scale) Bound() (n int64, m float64) { return c.n, c.m }

// Fixed returns x as a count of steps, rounded once, ties to even. NaN and the
// infinities become [NaN], [PosInf] and [NegInf]; a larger finite magnitude than
// the scale's fails with [ErrRange].
func (c Scale) Fixed(x float64) (Fixed, error) {
	if math.Abs(x) <= c.m {
		// Both products are exact, or so small that they round to 0 anyhow.
		return Fixed(math.RoundToEven(x * c.by * c.too)), nil
	}
	switch {
	case x != x:
		return NaN, nil
	case x > math.MaxFloat64:
		return PosInf, nil
	case x < -math.MaxFloat64:
		return NegInf, nil
	}
	return 0, fmt.Errorf("canon: addend %v, magnitude at most %v: %w", x, c.m, ErrRange)
}

// Float returns the value of f steps, rounded to float64 once: beyond 2^53 steps,
// different sums may have one float64.
func (c Scale) Float(f Fixed) float64 {
	switch f {
	case NaN:
		return math.NaN()
	case PosInf:
		return math.Inf(1)
	case NegInf:
		return math.Inf(-1)
	}
	return math.Ldexp(float64(f), -c.shift)
}

// AddTo adds x to total, element by element, as counts of steps: a cluster's sum
// of vectors. len(total) must be at least len(x). It fails with [ErrRange], and
// leaves total as it was, where an element is NaN, infinite or beyond the scale's
// magnitude; the caller keeps to the number of addends, and each total then stays
// within ±2^62 whatever the order.
func (c Scale) AddTo(total []int64, x []float32) error {
	for i, v := range x {
		if !(math.Abs(float64(v)) <= c.m) {
			return fmt.Errorf("canon: element %d is %v, magnitude at most %v: %w", i, v, c.m, ErrRange)
		}
	}
	total = total[:len(x)]
	for i, v := range x {
		total[i] += int64(math.RoundToEven(float64(v) * c.by * c.too))
	}
	return nil
}

// Sum adds up in fixed point. The result depends on the addends alone, not on
// their order or on how partial sums were merged. NaN and infinities follow IEEE
// 754: they absorb, and ∞ − ∞ is NaN. The zero Sum belongs to the zero Scale; make
// one with [Scale.Sum].
type Sum struct {
	scale            Scale
	total            int64
	left             int64 // addends still admitted
	nan, plus, minus bool
}

// Sum returns an empty sum, whose value is 0.
func (c Scale) Sum() Sum { return Sum{scale: c, left: c.n} }

// Add adds one value. It fails with [ErrRange] where x is finite and beyond the
// scale's magnitude, and where the sum already has all n addends.
func (s *Sum) Add(x float64) error {
	if s.left == 0 {
		return fmt.Errorf("canon: addend %v after all %d: %w", x, s.scale.n, ErrRange)
	}
	f, err := s.scale.Fixed(x)
	if err != nil {
		return err
	}
	s.left--
	switch f {
	case NaN:
		s.nan = true
	case PosInf:
		s.plus = true
	case NegInf:
		s.minus = true
	default:
		s.total += int64(f)
	}
	return nil
}

// Merge adds the addends of o, which must have the same scale. It fails with
// [ErrRange] where the scales differ or the two have more than n addends together.
func (s *Sum) Merge(o Sum) error {
	if s.scale != o.scale {
		return fmt.Errorf("canon: merge of sums for %d × %v and %d × %v: %w",
			s.scale.n, s.scale.m, o.scale.n, o.scale.m, ErrRange)
	}
	count := o.scale.n - o.left
	if count > s.left {
		return fmt.Errorf("canon: merge of %d addends, %d of %d left: %w", count, s.left, s.scale.n, ErrRange)
	}
	s.left -= count
	s.total += o.total
	s.nan, s.plus, s.minus = s.nan || o.nan, s.plus || o.plus, s.minus || o.minus
	return nil
}

// Fixed returns the sum as a count of steps, the form to rank by.
func (s *Sum) Fixed() Fixed {
	switch {
	case s.nan || s.plus && s.minus:
		return NaN
	case s.plus:
		return PosInf
	case s.minus:
		return NegInf
	}
	return Fixed(s.total)
}

// Value returns the sum, rounded to float64 once.
func (s *Sum) Value() float64 { return s.scale.Float(s.Fixed()) }

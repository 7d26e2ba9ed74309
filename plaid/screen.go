package plaid

import (
	"errors"
	"math"
	"sync"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/num"
)

// Screen is the arithmetic that finds the documents worth an exact score. Its error is
// bounded, and whatever the bound leaves open is scored exactly, so results do not depend
// on it.
type Screen string

// Screens. ScreenAuto takes the fastest that the device has.
const (
	ScreenAuto Screen = ""
	ScreenNone Screen = "none" // every document is scored exactly at once
	ScreenInt8 Screen = "int8" // centroid scores, and integer products of residuals
	ScreenF16  Screen = "f16"  // vectors rebuilt in half precision, for matrix units
)

const maxFloat = math.MaxFloat32

// screens are an index's operands in cheaper arithmetic.
type screens struct {
	mu        sync.Mutex
	chosen    Screen       // ScreenAuto = not yet
	half      backend.View // centroids in f16
	halfExact bool         // the centroids lost nothing
	table     backend.View // weights in i8, in steps of unit
	small     []int8
	unit      float64
	largest   float64 // |weight|
	rounding  float64 // the largest error of a weight in steps of unit

	exactTime, screenTime float64 // seconds a multiply-add of exact scores and of the chosen screen, 0 = not measured
}

// pays reports whether to screen documents that take so many multiply-adds to score exactly,
// for a screen that is expected to leave a share of them: it is launches and host work more.
func (sc *screens) pays(work, share float64) bool {
	const extra, margin = 30e-6, 0.8
	return sc.exactTime == 0 || extra+work*(sc.screenTime+share*sc.exactTime) < margin*work*sc.exactTime
}

// chooseScreen settles the screen once, with the operands that it needs.
func (ix *Index) chooseScreen() (Screen, error) {
	sc := &ix.screens
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.chosen != ScreenAuto {
		return sc.chosen, nil
	}
	if ix.opts.Screen == ScreenNone || ix.opts.Screen == ScreenAuto && ix.tokens < screenFrom {
		sc.chosen = ScreenNone
		return sc.chosen, nil
	}
	s, err := ix.dev.NewStream()
	if err != nil {
		return "", err
	}
	if err = ix.uploadScreens(s); err == nil {
		err = s.Sync()
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return "", err
	}
	chosen := ix.opts.Screen
	if chosen == ScreenAuto {
		chosen, err = ix.fastestScreen()
	}
	sc.chosen = chosen
	return chosen, err
}

// uploadScreens makes the operands of both screens: centroids in half, weights as integers.
func (ix *Index) uploadScreens(s backend.Stream) (err error) {
	if err := ix.longestInverse(s); err != nil {
		return err
	}
	sc := &ix.screens
	half := make([]uint16, len(ix.centroids))
	sc.halfExact = true
	for i, x := range ix.centroids {
		half[i] = uint16(num.F16FromFloat32(x))
		sc.halfExact = sc.halfExact && num.F16ToFloat32(num.F16FromFloat32(x)) == x
	}
	if sc.half, err = put(ix, s, backend.F16, half, int64(ix.k), int64(ix.dim)); err != nil {
		return err
	}
	for _, w := range ix.weights {
		sc.largest = max(sc.largest, math.Abs(float64(w)))
	}
	sc.unit = sc.largest / 127
	sc.small = make([]int8, len(ix.weights))
	for i, w := range ix.weights {
		if sc.unit > 0 {
			sc.small[i] = int8(math.RoundToEven(float64(w) / sc.unit))
		}
		sc.rounding = max(sc.rounding, math.Abs(float64(w)-sc.unit*float64(sc.small[i])))
	}
	sc.table, err = put(ix, s, backend.I8, sc.small, int64(len(sc.small)))
	return err
}

// longestInverse finds the largest inverse norm.
func (ix *Index) longestInverse(s backend.Stream) error {
	ix.invMax = 1
	if !ix.normalized {
		return nil
	}
	inv := make([]float32, min(ix.tokens, loadBlock))
	for from := int64(0); from < ix.tokens; from += loadBlock {
		part := inv[:min(loadBlock, ix.tokens-from)]
		if err := s.Download(raw(part), ix.mem.invNorm.Buf, ix.mem.invNorm.Off+from*4); err != nil {
			return err
		}
		for _, x := range part {
			ix.invMax = max(ix.invMax, x)
		}
	}
	return nil
}

// mostInverse is how large 1/‖v‖ may be for the integer screen: its error grows with it.
const mostInverse = 8

// screenable reports whether the screen's bounds hold for the queries at hand: neither
// integers nor halves may overflow.
func (s *Searcher) screenable() bool {
	ix, largest := s.ix, 0.0 // no component is larger than the norm
	for _, i := range s.run.group {
		largest = max(largest, s.run.norms[i])
	}
	if s.form == ScreenInt8 {
		const far = 1e30 // from the largest float32: room for every product and sum
		return ix.invMax <= mostInverse && ix.dim <= math.MaxInt32/(128*128) && largest*float64(ix.dim)*ix.rawNorm() < far
	}
	const large = 32768 // half of the largest f16: room for the sum of centroid and weight
	return (ix.screens.halfExact || ix.invMax <= mostInverse) && largest <= large && ix.centroidNorm+ix.screens.largest <= large
}

// screened writes a query in the screen's form from token at on, of forms, and returns by how much a
// score of the screen may differ from the exact one. norm is that of its longest token.
func (s *Searcher) screened(at int64, q []float32, norm float64) float64 {
	ix, v, d := s.ix, &s.v, s.ix.dim
	switch s.run.screen {
	case ScreenF16:
		num.F16.Encode32(part[byte](s.forms, v.forms, &v.half)[2*at*int64(d):], q)
		return ix.halfSlack(len(q)/d, norm)
	case ScreenInt8:
		small, unit := part[int8](s.forms, v.forms, &v.small)[at*int64(d):], part[float32](s.forms, v.forms, &v.unit)[at:]
		total := 0.0
		for t := 0; t*d < len(q); t++ {
			total += ix.quantize(small[t*d:(t+1)*d], &unit[t], q[t*d:(t+1)*d])
		}
		return total + sumSlack(len(q)/d, norm, float64(ix.invMax)*ix.rawNorm())
	}
	return 0
}

// quantize writes a token as integers and the value of one step of a product with the
// table; it returns a bound of the error of a product.
//
// With q = u·Q + a and w = U·W + b, component by component: q·w − u·U·(Q·W) = a·w + u·Q·b.
func (ix *Index) quantize(dst []int8, unit *float32, q []float32) float64 {
	sc := &ix.screens
	var bits uint32
	for _, x := range q {
		bits = max(bits, math.Float32bits(x)&^(1<<31)) // order of magnitudes
	}
	largest := float64(math.Float32frombits(bits))
	u, per := largest/127, 127/largest
	if !(per <= math.MaxFloat64) {
		u, per = 0, 0 // nothing but zeros, or as good as
	}
	const whole = 3 << 51 // added and taken away: the nearest integer, ties to even
	nearest := func(x float64) float64 { return float64(x*per) + whole - whole }
	var lost0, lost1, norm0, norm1 float64 // sums take turns: each is a chain of additions
	kept := 0
	dst = dst[:len(q)]
	for i := 1; i < len(q); i += 2 { // components are a multiple of 8
		x, y := float64(q[i-1]), float64(q[i])
		n, m := nearest(x), nearest(y)
		v, w := int(n), int(m)
		dst[i-1], dst[i] = int8(v), int8(w)
		kept += max(v, -v) + max(w, -w)
		lost0, lost1 = lost0+math.Abs(x-float64(u*n)), lost1+math.Abs(y-float64(u*m))
		norm0, norm1 = norm0+float64(x*x), norm1+float64(y*y)
	}
	*unit = float32(u * sc.unit)
	// Roundings of float32: of the centroid's score and the exact product, of the decoded
	// vector, of the step and of the multiply-add.
	rounding := float64(4*ix.dim+32) * 0x1p-23 * math.Sqrt(norm0+norm1) * ix.rawNorm()
	// Numbers below the normal ones lose more, or all: the step, which the integers multiply, and
	// every rounding.
	tiny := float64((127*127+4)*ix.dim+32) * 0x1p-126
	return float64(ix.invMax) * ((lost0+lost1)*sc.largest + u*float64(kept)*sc.rounding + rounding + tiny)
}

// rawNorm bounds the norms of decoded vectors before they are normalised.
func (ix *Index) rawNorm() float64 {
	return ix.centroidNorm + ix.screens.largest*math.Sqrt(float64(ix.dim))
}

// sumSlack bounds the rounding of a float32 sum over n query tokens, the longest of norm
// long, with vectors up to bound.
func sumSlack(n int, norm, bound float64) float64 {
	return float64(n) * float64(n) * 0x1p-22 * norm * bound
}

// halfSlack bounds the error of a score in half precision: query, decoded vector and,
// where the index has more precise ones, centroids are rounded once each, and products are
// accumulated in float32.
func (ix *Index) halfSlack(n int, norm float64) float64 {
	const u = 0x1p-11 // roundoff of f16
	d := float64(ix.dim)
	relative, inv := 2*u*ix.tokenNorm, 0.0
	if !ix.screens.halfExact {
		inv = float64(ix.invMax)
		relative += u * inv * ix.centroidNorm
	}
	relative += (3*d + 32) * 0x1p-24 * ix.tokenNorm
	tiny := math.Sqrt(d) * 0x1p-24 * (ix.tokenNorm + norm*(1+inv)) // roundings of subnormals
	return 1.05*float64(n)*(relative*norm+tiny) + sumSlack(n, norm, ix.tokenNorm)
}

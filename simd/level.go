package simd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/klauspost/cpuid/v2"
)

// Level is a bundle of instructions that a body may rely on. Levels are ordered within an
// architecture: Generic < AVX2 < AVX512, and Generic < NEON.
type Level uint8

// The levels. AVX2 means AVX2 and FMA; AVX512 means F, BW, CD, DQ and VL, the bundle that
// the Go runtime itself uses; NEON is the arm64 baseline.
const (
	Generic Level = iota
	AVX2
	AVX512
	NEON
)

var levelNames = [...]string{"generic", "avx2", "avx512", "neon"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// ParseLevel returns the level with this name.
func ParseLevel(s string) (Level, bool) {
	i := slices.Index(levelNames[:], s)
	return Level(max(i, 0)), i >= 0
}

// chain lists the levels of the running architecture in ascending order; noasm leaves Generic.
func chain() []Level {
	switch architecture {
	case "amd64":
		return []Level{Generic, AVX2, AVX512}
	case "arm64":
		return []Level{Generic, NEON}
	}
	return []Level{Generic}
}

// Detected is the highest level that this processor, this operating system and this
// build (tag noasm) offer. The operating system's part is whether it saves the registers.
func Detected() Level {
	l := Generic
	switch architecture {
	case "amd64":
		if cpuid.CPU.Supports(cpuid.AVX, cpuid.AVX2, cpuid.FMA3) {
			l = AVX2
			if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512CD, cpuid.AVX512DQ, cpuid.AVX512VL) {
				l = AVX512
			}
		}
	case "arm64":
		l = NEON // part of every arm64 that Go supports
	}
	return l
}

// Levels lists the levels up to the detected one, in ascending order.
func Levels() []Level {
	c := chain()
	return c[:slices.Index(c, Detected())+1]
}

// extensions are features beyond a level's bundle, each valid from its level upwards.
var extensions = []struct {
	level   Level
	feature cpuid.FeatureID
	word    string
}{
	{AVX512, cpuid.AVX512BF16, "avx512_bf16"},
	{AVX512, cpuid.AVX512VNNI, "avx512_vnni"},
	{AVX512, cpuid.AMXBF16, "amx_bf16"},
	{AVX512, cpuid.AMXINT8, "amx_int8"},
	{NEON, cpuid.ASIMDDP, "dotprod"},
	{NEON, cpuid.BF16, "bf16"},
	{NEON, cpuid.I8MM, "i8mm"},
}

// granted asks the operating system for what an extension needs beyond its level's registers.
var granted = map[string]func() bool{"amx_bf16": tileState, "amx_int8": tileState}

// features are the words of a device at level l, from the lowest level upwards.
func features(l Level) []string {
	var words []string
	for _, c := range chain() {
		if c == Generic || c > l {
			continue
		}
		words = append(words, c.String())
		for _, e := range extensions {
			if e.level == c && cpuid.CPU.Supports(e.feature) && (granted[e.word] == nil || granted[e.word]()) {
				words = append(words, e.word)
			}
		}
	}
	return words
}

// slowPairs: Intel's processors run VDPBF16PS at half the rate of the f32 FMA (80 against
// 160 GFLOP/s a core, measured on a Xeon of 2023), so that widening is faster there; on
// AMD's it has twice the rate.
var slowPairs = cpuid.CPU.VendorID == cpuid.Intel

// rank orders variants by what they require: an extension beats its level, a level the one below.
func rank(requires []string) int {
	best := 0
	for _, r := range requires {
		if l, ok := ParseLevel(r); ok {
			best = max(best, 4*int(l))
		}
		for _, e := range extensions {
			switch {
			case e.word != r:
			case e.feature == cpuid.AVX512BF16 && slowPairs:
				return 4*int(e.level) - 1 // after the level's own body
			case granted[r] != nil: // tiles beat vectors
				best = max(best, 4*int(e.level)+2)
			default:
				best = max(best, 4*int(e.level)+1)
			}
		}
	}
	return best
}

// better compares two requirements, best first.
func better(a, b []string) int { return cmp.Compare(rank(b), rank(a)) }

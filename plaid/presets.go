package plaid

import (
	"fmt"
	"math"

	"github.com/likbench/likbench/backend"
)

// Preset is a way to search.
type Preset uint8

// Presets. All of them score what they return exactly, with canonical arithmetic; they
// differ in which documents get that far.
const (
	// Auto probes cells, takes the best documents by their centroid scores, in two rounds
	// where there are many, and scores those exactly; or it scans every allowed document,
	// where that is not much dearer. Which one follows from the index, the query's length
	// and the options alone.
	Auto Preset = iota
	// Exact returns the first k of all allowed documents, proven: bounds say which documents
	// cannot be among them. They come from the radius of each cell where these exclude enough
	// documents to be less work than a scan, else from one in cheaper arithmetic with a bound
	// of its error. Which one follows from the index, the query's length, the options, and
	// whether the device has memory of its own.
	Exact
	// CompatFastPlaid selects as fast-plaid does: full centroid scores of every candidate,
	// the Candidates best (4096), a quarter of which are scored exactly. A filter limits
	// probing to the cells of its documents. It never widens.
	CompatFastPlaid
	// CompatPLAID selects as ColBERT's PLAID does for k results: cells that score below a
	// threshold do not count in the first of two rounds of centroid scores, but the best
	// cell of each query token always does. It never widens.
	CompatPLAID
)

var presetNames = [...]string{"auto", "exact", "compat-fastplaid", "compat-plaid"}

func (p Preset) String() string {
	if int(p) < len(presetNames) {
		return presetNames[p]
	}
	return fmt.Sprintf("preset(%d)", uint8(p))
}

// MarshalText is String.
func (p Preset) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// ParsePreset is the inverse of String.
func ParsePreset(name string) (Preset, error) {
	for i, n := range presetNames {
		if n == name {
			return Preset(i), nil
		}
	}
	return 0, fmt.Errorf("plaid: preset %q, want one of %v: %w", name, presetNames, backend.ErrArgument)
}

// Method is how documents are reached.
type Method uint8

// Methods. MethodAuto leaves the choice to the cost model.
const (
	MethodAuto   Method = iota
	MethodScan          // every allowed document is scored, in a screen's arithmetic first
	MethodProbe         // documents in the lists of the best cells are
	MethodBounds        // documents are visited in the order of an upper bound, while it matters: preset Exact
)

var methodNames = [...]string{"auto", "scan", "probe", "bounds"}

func (m Method) String() string {
	if int(m) < len(methodNames) {
		return methodNames[m]
	}
	return fmt.Sprintf("method(%d)", uint8(m))
}

// ParseMethod is the inverse of String.
func ParseMethod(name string) (Method, error) {
	for i, n := range methodNames {
		if n == name {
			return Method(i), nil
		}
	}
	return 0, fmt.Errorf("plaid: method %q, want one of %v: %w", name, methodNames, backend.ErrArgument)
}

// MarshalText is String.
func (m Method) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// SearchOptions say how to search; the zero value is preset Auto with its defaults.
type SearchOptions struct {
	Preset Preset
	// Method overrides the choice of Auto between MethodScan and MethodProbe, and that of
	// Exact between MethodScan and MethodBounds.
	Method Method
	// Probe is the cells of each query token; 0 takes the preset's: 4, 8 for
	// CompatFastPlaid, 1, 2 or 4 by k for CompatPLAID. More than there are is all.
	Probe int
	// Candidates is how many documents of the first round go on, by centroid scores; 0 takes
	// the preset's: 4096 for CompatFastPlaid, 256, 1024 or max(4k, 4096) by k for
	// CompatPLAID. Auto has one round unless it is given or more than 4096 documents are
	// expected; then 1024, or twice Exact, go on. Auto never takes less than k.
	Candidates int
	// Exact is how many documents are scored exactly; 0 takes the preset's: max(128, 8k)
	// for Auto, which never takes less than k, a quarter of Candidates for the others.
	Exact int
	// Threshold is CompatPLAID's t_cs; 0 takes the preset's: 0.5, 0.45 or 0.4 by k.
	Threshold float32
	// Filter is the ids that may be returned, in any order; nil allows all, an empty one
	// none.
	Filter []int64
	// Timings measures each stage, which costs time of its own and uses no graph.
	Timings bool
}

// check refuses options that mean nothing.
func (o *SearchOptions) check(k int) error {
	bad := func(what string, v any) error {
		return fmt.Errorf("plaid: %s is %v: %w", what, v, backend.ErrArgument)
	}
	switch {
	case k < 1 || k > math.MaxInt32:
		return bad("k", k)
	case int(o.Preset) >= len(presetNames):
		return bad("preset", o.Preset)
	case o.Method > MethodBounds, o.Method == MethodBounds && o.Preset != Exact, o.Method == MethodProbe && o.Preset != Auto:
		return fmt.Errorf("plaid: method %v is not one of preset %v: %w", o.Method, o.Preset, backend.ErrArgument)
	case o.Probe < 0:
		return bad("the number of cells to probe", o.Probe)
	case o.Candidates < 0:
		return bad("the number of candidates", o.Candidates)
	case o.Exact < 0:
		return bad("the number of exact scores", o.Exact)
	case o.Threshold != o.Threshold || math.IsInf(float64(o.Threshold), 0):
		return bad("threshold", o.Threshold)
	}
	return nil
}

// plan is what one query runs. Queries of a batch with equal plans run together.
type plan struct {
	method    Method
	probe     int
	pruned    bool // the first round counts live cells only
	floor     bool // and the last probed cell's score for tokens without one
	threshold float32
	cut       bool // live cells are those from threshold on
	first     int  // documents that go to a second round; 0 = one round
	exact     int  // documents scored exactly
	eligible  bool // only cells of allowed documents are probed
	widen     bool // probe more cells while too few documents are reached
	reason    string
}

// planFor is the plan of a query of tq tokens.
func (ix *Index) planFor(tq, k int, sel *selection, o *SearchOptions) plan {
	p := plan{method: MethodProbe}
	switch o.Preset {
	case Exact:
		p.method, p.reason = ix.exactMethod(tq, k, sel, o)
		return p
	case CompatFastPlaid:
		n := or(o.Candidates, 4096)
		p.probe, p.exact, p.eligible = or(o.Probe, 8), or(o.Exact, max(1, n/4)), !sel.all
		p.exact = min(p.exact, n)
		p.reason = "preset compat-fastplaid: its rules, no cost model"
	case CompatPLAID:
		small := plaidDefaults(k)
		p.probe, p.first = or(o.Probe, small.probe), or(o.Candidates, small.first)
		p.exact, p.threshold = or(o.Exact, max(1, p.first/4)), small.threshold
		if o.Threshold != 0 {
			p.threshold = o.Threshold
		}
		p.pruned, p.cut = true, true
		p.reason = fmt.Sprintf("preset compat-plaid: its rules for k %d", k)
	default:
		p.probe, p.exact, p.widen = or(o.Probe, autoProbe), max(k, or(o.Exact, max(128, 8*k))), true
		if o.Candidates > 0 {
			p.first = max(k, o.Candidates)
		}
		ix.chooseMethod(&p, tq, k, sel, o)
		ix.chooseRounds(&p, tq)
	}
	if p.probe > ix.k {
		p.reason += fmt.Sprintf("; %d cells a token were asked for, there are %d", p.probe, ix.k)
		p.probe = ix.k
	}
	return p
}

// autoProbe cells keep 99.9 % of the ten best on the collections that were measured.
const autoProbe = 4

const (
	// manyCandidates are worth a round in which only tokens in probed cells are looked up:
	// the others count as much as the last of these cells, which makes the score an upper
	// bound, and a poor order among the best. So manyKept go on to a round with all tokens.
	manyCandidates = 4 * manyKept
	manyKept       = 1024
)

// chooseRounds makes it two where many documents will be reached. With fewer cells than
// autoProbe the bound says too little: tokens are looked up at once then.
func (ix *Index) chooseRounds(p *plan, tq int) {
	if p.method != MethodProbe || p.probe < autoProbe {
		return
	}
	expected, _ := ix.expect(p, tq)
	if p.first == 0 && expected > manyCandidates {
		p.first = max(manyKept, 2*p.exact)
		p.reason += fmt.Sprintf("; %.3g documents expected: %d of them go on to a second round", expected, p.first)
	}
	p.pruned, p.floor = p.first > 0, p.first > 0
}

func or(x, otherwise int) int {
	if x > 0 {
		return x
	}
	return otherwise
}

// plaidDefaults are ColBERT's search defaults by k.
func plaidDefaults(k int) plan {
	switch {
	case k <= 10:
		return plan{probe: 1, threshold: 0.5, first: 256}
	case k <= 100:
		return plan{probe: 2, threshold: 0.45, first: 1024}
	}
	return plan{probe: 4, threshold: 0.4, first: max(4*k, 4096)}
}

// scanBias is how much dearer a scan may look and still be taken: its answer is complete,
// and its cost is known while a probe's is estimated.
const scanBias = 4

// chooseMethod compares the work of a scan with that of probing, in float32 multiply-adds.
// It knows nothing of the device, so that the answer is the same on every one.
func (ix *Index) chooseMethod(p *plan, tq, k int, sel *selection, o *SearchOptions) {
	scan, probe := ix.scanWork(tq, k, sel), ix.probeWork(p, tq)
	switch {
	case o.Method == MethodProbe:
		p.reason = "probe was asked for"
	case o.Method == MethodScan:
		p.method, p.reason = MethodScan, "scan was asked for"
	case scan <= scanBias*probe:
		p.method = MethodScan
		p.reason = fmt.Sprintf("scan of %d documents is estimated at %.3g operations, probing at %.3g: a scan may cost %d times as much, its answer is complete",
			len(sel.docs), scan, probe, scanBias)
	default:
		p.reason = fmt.Sprintf("probing is estimated at %.3g operations, a scan of %d documents at %.3g", probe, len(sel.docs), scan)
	}
}

// Costs of steps, in float32 multiply-adds.
const (
	costInt8   = 0.25 // of a component of an integer product
	costDecode = 0.25 // of rebuilding a component
	costEntry  = 4    // of an entry of an inverted list
	costCode   = 4    // of looking at a candidate's token
	costLookup = 0.5  // of a centroid score that is looked up
)

// meanLength is the tokens of a document that can be returned.
func (ix *Index) meanLength() float64 {
	return float64(ix.liveTokens) / float64(max(ix.Searchable(), 1))
}

func (ix *Index) centroidWork(tq int) float64 {
	return float64(ix.k) * float64(tq) * float64(ix.dim)
}

// scanWork is that of all allowed documents: screened, for which centroids are scored, where
// there are many.
func (ix *Index) scanWork(tq, k int, sel *selection) float64 {
	components := float64(sel.tokens) * float64(ix.dim)
	if screenFewer*firstLast(k) >= int64(len(sel.docs)) {
		return exactWork(components, tq)
	}
	return ix.centroidWork(tq) + screenWork(components, tq)
}

// exactWork is that of exact scores of documents of so many components.
func exactWork(components float64, tq int) float64 { return components * (float64(tq) + costDecode) }

// screenWork is that of screening documents of so many components, centroid scores aside.
func screenWork(components float64, tq int) float64 {
	return components * (costInt8*float64(tq) + costDecode)
}

// expect is how many documents probing will reach, if lists were drawn at random, and the
// entries of these lists.
func (ix *Index) expect(p *plan, tq int) (candidates, entries float64) {
	n := float64(max(ix.Searchable(), 1))
	entries = math.Min(float64(p.probe)*float64(tq), float64(ix.k)) * ix.cells.sizable
	return n * -math.Expm1(-entries/n), entries
}

func (ix *Index) probeWork(p *plan, tq int) float64 {
	candidates, entries := ix.expect(p, tq)
	length := ix.meanLength()
	exact := math.Min(float64(p.exact), candidates) * length
	return ix.centroidWork(tq) + entries*costEntry + candidates*length*(costCode+costLookup*float64(tq)) +
		exact*float64(ix.dim)*(costInt8*float64(tq)+costDecode)
}

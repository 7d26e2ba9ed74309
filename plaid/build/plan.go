package build

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// plan is what is drawn from the lengths of documents before any vector is looked at again.
type plan struct {
	documents []int64 // sampled, ascending; nil = every one that has tokens
	sampled   int64   // documents with tokens in the sample
	tokens    int64   // of the sample
	k         int64   // centroids
	training  int64   // tokens that k-means sees: the sample, thinned
	heldOut   []span  // ascending by document
	held      int64   // tokens of heldOut
}

// span is the tokens of a document from one on.
type span struct{ document, from int64 }

// Streams of random numbers, one for each purpose, so that one draw does not move another.
const (
	drawDocuments = iota + 1
	drawHeldOut
	drawTraining
	drawSeeds
)

// maxHeldOut is the most tokens that the table of buckets is measured on.
const maxHeldOut = 50_000

// centroidsFor is 2^⌊log2(16·√tokens)⌋, by integers: the largest power of two whose square
// is at most 256·tokens.
func centroidsFor(tokens int64) int64 {
	if tokens < 1 {
		return 1
	}
	return 1 << ((bits.Len64(uint64(tokens)<<8) - 1) / 2)
}

// documentsFor is the number of documents to sample of n.
func documentsFor(n int64) int64 {
	return min(1+int64(16*math.Sqrt(120*float64(n))), n)
}

// newPlan draws sample and held-out tokens for documents of the given lengths.
func newPlan(lens []int32, o *Options) *plan {
	p := &plan{}
	var filled, total int64
	for _, n := range lens {
		total += int64(n)
		if n > 0 {
			filled++
		}
	}
	p.sampled = documentsFor(filled)
	if o.Sample > 0 {
		p.sampled = min(int64(o.Sample), filled)
	}
	p.tokens = total
	if p.sampled < filled {
		p.draw(lens, o.Seed, filled)
	}
	p.k = centroidsFor(total)
	if o.Centroids > 0 {
		p.k = int64(o.Centroids)
	}
	p.k = min(p.k, p.tokens, math.MaxInt32)
	p.training = min(p.tokens, p.k*int64(o.PointsPerCentroid))
	if o.Codec != nil {
		p.k, p.training = int64(len(o.Codec.Centroids)/o.Codec.Dim), 0
	}
	p.holdOut(lens, o.Seed)
	return p
}

// draw picks the sampled documents among those with tokens.
func (p *plan) draw(lens []int32, seed uint64, filled int64) {
	s := newSelector(seed, drawDocuments, p.sampled, filled)
	p.documents, p.tokens = make([]int64, 0, p.sampled), 0
	for j, n := range lens {
		if n > 0 && s.take() {
			p.documents = append(p.documents, int64(j))
			p.tokens += int64(n)
		}
	}
}

// holdOut walks the sampled documents in random order and takes their tokens until there
// are enough; the last one gives its tail. Too few tokens for that are held out entirely.
func (p *plan) holdOut(lens []int32, seed uint64) {
	want := int64(math.Round(min(0.05*float64(p.tokens), maxHeldOut)))
	if want == 0 {
		want = p.tokens
	}
	order := p.documents
	if order == nil {
		for j, n := range lens {
			if n > 0 {
				order = append(order, int64(j))
			}
		}
	} else {
		order = slices.Clone(order)
	}
	r := newStream(seed, drawHeldOut)
	for i := 0; p.held < want; i++ {
		other := i + int(r.below(uint64(len(order)-i)))
		order[i], order[other] = order[other], order[i]
		n := int64(lens[order[i]])
		take := min(n, want-p.held)
		p.heldOut = append(p.heldOut, span{order[i], n - take})
		p.held += take
	}
	slices.SortFunc(p.heldOut, func(a, b span) int { return cmp.Compare(a.document, b.document) })
}

// stream is a source of random numbers whose values are fixed by this package and PCG.
type stream struct{ pcg *rand.PCG }

func newStream(seed uint64, purpose uint64) stream { return stream{rand.NewPCG(seed, purpose)} }

// below is a number from 0 to n−1; n is far below 2^64, so the bias of taking the high word
// is too.
func (r stream) below(n uint64) uint64 {
	high, _ := bits.Mul64(r.pcg.Uint64(), n)
	return high
}

// selector picks left of the next total items, each set as likely as another, item by item
// and without memory (Knuth, TAOCP 2, 3.4.2, algorithm S).
type selector struct {
	r           stream
	left, total int64
}

func newSelector(seed, purpose uint64, count, total int64) *selector {
	return &selector{newStream(seed, purpose), count, total}
}

func (s *selector) take() bool {
	picked := s.left > 0 && (s.left == s.total || int64(s.r.below(uint64(s.total))) < s.left)
	s.total--
	if picked {
		s.left--
	}
	return picked
}

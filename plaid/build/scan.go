package build

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"sync"
)

// Norms outside 1 ± oddNorm are counted: late-interaction models give unit vectors.
const oddNorm = 1e-2

// longest is the square of the norm that a token may have: the squares of what an index
// rebuilds are summed in float32, and where that overflows, scores are 0. What is rebuilt may
// be longer than the token, so there is room.
const longest = 0x1p124

// census is what the first reading finds out.
type census struct {
	lens   []int32
	tokens int64
	empty  int64   // documents without tokens
	odd    int64   // tokens of a norm that is odd, before any normalisation
	norm   float64 // the largest, and so a bound of every component; 1 if normalised
	digest string  // of the lengths and of a checksum of every document
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mark is what is known of a document's vectors.
type mark struct {
	crc     uint32
	odd     int64
	squares float64 // of the longest token
	err     error
}

// scan reads the whole collection once, and refuses components that are not finite.
func (b *builder) scan(ctx context.Context) error {
	r := &reader{c: b.c, d: b.d, limit: int64(min(1<<20, max(1<<22/b.d, 1))), room: &b.room}
	c := &b.census
	h := sha256.New()
	var marks []mark
	var entry [12]byte
	for part, err := range r.read(ctx, 0, nil) {
		if err != nil {
			return err
		}
		marks = markAll(marks[:0], part, b.d, b.o.Normalize)
		for i, m := range marks {
			if m.err != nil {
				return m.err
			}
			binary.LittleEndian.PutUint64(entry[:], uint64(part.lens[i]))
			binary.LittleEndian.PutUint32(entry[8:], m.crc)
			h.Write(entry[:])
			c.odd += m.odd
			c.norm = max(c.norm, m.squares)
			if part.lens[i] == 0 {
				c.empty++
			}
			c.tokens += int64(part.lens[i])
		}
		c.lens = append(c.lens, part.lens...)
		b.report(Progress{Stage: Scan, Documents: int64(len(c.lens)), Tokens: c.tokens})
	}
	c.norm = math.Sqrt(c.norm)
	if b.o.Normalize {
		c.norm = 1
	}
	c.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

// markAll looks at the documents of a block, several at a time.
func markAll(marks []mark, part *block, d int, normalize bool) []mark {
	starts := make([]int, len(part.lens)+1)
	for i, n := range part.lens {
		starts[i+1] = starts[i] + int(n)*d
		marks = append(marks, mark{})
	}
	var next sync.Mutex
	at := 0
	parallel(len(part.lens), 16, func(int, int) { // lengths differ: documents are handed out by need
		for {
			next.Lock()
			lo := at
			at = min(at+16, len(marks))
			hi := at
			next.Unlock()
			for i := lo; i < hi; i++ {
				marks[i] = markOf(part.vectors[starts[i]:starts[i+1]], part.numbers[i], d)
				if marks[i].squares > longest && marks[i].err == nil && !normalize {
					marks[i].err = documentError(part.numbers[i], fmt.Errorf("a norm of %.3g: %w", math.Sqrt(marks[i].squares), ErrNorm))
				}
			}
			if lo == hi {
				return
			}
		}
	})
	return marks
}

func markOf(vectors []float32, document int64, d int) mark {
	m := mark{crc: crc32.Checksum(bytesOf(vectors), castagnoli)}
	for t := 0; t < len(vectors); t += d {
		s := squares(vectors[t : t+d])
		if s-s != 0 {
			m.err = notFinite(vectors[t:t+d], document, int64(t/d))
			return m
		}
		if !((1-oddNorm)*(1-oddNorm) <= s && s <= (1+oddNorm)*(1+oddNorm)) {
			m.odd++
		}
		m.squares = max(m.squares, s)
	}
	return m
}

// squares is the sum of squares of a token, in an order of its own: it decides nothing but
// a bound and a count. Products are exact in float64 and float32 never overflows it, so the
// sum is finite where every component is, and at least the largest square.
func squares(x []float32) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s0, s1, s2, s3 = s0+a*a, s1+b*b, s2+c*c, s3+d*d
	}
	for _, v := range x {
		s0 += float64(v) * float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}

func notFinite(token []float32, document, number int64) error {
	for i, v := range token {
		if v-v != 0 {
			return &InputError{Document: document, Token: number, Component: i, Err: ErrNotFinite}
		}
	}
	return nil
}

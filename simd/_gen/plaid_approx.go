package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var _ = register("plaid_approx", func(c *build.Context) {
	for nv := 1; nv <= 4; nv++ {
		approxMax(c, nv, 32)
	}
	for nv := 1; nv <= 4; nv++ {
		approxMax(c, nv, 64)
	}
	approxLargest(c)
	approxLive(c)
	approxSteps(c)
})

// approxAhead is how many rows ahead are asked for: their addresses are known early, and
// tables of scores are larger than a first-level cache.
const approxAhead = 8

// approxMax emits the maximum over rows of scores that codes name, two rows at a time.
func approxMax(c *build.Context, nv, width int) {
	level, vector := "AVX2", c.YMM
	if width == 64 {
		level, vector = "AVX512", c.ZMM
	}
	name := fmt.Sprintf("approxMaxx%d%s", nv, level)
	begin(c, name, "func(scores *float32, stride, last int, codes *int32, n int, best *float32)",
		fmt.Sprintf("%s raises best[j], for %d columns, to the largest of column j over n rows, codes, of scores, or makes", name, nv*width/4),
		"it NaN. Rows are stride bytes apart; the last vector's columns are last bytes from the first, in best too.",
		"Reference: max of approx.")
	scores, stride, last := load(c, "scores"), load(c, "stride"), load(c, "last")
	codes, n, best := load(c, "codes"), load(c, "n"), load(c, "best")
	m, nan, mask := make([]reg.VecVirtual, nv), make([]reg.VecVirtual, nv), make([]reg.Register, nv)
	at := func(base reg.Register, j int) Mem {
		if j > 0 && j == nv-1 || nv == 1 {
			return Mem{Base: base, Index: last, Scale: 1}
		}
		return Mem{Base: base, Disp: j * width}
	}
	for j := range m {
		m[j] = vector()
		c.VMOVUPS(at(best, j), m[j])
		if width == 64 {
			mask[j] = c.K()
			c.KXORW(mask[j], mask[j], mask[j])
		} else {
			nan[j] = c.YMM()
			c.VXORPS(nan[j], nan[j], nan[j])
		}
	}
	x, y, k := vector(), vector(), c.K()
	var row [2]reg.GPVirtual
	row[0], row[1] = c.GP64(), c.GP64()
	ahead := c.GP64()
	address := func(code Mem, to reg.GPVirtual) {
		c.MOVL(code, to.As32())
		c.IMULQ(stride, to)
		c.ADDQ(scores, to)
	}
	fold := func(a, b reg.VecVirtual, j int) {
		if width == 64 {
			c.VCMPPS(U8(unordered), a, b, k)
			c.KORW(k, mask[j], mask[j])
			c.VMAXPS(a, b, a)
			c.VMAXPS(m[j], a, m[j])
			return
		}
		s := c.YMM()
		c.VCMPPS(U8(unordered), a, b, s)
		c.VORPS(s, nan[j], nan[j])
		c.VMAXPS(a, b, a)
		c.VMAXPS(m[j], a, m[j]) // the running maximum where either is NaN
	}
	c.SUBQ(U32(2), n)
	c.JLT(LabelRef("last"))
	c.Label("pass")
	c.CMPQ(n, U32(approxAhead))
	c.JLT(LabelRef("near"))
	for i := 0; i < 2; i++ {
		address(Mem{Base: codes, Disp: 4 * (approxAhead + i)}, ahead)
		for line := 0; line < nv*width; line += 64 {
			c.PREFETCHT0(Mem{Base: ahead, Disp: line})
		}
		c.PREFETCHT0(Mem{Base: ahead, Index: last, Scale: 1, Disp: width - 1})
	}
	c.Label("near")
	for i, r := range row {
		address(Mem{Base: codes, Disp: 4 * i}, r)
	}
	for j := range m {
		c.VMOVUPS(at(row[0], j), x)
		c.VMOVUPS(at(row[1], j), y)
		fold(x, y, j)
	}
	c.ADDQ(U32(8), codes)
	c.SUBQ(U32(2), n)
	c.JGE(LabelRef("pass"))
	c.Label("last")
	c.ADDQ(U32(1), n)
	c.JLT(LabelRef("done"))
	address(Mem{Base: codes}, row[0])
	for j := range m {
		c.VMOVUPS(at(row[0], j), x)
		c.VMOVAPS(x, y)
		fold(x, y, j)
	}
	c.Label("done")
	if width == 64 {
		c.VPTERNLOGD(U8(0xff), x, x, x)
	}
	for j := range m {
		if width == 64 {
			c.VBLENDMPS(x, m[j], mask[j], m[j])
		} else {
			c.VORPS(nan[j], m[j], m[j]) // all bits set is a NaN
		}
	}
	for j := range m {
		c.VMOVUPS(m[j], at(best, j))
	}
	c.VZEROUPPER()
	c.RET()
}

// approxLargest emits the check of codes: as unsigned numbers, so that negative ones are large.
func approxLargest(c *build.Context) {
	begin(c, "approxLargestAVX2", "func(codes *int32, n int) uint32",
		"approxLargestAVX2 is the largest of n codes as unsigned numbers, 0 of none. Reference: next of listing.")
	codes, n := load(c, "codes"), load(c, "n")
	var m [2]reg.VecVirtual
	for i := range m {
		m[i] = c.YMM()
		c.VPXOR(m[i], m[i], m[i])
	}
	c.SUBQ(U32(16), n)
	c.JLT(LabelRef("few"))
	c.Label("pass")
	for i := range m {
		c.VPMAXUD(Mem{Base: codes, Disp: 32 * i}, m[i], m[i])
	}
	c.ADDQ(U32(64), codes)
	c.SUBQ(U32(16), n)
	c.JGE(LabelRef("pass"))
	c.Label("few")
	c.VPMAXUD(m[1], m[0], m[0])
	x := c.XMM()
	c.VEXTRACTI128(U8(1), m[0], x)
	c.VPMAXUD(x, m[0].AsX(), x)
	for _, order := range []uint8{0x4e, 0xb1} {
		y := c.XMM()
		c.VPSHUFD(U8(order), x, y)
		c.VPMAXUD(y, x, x)
	}
	largest, code := c.GP32(), c.GP32()
	c.VMOVD(x, largest)
	c.ADDQ(U32(16), n)
	c.JZ(LabelRef("done"))
	c.Label("one")
	c.MOVL(Mem{Base: codes}, code)
	c.CMPL(code, largest)
	c.CMOVLHI(code, largest)
	c.ADDQ(U32(4), codes)
	c.DECQ(n)
	c.JNZ(LabelRef("one"))
	c.Label("done")
	c.VZEROUPPER()
	c.Store(largest, c.ReturnIndex(0))
	c.RET()
}

// approxLive emits the choice of codes by a bitmap, without a branch on it.
func approxLive(c *build.Context) {
	begin(c, "approxLiveAVX2", "func(codes *int32, n int, live, list *int32) int",
		"approxLiveAVX2 copies to list those of n codes, at least 1, whose bit in live is set, and returns their number.",
		"list has room for n. Reference: rows of approx.")
	codes, n, live, list := load(c, "codes"), load(c, "n"), load(c, "live"), load(c, "list")
	count, code, word := c.GP64(), c.GP64(), c.GP64()
	c.XORQ(count, count)
	c.Label("pass")
	c.MOVL(Mem{Base: codes}, code.As32())
	c.MOVQ(code, word)
	c.SHRQ(U8(5), word)
	c.MOVL(Mem{Base: live, Index: word, Scale: 4}, word.As32())
	c.MOVL(code.As32(), Mem{Base: list, Index: count, Scale: 4})
	c.BTL(code.As32(), word.As32()) // by the low five bits
	c.ADCQ(Imm(0), count)
	c.ADDQ(U32(4), codes)
	c.DECQ(n)
	c.JNZ(LabelRef("pass"))
	c.Store(count, c.ReturnIndex(0))
	c.RET()
}

// approxSteps emits the sum of maxima in steps.
func approxSteps(c *build.Context) {
	begin(c, "approxStepsAVX2", "func(best *float32, n int, scale float64) (total int64, seen uint64)",
		"approxStepsAVX2 adds n values, at least 1, times scale, each rounded half to even. Bits 62 and 63 of seen are",
		"clear unless one of them is not finite, or of magnitude 2^62 or more. Reference: steps of listing.")
	best, n := load(c, "best"), load(c, "n")
	scale := c.Load(c.Param("scale"), c.XMM())
	total, seen, r, sign := c.GP64(), c.GP64(), c.GP64(), c.GP64()
	x := c.XMM()
	c.XORQ(total, total)
	c.XORQ(seen, seen)
	c.VXORPS(x, x, x)
	c.Label("pass")
	c.VCVTSS2SD(Mem{Base: best}, x, x)
	c.VMULSD(scale, x, x)
	c.VCVTSD2SIQ(x, r)
	c.ADDQ(r, total)
	c.MOVQ(r, sign)
	c.SARQ(U8(63), sign)
	c.XORQ(sign, r)
	c.SUBQ(sign, r)
	c.ORQ(r, seen)
	c.ADDQ(U32(4), best)
	c.DECQ(n)
	c.JNZ(LabelRef("pass"))
	c.Store(total, c.ReturnIndex(0))
	c.Store(seen, c.ReturnIndex(1))
	c.RET()
}

package harness

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/kernel"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

const guard = 64

func TestRightResultsPass(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"toy_f32", "toy_bf16", "toy_f64"} {
		for _, l := range []Layout{{}, {Guard: guard}, {Guard: guard, Shift: 1}, {Guard: guard, Strided: true}, {Guard: guard, InPlace: true}} {
			o, e := r.ran(name, small(nil), l)
			res, err := o.Compare(e)
			require.NoError(t, err, "%s %+v", name, l)
			require.Positive(t, res.Values)
			require.Zero(t, res.Error)
			require.Zero(t, e.Status)
		}
	}
}

func TestWrongElement(t *testing.T) {
	r := newRig(t)
	for _, l := range []Layout{{}, {Guard: guard, Shift: 1}, {Guard: guard, InPlace: true}} {
		o, e := r.ran("toy_f32", small(values(1, 2, 3, 4, 5)), l)
		r.poke(o, "Y", 7, 6.5)
		r.poke(o, "Y", 9, 12)
		require.Equal(t, &MismatchError{Kernel: "toy_f32", Case: "small", Field: "Y", Seed: 1, Dims: kernel.Dims{"rows": 5, "n": 4},
			Index: 9, Got: 12, Want: 10, Limit: 0x1p-20, Count: 2}, r.mismatch(o, e), "the worst of two")
	}
	m := &MismatchError{Kernel: "toy_f32", Case: "small", Field: "Y", Seed: 1, Dims: kernel.Dims{"n": 4}, Index: 7, Got: 6.5, Want: 6, Limit: .25, Count: 2}
	require.EqualError(t, m, "harness: toy_f32, case small (seed 1, map[n:4]): output Y[7] is 6.5, want 6 within 0.25; 2 wrong")
	m.Why = "bytes before it were written"
	require.EqualError(t, m, "harness: toy_f32, case small (seed 1, map[n:4]): output Y: bytes before it were written")
}

// A result within its limit passes and is reported, one beyond does not.
func TestLimitDecides(t *testing.T) {
	r := newRig(t)
	o, e := r.ran("toy_f32", small(values(1, 2, 3, 4)), Layout{Guard: guard})
	r.poke(o, "Y", 1, 4+0x1p-21) // one ulp
	res, err := o.Compare(e)
	require.NoError(t, err)
	require.Equal(t, Result{Worst: 1, Error: 0x1p-21, Field: "Y", Values: 20 + 5 + 20 + 5}, res)
	r.poke(o, "Y", 1, 4+0x1p-20)
	require.EqualValues(t, 1, r.mismatch(o, e).Index)
}

func TestNaNAndInfinityMustMeetThemselves(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ want, got float64 }{{nan, 1}, {1, nan}, {inf, math.MaxFloat32}, {math.MaxFloat32 / 2, inf}, {inf, -inf}, {nan, inf}, {inf, nan}} {
		o, e := r.ran("toy_f32", small(values(c.want/2, 1, 1, 1)), Layout{Guard: guard})
		_, err := o.Compare(e)
		require.NoError(t, err)
		r.poke(o, "Y", 4, c.got)
		m := r.mismatch(o, e)
		require.EqualValues(t, 4, m.Index)
		require.EqualValues(t, 1, m.Count)
		require.Equal(t, math.IsNaN(c.got), math.IsNaN(m.Got))
	}
	o, e := r.ran("toy_f32", small(values(0)), Layout{Guard: guard})
	r.poke(o, "Copy", 3, math.Copysign(0, -1))
	_, err := o.Compare(e)
	require.NoError(t, err, "−0 equals +0")
	r.poke(o, "Copy", 3, 0x1p-149)
	require.Zero(t, r.mismatch(o, e).Limit, "a copy is exact")
}

func TestStrayWrites(t *testing.T) {
	r := newRig(t)
	for _, l := range []Layout{{Guard: guard}, {Guard: guard, Shift: 1}, {Guard: guard, Strided: true}, {Guard: guard, InPlace: true}} {
		for _, field := range []string{"X", "Y", "Sum", "Copy", "At"} {
			for why, at := range map[string]func(elements int64) int64{
				"bytes before it were written": func(int64) int64 { return -1 },
				"bytes after it were written":  func(n int64) int64 { return n },
			} {
				o, e := r.ran("toy_f32", small(nil), l)
				_, v := operand(o, field)
				r.poke(o, field, at(v.Bytes()/v.DType.Size()), 1)
				m := r.mismatch(o, e)
				require.Equal(t, why, m.Why, "%s %+v", field, l)
				if l.InPlace && field == "Y" {
					field = "X" // the same memory
				}
				require.Equal(t, field, m.Field)
			}
		}
	}
	// The far ends of the guards.
	o, e := r.ran("toy_f32", small(nil), Layout{Guard: guard})
	i, v := operand(o, "Sum")
	require.EqualValues(t, 64, v.Off)
	require.EqualValues(t, 64+5*4+64, o.slots[i].buf.Len())
	require.NoError(t, r.s.Upload(v.Buf, v.Buf.Len()-1, []byte{0}))
	require.Equal(t, "bytes after it were written", r.mismatch(o, e).Why)
}

func TestWrittenInputs(t *testing.T) {
	r := newRig(t)
	o, e := r.ran("toy_f32", small(nil), Layout{Guard: guard})
	r.poke(o, "X", 19, 5)
	m := r.mismatch(o, e)
	require.Equal(t, []string{"X", "the input was written"}, []string{m.Field, m.Why})

	o, e = r.ran("toy_f32", small(nil), Layout{Guard: guard, Strided: true})
	_, v := operand(o, "X")
	require.EqualValues(t, 4+3, v.Stride)
	r.poke(o, "X", 4, 5) // the gap after the first row
	m = r.mismatch(o, e)
	require.Equal(t, []string{"X", "the input was written"}, []string{m.Field, m.Why})

	// In place the input is the output.
	o, e = r.ran("toy_f32", small(nil), Layout{Guard: guard, InPlace: true})
	_, x := operand(o, "X")
	_, y := operand(o, "Y")
	require.Equal(t, x.Buf, y.Buf)
	_, err := o.Compare(e)
	require.NoError(t, err)
}

// Outputs that are not written keep the poison, which no output looks like.
func TestMissingWrites(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"toy_f32", "toy_bf16", "toy_f64"} {
		for _, l := range []Layout{{Guard: guard}, {Guard: guard, InPlace: true}} {
			o, e := r.ran(name, small(values(1, 2, 3)), l)
			_, err := o.Compare(e)
			require.NoError(t, err)
			require.NoError(t, o.Repoison())
			m := r.mismatch(o, e)
			require.Equal(t, "Y", m.Field)
			require.EqualValues(t, 20, m.Count)
			r.launch(o)
			_, err = o.Compare(e)
			require.NoError(t, err, "Repoison restores the inputs too")
		}
	}
	o, e := r.ran("toy_f32", small(nil), Layout{Guard: guard})
	for _, at := range []int64{0, 4} {
		r.poke(o, "At", at, -67372037) // 0xFBFBFBFB
	}
	m := r.mismatch(o, e)
	require.Equal(t, "At", m.Field)
	require.EqualValues(t, 2, m.Count)
}

func TestPoisonIsFinite(t *testing.T) {
	for _, k := range []string{"toy_f32", "toy_bf16", "toy_f64"} {
		_, in := instance(t, k)
		raw := make([]byte, 8)
		fillBytes(raw, poisonByte)
		x := make([]float64, 1)
		kernel.Decode(in.Types[0], x, raw)
		require.False(t, math.IsNaN(x[0]) || math.IsInf(x[0], 0), k)
		require.Less(t, x[0], -1e30, k)
	}
}

// An index counts where its margin exceeds what rounding may do, and where a tie is exact.
func TestWinnerCountsWhereTheMarginDecides(t *testing.T) {
	r := newRig(t)
	rows := values(
		1, 2, 3, 4, // decided
		.3, .3, .1, .2, // a tie of values that may round differently
		1, 7, 7, 2, // an exact tie: the lowest
		.3, .3+0x1p-23, 0, 0, // too close
		1, 1+0x1p-15, 0, 0) // decided
	for row, counts := range []bool{true, false, true, false, true} {
		o, e := r.ran("toy_f32", small(rows), Layout{Guard: guard})
		r.poke(o, "At", int64(row), 2)
		_, err := o.Compare(e)
		require.Equal(t, counts, err != nil, "row %d: %v", row, err)
	}
	o, e := r.ran("toy_f32", small(rows), Layout{Guard: guard})
	res, err := o.Compare(e)
	require.NoError(t, err)
	require.EqualValues(t, 20+5+20+3, res.Values)
	i, _ := operand(o, "At")
	_, limit, decided := e.Output(i)
	require.Nil(t, limit)
	require.Equal(t, []bool{true, false, true, false, true}, decided)
}

func TestOutputsAreRawBytes(t *testing.T) {
	r := newRig(t)
	o, _ := r.ran("toy_bf16", small(values(1), "At"), Layout{Guard: guard})
	out, err := o.Outputs()
	require.NoError(t, err)
	require.Len(t, out, 3)
	require.Equal(t, []byte{0x80, 0x3F}, out["Copy"][:2])
	require.Len(t, out["Sum"], 5*4)
}

func TestStatusIsExpected(t *testing.T) {
	r := newRig(t)
	o := r.build("toy_f32", small(values(1, 2, 3, 4, 13)), Layout{})
	e, err := o.Expect()
	require.NoError(t, err)
	require.Equal(t, kernel.StatusWord(1, 0, 0, 4), e.Status)
}

// Transfers that fail are errors, not mismatches.
func TestLostBuffers(t *testing.T) {
	r := newRig(t)
	o, e := r.ran("toy_f32", small(nil), Layout{Guard: guard})
	i, _ := operand(o, "Sum")
	buf := o.slots[i].buf
	require.NoError(t, buf.Free())
	_, err := o.Compare(e)
	require.Error(t, err)
	_, err = o.Outputs()
	require.Error(t, err)
	require.Error(t, o.Repoison())
	for j, b := range o.buffers {
		if b == buf {
			o.buffers = append(o.buffers[:j], o.buffers[j+1:]...)
			break
		}
	}
}

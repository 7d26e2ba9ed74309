package harness

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// A subset's reference equals the gathered rows of the whole one.
func TestSubsetEqualsGather(t *testing.T) {
	r := newRig(t)
	for _, l := range []Layout{{}, {Strided: true, Guard: 64}} {
		o, whole := r.ran("toy_f32", small(nil), l)
		sub, err := o.Subset([]int64{0, 2, 3})
		require.NoError(t, err)
		part, err := expect(sub.Kernel, o.Instance, sub.args, &sub.call)
		require.NoError(t, err)
		for i, op := range o.Kernel.Operands() {
			all, _, _ := whole.Output(i)
			got, _, _ := part.Output(i)
			if op.Mode == kernel.In {
				continue
			}
			width := len(all) / 5
			want := slices.Concat(all[:width], all[2*width:3*width], all[3*width:4*width])
			require.Equal(t, want, got, op.Name)
		}
		res, err := sub.compare(o, part)
		require.NoError(t, err)
		require.EqualValues(t, 3*4+3+3*4, res.Values-countDecided(part))
		r.poke(o, "Y", 3*4+1, 99)
		_, err = sub.compare(o, part)
		var m *MismatchError
		require.ErrorAs(t, err, &m)
		require.Equal(t, []any{"Y", int64(2*4 + 1)}, []any{m.Field, m.Index})
		r.poke(o, "Y", 3*4+1, all(whole, 2)[3*4+1])
		r.poke(o, "Y", 1*4+1, 99) // a row that is not chosen
		_, err = sub.compare(o, part)
		require.NoError(t, err)
	}
}

func all(e *Expected, operand int) []float64 { w, _, _ := e.Output(operand); return w }

func countDecided(e *Expected) (n int64) {
	for i := range e.outputs {
		for _, c := range e.outputs[i].check {
			if c {
				n++
			}
		}
	}
	return n
}

// The ragged axis goes with its segments, and an output's second axis is gathered too.
func TestSubsetOfRagged(t *testing.T) {
	r := newRig(t)
	c := kernel.Case{Name: "ragged", Dims: kernel.Dims{"d": 3}, Lens: map[string][]int64{"tq": {2, 3}, "td": {1, 4, 0, 2, 5}}}
	o, whole := r.ran("maxsim_f32", c, Layout{Guard: 64})
	sub, err := o.Subset([]int64{1, 2, 4})
	require.NoError(t, err)
	require.Equal(t, []int64{4, 0, 5}, sub.lens)
	part, err := expect(sub.Kernel, o.Instance, sub.args, &sub.call)
	require.NoError(t, err)
	pick := func(x []float64) (out []float64) {
		for row := range slices.Chunk(x, 5) {
			out = append(out, row[1], row[2], row[4])
		}
		return out
	}
	require.Equal(t, pick(all(whole, 6)), all(part, 6), "Score")
	require.Equal(t, pick(all(whole, 7)), all(part, 7), "Winner")
	_, err = sub.compare(o, part)
	require.NoError(t, err)

	// As a case of its own on the device it gives the same.
	alone, err := sub.Upload(r.s)
	require.NoError(t, err)
	r.launch(alone)
	got, err := alone.Outputs()
	require.NoError(t, err)
	outs, err := o.Outputs()
	require.NoError(t, err)
	require.Equal(t, sub.OutputsAt(outs), got)
	require.NoError(t, alone.Free())
}

// gather of an inner axis and of an axis behind a strided first one.
func TestGather(t *testing.T) {
	s := &Subset{}
	raw := []byte{0, 1, 2, 3, 9, 9, 4, 5, 6, 7}
	v := backend.View{Buf: &image{raw}, DType: backend.U8, Rank: 2, Dims: [backend.MaxRank]int64{2, 4}, Stride: 6}
	s.gather(0, &v, 1, []int64{0, 3}, nil)
	require.Equal(t, []byte{0, 3, 4, 7}, v.Buf.(*image).b)
	require.Equal(t, backend.View{Buf: v.Buf, DType: backend.U8, Rank: 2, Dims: [backend.MaxRank]int64{2, 2}}, v)

	v = backend.View{Buf: &image{raw}, DType: backend.U8, Rank: 2, Dims: [backend.MaxRank]int64{2, 4}, Stride: 6}
	s.gather(0, &v, 1, []int64{0, 2}, []int64{1, 2})
	require.Equal(t, []byte{0, 2, 3, 4, 6, 7}, v.Buf.(*image).b)

	v = backend.View{Buf: &image{raw}, DType: backend.U8, Rank: 2, Dims: [backend.MaxRank]int64{2, 4}, Stride: 6}
	s.gather(0, &v, 0, []int64{1}, nil)
	require.Equal(t, []byte{4, 5, 6, 7}, v.Buf.(*image).b)

	raw = []byte{0, 1, 2, 3, 9, 4, 5, 6, 7} // [2, 2, 2] with rows 5 apart
	v = backend.View{Buf: &image{raw}, DType: backend.U8, Rank: 3, Dims: [backend.MaxRank]int64{2, 2, 2}, Stride: 5}
	s.gather(0, &v, 2, []int64{1}, nil)
	require.Equal(t, []byte{1, 3, 5, 7}, v.Buf.(*image).b)
	require.Equal(t, [backend.MaxRank]int64{2, 2, 1}, v.Dims)
}

func TestSubsetNeedsAnIndependentAxis(t *testing.T) {
	r := newRig(t)
	o := r.build("hardest_negative_loss_f32", kernelCase(t, "hardest_negative_loss_f32"), Layout{})
	_, err := o.Subset([]int64{0})
	require.EqualError(t, err, "harness: hardest_negative_loss has no independent axis")
}

func kernelCase(t *testing.T, name string) kernel.Case {
	k, _ := instance(t, name)
	return k.Cases()[1]
}

// A case that is too large for the reference is compared on a seeded sample, ends and tile
// edges included; a small one whole.
func TestCompareSample(t *testing.T) {
	r := newRig(t)
	c := kernel.Case{Name: "large", Dims: kernel.Dims{"rows": 3000, "n": 4}, Attrs: map[string]any{"Gain": 2.}, Absent: []string{"Live"}}
	o := r.build("toy_f32", c, Layout{Guard: 64})
	r.launch(o)
	res, err := o.CompareSample(400) // multiply-adds: 100 rows of 4
	require.NoError(t, err)
	sampled := o.sampled.subset.Indices
	require.Len(t, sampled, 100)
	require.True(t, slices.IsSorted(sampled))
	for _, i := range []int64{0, 1, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 1023, 1024, 2998, 2999} {
		require.Contains(t, sampled, i)
	}
	require.EqualValues(t, 100*9+countDecided(o.sampled.expected), res.Values)
	for _, at := range []int64{sampled[0], sampled[57], sampled[99]} {
		was := r.peek(o, "Y")[4*at]
		r.poke(o, "Y", 4*at, 77)
		_, err = o.CompareSample(400)
		var m *MismatchError
		require.ErrorAs(t, err, &m)
		require.Equal(t, "Y", m.Field)
		r.poke(o, "Y", 4*at, was)
	}
	again := r.build("toy_f32", c, Layout{})
	r.launch(again)
	_, err = again.CompareSample(400)
	require.NoError(t, err)
	require.Equal(t, sampled, again.sampled.subset.Indices, "the sample is of the seed")

	whole := r.build("toy_f32", c, Layout{Guard: 64})
	r.launch(whole)
	res, err = whole.CompareSample(0)
	require.NoError(t, err)
	require.Nil(t, whole.sampled.subset)
	require.EqualValues(t, 3000*9+countDecided(whole.sampled.expected), res.Values)
	r.poke(whole, "Sum", 1717, 77)
	_, err = whole.CompareSample(0)
	require.Error(t, err)

	tiny := r.build("toy_f32", c, Layout{})
	r.launch(tiny)
	_, err = tiny.CompareSample(1)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2998, 2999}, tiny.sampled.subset.Indices)
	few := r.build("toy_f32", small(nil), Layout{})
	r.launch(few)
	_, err = few.CompareSample(1)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 3, 4}, few.sampled.subset.Indices)
}

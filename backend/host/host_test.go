package host_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/host"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/internal/sysmem"
)

func open(t *testing.T, opts ...backend.Option) (backend.Device, backend.Stream) {
	d, err := host.Backend{}.Open(0, opts...)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(s.Close(), d.Close())) })
	return d, s
}

func TestEveryInstanceIsBound(t *testing.T) {
	bound := map[string]bool{}
	for _, b := range (host.Backend{}).Bindings() {
		require.False(t, bound[b.Kernel])
		bound[b.Kernel] = true
	}
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			require.True(t, bound[in.Name], in.Name)
		}
	}
}

func TestOnlyDeviceZero(t *testing.T) {
	infos, err := host.Backend{}.Probe()
	require.NoError(t, err)
	require.Len(t, infos, 1)
	_, err = host.Backend{}.Open(1)
	require.EqualError(t, err, "host: unavailable: there is only device 0")
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

// Memory that the system does not have is refused: a Go program would not survive asking.
func TestTooMuchMemory(t *testing.T) {
	d, _ := open(t)
	if sysmem.Available() > 0 { // elsewhere the system does not say, and the request is tried
		_, err := d.Alloc(1 << 45)
		require.ErrorIs(t, err, backend.ErrOutOfMemory)
	}
	_, err := d.Alloc(math.MaxInt64)
	require.ErrorIs(t, err, backend.ErrTooLarge)
	require.Zero(t, d.Memory().Live)
}

func TestForeignObjects(t *testing.T) {
	d, s := open(t)
	o, other := open(t)
	b, err := o.Alloc(8)
	require.NoError(t, err)
	mine, err := d.Alloc(8)
	require.NoError(t, err)
	require.EqualError(t, s.Upload(b, 0, make([]byte, 8)), "kernel: transfer: operand buffer: belongs to another device")
	require.ErrorIs(t, s.Copy(mine, 0, b, 0, 8), backend.ErrArgument)
	require.ErrorIs(t, other.Download(make([]byte, 8), mine, 0), backend.ErrArgument)
	require.EqualError(t, s.Launch(program{}, &backend.Call{}), "kernel: launch: operand program: belongs to another device")
	e, err := s.Record()
	require.NoError(t, err)
	_, err = e.Elapsed(foreignEvent{})
	require.ErrorIs(t, err, backend.ErrArgument)
	require.NoError(t, e.Close())
	require.NoError(t, errors.Join(b.Free(), mine.Free()))
	require.EqualValues(t, 8, mine.Len())
}

// A launch that was resolved elsewhere, or before an operand was freed, names the operand.
func TestLaunchNamesTheOperand(t *testing.T) {
	d, s := open(t)
	o, _ := open(t)
	mine, err := d.Alloc(64)
	require.NoError(t, err)
	theirs, err := o.Alloc(64)
	require.NoError(t, err)
	p, err := d.Load("softmax_f32", "reference")
	require.NoError(t, err)
	a := kernels.SoftmaxArgs{X: backend.NewView(theirs, 0, backend.F32, 2, 2), Y: backend.NewView(mine, 0, backend.F32, 2, 2)}
	var c backend.Call
	_, err = kernels.Softmax.Resolve(&a, &c)
	require.NoError(t, err)
	require.EqualError(t, s.Launch(p, &c), "kernel: launch softmax_f32: operand X: belongs to another device")
	a.X = backend.NewView(mine, 32, backend.F32, 2, 2)
	_, err = kernels.Softmax.Resolve(&a, &c)
	require.NoError(t, err)
	require.NoError(t, errors.Join(theirs.Free(), mine.Free()))
	err = s.Launch(p, &c)
	require.EqualError(t, err, "host: softmax_f32: buffer of operand X: used after close")
	require.ErrorIs(t, err, backend.ErrClosed)
	require.EqualError(t, mine.Free(), "host: buffer: used after close")
}

type program struct{ backend.Program }

func (program) Kernel() string { return "foreign" }

type foreignEvent struct{ backend.Event }

func TestBuffersAreMapped(t *testing.T) {
	d, s := open(t)
	b, err := d.Alloc(4)
	require.NoError(t, err)
	require.NoError(t, s.Upload(b, 1, []byte{7, 8}))
	require.Equal(t, []byte{0, 7, 8, 0}, b.(backend.HostMapped).Bytes())
	require.NoError(t, b.Free())
	require.Nil(t, b.(backend.HostMapped).Bytes())
}

func TestLoadCaches(t *testing.T) {
	d, _ := open(t)
	p, err := d.Load("topk", "reference")
	require.NoError(t, err)
	again, err := d.Load("topk", "reference")
	require.NoError(t, err)
	require.Same(t, p, again)
	require.Equal(t, []string{"topk", "reference"}, []string{p.Kernel(), p.Variant()})
	for _, c := range [][2]string{{"topk", "fast"}, {"topk_f32", "reference"}} {
		_, err = d.Load(c[0], c[1])
		require.EqualError(t, err, "host: "+c[0]+"/"+c[1]+": unsupported: not declared")
	}
}

// The first data error since the last Sync is the one that Sync gives, once.
func TestSyncGivesTheFirstDataError(t *testing.T) {
	d, s := open(t)
	mem, err := d.Alloc(64)
	require.NoError(t, err)
	a := kernels.HardestNegativeLossArgs{Score: backend.NewView(mem, 0, backend.F32, 1, 2), Loss: backend.NewView(mem, 32, backend.F32, 1), Temperature: 1}
	raw := make([]byte, 8)
	for _, x := range [][]float64{{1, math.Inf(-1)}, {math.NaN(), 1}, {1, 2}} {
		kernel.Encode(backend.F32, raw, x)
		require.NoError(t, s.Upload(mem, 0, raw))
		require.NoError(t, kernels.HardestNegativeLoss.Launch(s, &a))
	}
	require.ErrorContains(t, s.Sync(), "no finite negative score in the row at element 0")
	require.NoError(t, s.Sync())
	require.NoError(t, mem.Free())
	require.ErrorIs(t, kernels.HardestNegativeLoss.Launch(s, &a), backend.ErrClosed, "the buffer is gone")
}

func TestClosedStream(t *testing.T) {
	d, err := host.Backend{}.Open(0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	b, err := d.Alloc(8)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = s.Record()
	require.ErrorIs(t, err, backend.ErrClosed)
	require.ErrorIs(t, s.Launch(nil, nil), backend.ErrClosed)
	require.ErrorIs(t, s.Upload(b, 0, nil), backend.ErrClosed)
	require.ErrorIs(t, s.Wait(nil), backend.ErrClosed)
	require.EqualError(t, d.Close(), "host: close: 1 buffers still live: 8 B")
	_, err = d.NewStream()
	require.ErrorIs(t, err, backend.ErrClosed)
	_, err = d.Load("topk", "reference")
	require.ErrorIs(t, err, backend.ErrClosed)
}

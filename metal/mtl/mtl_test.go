package mtl_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/metal/mtl"
	"github.com/likbench/likbench/metal/mtl/fake"
)

func one() fake.Config { return fake.Config{Devices: []fake.Device{{Name: "M"}}} }

// settled requires that nothing leaked, was used after release, or missed a pool; live is what may remain.
func settled(t *testing.T, rt *fake.Runtime, live int) {
	t.Helper()
	c := rt.Counts()
	require.Equal(t, live, c.Live, "live objects")
	require.Equal(t, c.Pushes, c.Pops)
	require.Zero(t, c.Unpooled)
	require.Zero(t, c.WrongPops)
	require.Zero(t, c.Overreleases)
}

func open(t *testing.T, rt *fake.Runtime) mtl.Device {
	t.Helper()
	d, err := mtl.New(rt).Default()
	require.NoError(t, err)
	require.NotNil(t, d)
	return d
}

func TestEveryObjectIsReleased(t *testing.T) {
	rt := fake.New(one())
	before := rt.Counts().Live
	d := open(t, rt)
	require.Equal(t, "M", d.Info().Name)
	require.True(t, d.Info().SIMDMatrix)
	q, err := d.NewQueue()
	require.NoError(t, err)
	l, err := d.NewLibrary("kernel void f() {}")
	require.NoError(t, err)
	p, err := l.Pipeline("f", []uint32{1, 2})
	require.NoError(t, err)
	require.Equal(t, 32, p.Width())
	e, err := d.NewEvent()
	require.NoError(t, err)
	a, err := d.NewBuffer(64)
	require.NoError(t, err)
	b, err := d.NewBuffer(64)
	require.NoError(t, err)
	copy(a.Bytes(), "hello")
	c, err := q.CommandBuffer()
	require.NoError(t, err)
	require.NoError(t, c.WaitFor(e, 1))
	for range 3 {
		require.NoError(t, c.Dispatch(&mtl.Dispatch{Pipeline: p, Buffers: []mtl.Bound{{Buffer: a}, {Buffer: b, Offset: 4}}, Bytes: make([]byte, 16),
			Dynamic: 16, Groups: mtl.Size{X: 2, Y: 1, Z: 1}, ThreadsGroup: mtl.Size{X: 32, Y: 1, Z: 1}}))
	}
	require.NoError(t, c.Copy(b, 1, a, 0, 5))
	require.NoError(t, c.Signal(e, 2))
	require.NoError(t, c.Commit())
	require.NoError(t, c.Wait())
	start, end := c.Times()
	require.Less(t, start, end)
	require.Equal(t, "\x00hello", string(b.Bytes()[:6]))
	require.Equal(t, 3, rt.Counts().Dispatches)
	for _, o := range []interface{ Release() }{c, a, b, e, p, l, q, d} {
		o.Release()
		o.Release() // later calls do nothing
	}
	settled(t, rt, before+2) // the class objects of the options and the constants
}

func TestReleaseEndsAnOpenEncoder(t *testing.T) {
	rt := fake.New(one())
	d := open(t, rt)
	q, err := d.NewQueue()
	require.NoError(t, err)
	l, err := d.NewLibrary("")
	require.NoError(t, err)
	p, err := l.Pipeline("f", nil)
	require.NoError(t, err)
	live := rt.Counts().Live
	c, err := q.CommandBuffer()
	require.NoError(t, err)
	require.NoError(t, c.Dispatch(&mtl.Dispatch{Pipeline: p, Groups: mtl.Size{X: 1, Y: 1, Z: 1}, ThreadsGroup: mtl.Size{X: 1, Y: 1, Z: 1}}))
	c.Release()
	settled(t, rt, live)
}

func TestErrorsAreReadInsideThePool(t *testing.T) {
	c := one()
	c.CompileError = "program_source:1: unknown type name"
	rt := fake.New(c)
	_, err := open(t, rt).NewLibrary("x")
	require.EqualError(t, err, "mtl: newLibraryWithSource: program_source:1: unknown type name (MTLCommandBufferErrorDomain 0)")

	c = one()
	c.NoFunction = true
	rt = fake.New(c)
	l, err := open(t, rt).NewLibrary("x")
	require.NoError(t, err)
	_, err = l.Pipeline("maxsim_f32_naive", nil)
	var e *mtl.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Text, "no function maxsim_f32_naive")

	c = one()
	c.BufferBytes = 100
	_, err = open(t, fake.New(c)).NewBuffer(101)
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, mtl.CommandOutOfMemory, e.Code)
	require.Zero(t, rt.Counts().Overreleases)
}

func TestCommandBufferFailure(t *testing.T) {
	c := one()
	c.CommandError = mtl.CommandPageFault
	rt := fake.New(c)
	q, err := open(t, rt).NewQueue()
	require.NoError(t, err)
	b, err := q.CommandBuffer()
	require.NoError(t, err)
	require.NoError(t, b.Commit())
	var e *mtl.Error
	require.ErrorAs(t, b.Wait(), &e)
	require.EqualValues(t, mtl.CommandPageFault, e.Code)
	require.Equal(t, mtl.CommandDomain, e.Domain)
}

func TestDevicesAreRetainedFromTheList(t *testing.T) {
	rt := fake.New(fake.Config{NoDefault: true, Devices: []fake.Device{{Name: "integrated", LowPower: true}, {Name: "discrete"}}})
	before := rt.Counts().Live
	drv := mtl.New(rt)
	d, err := drv.Default()
	require.NoError(t, err)
	require.Nil(t, d)
	list, err := drv.Devices()
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.True(t, list[0].Info().LowPower)
	for _, d := range list {
		d.Release()
	}
	settled(t, rt, before)
}

func TestSetBytesLimit(t *testing.T) {
	rt := fake.New(one())
	q, err := open(t, rt).NewQueue()
	require.NoError(t, err)
	c, err := q.CommandBuffer()
	require.NoError(t, err)
	require.Error(t, c.Dispatch(&mtl.Dispatch{Bytes: make([]byte, 4097)}))
}

// TestPoolsFollowThreads: goroutines change threads between launches; pools must not.
func TestPoolsFollowThreads(t *testing.T) {
	rt := fake.New(one())
	d := open(t, rt)
	l, err := d.NewLibrary("")
	require.NoError(t, err)
	p, err := l.Pipeline("f", nil)
	require.NoError(t, err)
	live := rt.Counts().Live
	const goroutines, launches = 8, 10000
	var wg sync.WaitGroup
	errs := make(chan error, goroutines)
	for range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			q, err := d.NewQueue()
			if err != nil {
				errs <- err
				return
			}
			defer q.Release()
			for range launches / goroutines {
				c, err := q.CommandBuffer()
				if err == nil {
					err = c.Dispatch(&mtl.Dispatch{Pipeline: p, Groups: mtl.Size{X: 1, Y: 1, Z: 1}, ThreadsGroup: mtl.Size{X: 1, Y: 1, Z: 1}})
				}
				runtime.Gosched()
				if err == nil {
					err = c.Commit()
				}
				runtime.Gosched()
				if err == nil {
					err = c.Wait()
				}
				if err != nil {
					errs <- err
					return
				}
				c.Release()
			}
		}()
	}
	wg.Wait()
	require.Empty(t, errs)
	if !fake.ThreadsKnown {
		require.Equal(t, live, rt.Counts().Live)
		return
	}
	settled(t, rt, live)
	require.Equal(t, launches, rt.Counts().Dispatches)
}

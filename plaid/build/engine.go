package build

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
)

// Launches of nearest_centroid grow until one takes this long: short enough to stop at, long
// enough that starting it costs nothing.
const pieceTime = 100 * time.Millisecond

// engine holds the device side of a build: the centroids, a window of tokens, and what the
// kernels make of them. Bits of results do not depend on how work is cut into launches.
type engine struct {
	dev      backend.Device
	stream   backend.Stream
	fallback kernel.Fallback
	buffers  []backend.Buffer
	closers  []interface{ Close() error }

	d, k, window int64 // components, centroids, tokens of the window
	piece        int64 // tokens of the next launch

	token, centroid, code, score, sum, count backend.View
	cutoff, weight, packed, inv              backend.View

	nearest *kernel.Prepared[kernels.NearestCentroidArgs]
	update  *kernel.Prepared[kernels.KMeansUpdateArgs]
	encode  *kernel.Prepared[kernels.ResidualEncodeArgs]
}

// newEngine makes the window and what assigning its tokens to k centroids takes.
func newEngine(dev backend.Device, d, k, window int64) (*engine, error) {
	e := &engine{dev: dev, d: d, k: k, window: window}
	info := dev.Info()
	e.piece = 1024 * int64(max(info.Units, 1))
	err := e.open()
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *engine) open() (err error) {
	if e.stream, err = e.dev.NewStream(); err != nil {
		return err
	}
	for _, a := range []struct {
		to   *backend.View
		t    backend.DType
		dims []int64
	}{
		{&e.token, backend.F32, []int64{e.window, e.d}}, {&e.centroid, backend.F32, []int64{e.k, e.d}},
		{&e.code, backend.I32, []int64{e.window}}, {&e.score, backend.F32, []int64{e.window}},
	} {
		if *a.to, err = e.view(a.t, a.dims...); err != nil {
			return err
		}
	}
	args := e.nearestArgs(0, min(e.window, maxPiece))
	if e.nearest, err = kernels.NearestCentroid.Prepare(e.stream, &args, kernel.WithHostFallback(&e.fallback)); err != nil {
		return err
	}
	e.closers = append(e.closers, e.nearest)
	return nil
}

// maxPiece bounds the scratch of a launch.
const maxPiece = 1 << 20

// view allocates a dense view.
func (e *engine) view(t backend.DType, dims ...int64) (backend.View, error) {
	v := backend.NewView(nil, 0, t, dims...)
	buf, err := e.dev.Alloc(v.Bytes())
	if err != nil {
		return backend.View{}, err
	}
	e.buffers = append(e.buffers, buf)
	v.Buf = buf
	return v, nil
}

// rows is n rows of a view from one on.
func rows(v backend.View, from, n int64) backend.View {
	v.Off += from * v.RowElements() * v.DType.Size()
	v.Dims[0] = n
	return v
}

func (e *engine) nearestArgs(at, n int64) kernels.NearestCentroidArgs {
	return kernels.NearestCentroidArgs{Token: rows(e.token, at, n), Centroid: e.centroid, Code: rows(e.code, at, n), Score: rows(e.score, at, n)}
}

// setCentroids uploads the centroids.
func (e *engine) setCentroids(x []float32) error {
	return e.stream.Upload(e.centroid.Buf, 0, bytesOf(x))
}

// setTokens uploads vectors to the window, from token at on.
func (e *engine) setTokens(at int64, x []float32) error {
	return e.stream.Upload(e.token.Buf, at*e.d*4, bytesOf(x))
}

// assign finds the centroids of n tokens of the window; done hears of every launch.
func (e *engine) assign(ctx context.Context, at, n int64, done func(tokens int64)) error {
	for n > 0 {
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		step := min(n, e.piece, maxPiece)
		start := time.Now()
		args := e.nearestArgs(at, step)
		if err := e.nearest.Launch(&args); err != nil {
			return fmt.Errorf("build: nearest centroids: %w", err)
		}
		if err := e.stream.Sync(); err != nil {
			return fmt.Errorf("build: nearest centroids of tokens %d to %d: %w", at, at+step, err)
		}
		if step == e.piece && time.Since(start) < pieceTime {
			e.piece = min(2*e.piece, maxPiece)
		}
		at, n = at+step, n-step
		done(step)
	}
	return nil
}

// prepareUpdate makes what sums take.
func (e *engine) prepareUpdate(shift int64) (err error) {
	if e.sum, err = e.view(backend.I64, e.k, e.d); err != nil {
		return err
	}
	if e.count, err = e.view(backend.I64, e.k); err != nil {
		return err
	}
	args := e.updateArgs(e.window, shift)
	if e.update, err = kernels.KMeansUpdate.Prepare(e.stream, &args, kernel.WithHostFallback(&e.fallback)); err != nil {
		return err
	}
	e.closers = append(e.closers, e.update)
	return nil
}

func (e *engine) updateArgs(n, shift int64) kernels.KMeansUpdateArgs {
	return kernels.KMeansUpdateArgs{Token: rows(e.token, 0, n), Code: rows(e.code, 0, n), Sum: e.sum, Count: e.count, Shift: shift}
}

// sums writes the sums and counts of the first n tokens of the window, by their codes.
func (e *engine) sums(n, shift int64, sum, count []int64) error {
	args := e.updateArgs(n, shift)
	err := e.update.Launch(&args)
	if err == nil {
		err = e.stream.Download(bytesOf(sum), e.sum.Buf, 0)
	}
	if err == nil {
		err = e.stream.Download(bytesOf(count), e.count.Buf, 0)
	}
	if err == nil {
		err = e.stream.Sync()
	}
	if err != nil {
		return fmt.Errorf("build: sums of %d tokens: %w", n, err)
	}
	return nil
}

// codes reads the codes, and unless nil the scores, of tokens of the window from one on.
func (e *engine) codes(at int64, code []int32, score []float32) error {
	err := e.stream.Download(bytesOf(code), e.code.Buf, at*4)
	if err == nil && score != nil {
		err = e.stream.Download(bytesOf(score), e.score.Buf, at*4)
	}
	if err != nil {
		return fmt.Errorf("build: codes of %d tokens: %w", len(code), err)
	}
	return nil
}

// tokenAt reads a token of the window.
func (e *engine) tokenAt(at int64, x []float32) error {
	return e.stream.Download(bytesOf(x), e.token.Buf, at*e.d*4)
}

// prepareEncode uploads the table and makes what encoding up to n tokens at a time takes.
func (e *engine) prepareEncode(c *Codec, n int64) (err error) {
	rb := e.d * int64(c.Bits) / 8
	for _, a := range []struct {
		to   *backend.View
		t    backend.DType
		dims []int64
		from []float32
	}{
		{&e.cutoff, backend.F32, []int64{int64(len(c.Cutoffs))}, c.Cutoffs}, {&e.weight, backend.F32, []int64{int64(len(c.Weights))}, c.Weights},
		{&e.packed, backend.U8, []int64{n, rb}, nil}, {&e.inv, backend.F32, []int64{n}, nil},
	} {
		if *a.to, err = e.view(a.t, a.dims...); err != nil {
			return err
		}
		if a.from != nil {
			if err = e.stream.Upload(a.to.Buf, 0, bytesOf(a.from)); err != nil {
				return err
			}
		}
	}
	args := e.encodeArgs(0, n, c.Bits)
	if e.encode, err = kernels.ResidualEncode.Prepare(e.stream, &args, kernel.WithHostFallback(&e.fallback)); err != nil {
		return err
	}
	e.closers = append(e.closers, e.encode)
	return nil
}

func (e *engine) encodeArgs(at, n int64, bits int) kernels.ResidualEncodeArgs {
	return kernels.ResidualEncodeArgs{
		Token: rows(e.token, at, n), Code: rows(e.code, at, n), Centroid: e.centroid, Cutoff: e.cutoff, Weight: e.weight,
		Packed: rows(e.packed, 0, n), InvNorm: rows(e.inv, 0, n), Bits: int64(bits),
	}
}

// residuals packs the residuals of tokens of the window that have been assigned.
func (e *engine) residuals(at int64, bits int, code []int32, packed []byte, inv []float32) error {
	args := e.encodeArgs(at, int64(len(code)), bits)
	err := e.encode.Launch(&args)
	if err == nil {
		err = e.codes(at, code, nil)
	}
	if err == nil {
		err = e.stream.Download(packed, e.packed.Buf, 0)
	}
	if err == nil {
		err = e.stream.Download(bytesOf(inv), e.inv.Buf, 0)
	}
	if err == nil {
		err = e.stream.Sync()
	}
	if err != nil {
		return fmt.Errorf("build: residuals of %d tokens: %w", len(code), err)
	}
	return nil
}

// Close frees everything on the device.
func (e *engine) Close() error {
	var errs []error
	for _, c := range e.closers {
		errs = append(errs, c.Close())
	}
	for _, b := range e.buffers {
		errs = append(errs, b.Free())
	}
	if e.stream != nil {
		errs = append(errs, e.stream.Close())
	}
	return errors.Join(errs...)
}

// bytesOf views numbers as bytes, in the order of memory: little-endian, as this module
// runs on nothing else.
func bytesOf[T int32 | int64 | float32](x []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(t)))
}

package cuda

import (
	"errors"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

// chunk is the size of one of the two staging blocks: large enough that the engine's start-up is hidden, small
// enough that copying into one overlaps the transfer of the other.
const chunk = 4 << 20

// staging is page-locked memory of a stream, through which transfers of Go memory pass: no asynchronous call ever
// holds a Go pointer. The two blocks take turns.
type staging struct {
	blocks [2]block
	cur    int
}

// block is one block: bytes in use, and the event behind the transfers that use them.
type block struct {
	mem     []byte
	used    int
	event   driver.Event
	pending bool // event is recorded and not yet waited for
}

// rest says that no transfer is in flight any more.
func (g *staging) rest() {
	for i := range g.blocks {
		g.blocks[i].used, g.blocks[i].pending = 0, false
	}
}

// open allocates the blocks at first use.
func (g *staging) open(d *device) error {
	for i := range g.blocks {
		b := &g.blocks[i]
		if b.mem != nil {
			continue
		}
		e, s := d.api.EventCreate(false)
		if err := d.check("cuEventCreate", s); err != nil {
			return err
		}
		p, s := d.api.HostAlloc(chunk)
		if err := d.check("cuMemHostAlloc", s); err != nil {
			return errors.Join(err, d.check("cuEventDestroy", d.api.EventDestroy(e)))
		}
		b.event, b.mem = e, unsafe.Slice((*byte)(p), chunk)
	}
	return nil
}

func (g *staging) dispose(d *device) error {
	var errs []error
	for i := range g.blocks {
		b := &g.blocks[i]
		if b.mem != nil {
			errs = append(errs, d.check("cuMemFreeHost", d.api.HostFree(unsafe.Pointer(unsafe.SliceData(b.mem)))),
				d.check("cuEventDestroy", d.api.EventDestroy(b.event)))
		}
		*b = block{}
	}
	return errors.Join(errs...)
}

// room returns a block with free bytes, which is the other one, once its transfers are done, if this one is full.
func (s *stream) room() (*block, error) {
	g := &s.staging
	b := &g.blocks[g.cur]
	if b.used < len(b.mem) {
		return b, nil
	}
	if err := s.mark(b); err != nil {
		return nil, err
	}
	g.cur ^= 1
	b = &g.blocks[g.cur]
	if err := s.settle(b); err != nil {
		return nil, err
	}
	b.used = 0
	return b, nil
}

// mark records a block's event.
func (s *stream) mark(b *block) error {
	b.pending = true
	return s.d.check("cuEventRecord", s.d.api.EventRecord(b.event, s.handle))
}

// settle waits for a block's event.
func (s *stream) settle(b *block) error {
	if !b.pending {
		return nil
	}
	b.pending = false
	return s.d.check("cuEventSynchronize", s.d.api.EventSync(b.event))
}

// Upload copies src through staging; from page-locked memory it copies directly and waits.
func (s *stream) Upload(dst backend.Buffer, off int64, src []byte) error {
	if err := s.outsideCapture("upload"); err != nil {
		return err
	}
	to, err := s.d.part("upload", "dst", dst, off, int64(len(src)))
	if err != nil || len(src) == 0 {
		return err
	}
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	s.busy.Store(true)
	if s.d.isPinned(src) {
		p := unsafe.Pointer(unsafe.SliceData(src))
		if err := s.d.check("cuMemcpyHtoDAsync", s.d.api.CopyIn(to, p, int64(len(src)), s.handle)); err != nil {
			return err
		}
		return s.d.check("cuStreamSynchronize", s.d.api.StreamSync(s.handle))
	}
	if err := s.staging.open(s.d); err != nil {
		return err
	}
	for len(src) > 0 {
		b, err := s.room()
		if err != nil {
			return err
		}
		n := copy(b.mem[b.used:], src)
		p := unsafe.Pointer(&b.mem[b.used])
		if err := s.d.check("cuMemcpyHtoDAsync", s.d.api.CopyIn(to, p, int64(n), s.handle)); err != nil {
			return err
		}
		b.used = min((b.used+n+63)&^63, len(b.mem)) // the next transfer starts on its own cache line
		src, to = src[n:], to+driver.Pointer(n)
	}
	return nil
}

// Download waits for the work before it and copies through staging, or directly to page-locked memory.
func (s *stream) Download(dst []byte, src backend.Buffer, off int64) error {
	if err := s.outsideCapture("download"); err != nil {
		return err
	}
	from, err := s.d.part("download", "src", src, off, int64(len(dst)))
	if err != nil || len(dst) == 0 {
		return err
	}
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	s.busy.Store(true)
	if s.d.isPinned(dst) {
		p := unsafe.Pointer(unsafe.SliceData(dst))
		if err := s.d.check("cuMemcpyDtoHAsync", s.d.api.CopyOut(p, from, int64(len(dst)), s.handle)); err != nil {
			return err
		}
		err := s.d.check("cuStreamSynchronize", s.d.api.StreamSync(s.handle))
		s.busy.Store(err != nil)
		return err
	}
	return s.downloadStaged(dst, from)
}

// downloadStaged copies one block out while the next is on its way. Blocks may still be read by uploads: those
// come earlier in the stream.
func (s *stream) downloadStaged(dst []byte, from driver.Pointer) error {
	if err := s.staging.open(s.d); err != nil {
		return err
	}
	request := func(i, at int) error {
		b := &s.staging.blocks[i]
		n := min(len(b.mem), len(dst)-at)
		p := unsafe.Pointer(unsafe.SliceData(b.mem))
		if err := s.d.check("cuMemcpyDtoHAsync", s.d.api.CopyOut(p, from+driver.Pointer(at), int64(n), s.handle)); err != nil {
			return err
		}
		return s.mark(b)
	}
	if err := request(0, 0); err != nil {
		return err
	}
	for at, i := 0, 0; at < len(dst); at, i = at+chunk, i^1 {
		if at+chunk < len(dst) {
			if err := request(i^1, at+chunk); err != nil {
				return err
			}
		}
		b := &s.staging.blocks[i]
		if err := s.settle(b); err != nil {
			return err
		}
		copy(dst[at:], b.mem)
	}
	s.staging.rest() // all that came before is done too
	s.busy.Store(false)
	return nil
}

package cuda

import (
	"fmt"
	"unsafe"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/internal/arena"
)

// maxWords is the longest argument block: addresses, axes, strides, attributes, and the four words of the block.
const maxWords = 2*backend.MaxOperands + backend.MaxAxes + backend.MaxAttrs + 4

// maxMaps is the most tensor maps of a stage: parameters without the block.
const maxMaps = driver.MaxParams - 1

// launch is the memory of a stream's launches, reused: the library reads it through addresses, so it must neither
// move nor be on a stack.
type launch struct {
	words    [maxWords]uint64
	call     driver.Launch
	geometry Geometry
	maps     []tensorMap // maxMaps
	wanted   driver.TensorMap
}

// tensorMap is an encoded descriptor and what it was encoded from, so that an unchanged one is not encoded again.
type tensorMap struct {
	from    driver.TensorMap
	encoded *[128]byte
	valid   bool
}

func (l *launch) init(d *device) {
	l.geometry.Units, l.geometry.MaxShared = d.card.info.Units, d.card.shared
	l.call.Params[0] = unsafe.Pointer(&l.words)
}

// openMaps makes room for tensor maps, aligned to 64 bytes as the driver wants them.
func (l *launch) openMaps() {
	raw := make([]byte, maxMaps*128+64)
	skip := -uintptr(unsafe.Pointer(&raw[0])) & 63
	l.maps = make([]tensorMap, maxMaps)
	for i := range l.maps {
		l.maps[i].encoded = (*[128]byte)(raw[int(skip)+i*128:])
		l.call.Params[1+i] = unsafe.Pointer(l.maps[i].encoded)
	}
}

// fill writes the argument block of a call: addresses, axes, row strides, attributes, scratch, status and tag.
func (s *stream) fill(p *program, c *backend.Call, m *arena.Memory[scratch]) error {
	w, n := &s.launch.words, 0
	for i := range c.Operands[:c.NOperand] {
		v := &c.Operands[i]
		w[n] = 0
		if !v.Absent() {
			b, ok := v.Buf.(*buffer)
			if !ok || b.device != s.d {
				return foreign("launch "+p.Kernel(), operandName(p, i))
			}
			if b.freed.Load() {
				return closed(fmt.Sprintf("%s: buffer of operand %s", p.Kernel(), operandName(p, i)))
			}
			w[n] = uint64(b.address) + uint64(v.Off)
		}
		n++
	}
	for _, a := range c.Axes[:c.NAxis] {
		w[n] = uint64(a)
		n++
	}
	for _, i := range p.v.strided {
		w[n] = uint64(c.Operands[i].RowStride())
		n++
	}
	for _, a := range c.Attrs[:c.NAttr] {
		w[n] = uint64(a)
		n++
	}
	w[n], w[n+1] = 0, 0
	if m != nil {
		w[n], w[n+1] = uint64(m.M.address), uint64(m.Bytes)
	}
	w[n+2], w[n+3] = uint64(s.mapped), uint64(p.tag)
	s.launch.call.Words = n + 4
	return nil
}

func operandName(p *program, i int) string { return p.v.kernel.Operands()[i].Name }

// Launch enqueues the stages of a program.
func (s *stream) Launch(pr backend.Program, c *backend.Call) error {
	if s.closed {
		return closed("stream")
	}
	p, ok := pr.(*program)
	if !ok || p.d != s.d {
		return foreign("launch", "program")
	}
	need := p.Workspace(c)
	if s.recording != nil && !s.scratch.Fits(need) {
		return capturing("growth of scratch")
	}
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave()
	m, err := s.scratch.Take(need)
	if err != nil {
		return err
	}
	if err := s.fill(p, c, m); err != nil {
		return err
	}
	if s.recording != nil && need > 0 {
		s.recording.pin(s, m)
	}
	s.busy.Store(true)
	s.last = p
	if s.d.poison && need > 0 {
		if err := s.d.check("cuMemsetD8Async", s.d.api.Fill(m.M.address, 0xff, need, s.handle)); err != nil {
			return err
		}
	}
	for i := range p.v.stages {
		if err := s.stage(p, i, c, m); err != nil {
			return err
		}
	}
	return nil
}

// stage enqueues one stage.
func (s *stream) stage(p *program, i int, c *backend.Call, m *arena.Memory[scratch]) error {
	st := &p.v.stages[i]
	if st.clear != nil {
		off, bytes := st.clear(c)
		if bytes == 0 {
			return nil
		}
		return s.failure(p, "cuMemsetD8Async", s.d.api.Fill(m.M.address+driver.Pointer(off), 0, bytes, s.handle))
	}
	g := &s.launch.geometry
	*g = Geometry{Units: g.Units, MaxShared: g.MaxShared}
	st.geometry(c, g)
	if g.Skip {
		return nil
	}
	if int(g.Shared) > st.shared {
		return fmt.Errorf("cuda: %s: %d bytes of dynamic shared memory, the binding states %d", st.entry, g.Shared, st.shared)
	}
	for j := range st.maps {
		if err := s.encode(p, st, j, c); err != nil {
			return err
		}
	}
	l := &s.launch.call
	l.Function, l.Stream, l.NParams = p.functions[i], s.handle, 1+len(st.maps)
	l.Grid, l.Block, l.Cluster, l.Shared, l.Early = g.Grid, g.Block, g.Cluster, g.Shared, st.early && p.early
	return s.failure(p, "cuLaunchKernel", s.d.api.Launch(l))
}

// encode makes tensor map j of a stage, unless the last one in its place was the same.
func (s *stream) encode(p *program, st *stage, j int, c *backend.Call) error {
	l := &s.launch
	if l.maps == nil {
		l.openMaps()
	}
	l.wanted = driver.TensorMap{}
	st.maps[j](c, &l.wanted)
	m := &l.maps[j]
	if m.valid && m.from == l.wanted {
		return nil
	}
	m.from, m.valid = l.wanted, true
	status := s.d.api.EncodeTensorMap(m.encoded, &m.from)
	if status != driver.Success {
		m.valid = false
		return fmt.Errorf("%w: map %d: %+v", s.failure(p, "cuTensorMapEncodeTiled", status), j, l.wanted)
	}
	return nil
}

// failure is check with the variant's name in the call.
func (s *stream) failure(p *program, call string, st driver.Status) error {
	if st == driver.Success {
		return nil
	}
	return s.d.check(call+" "+p.Kernel()+"/"+p.Variant(), st)
}

package kernel

import "github.com/likbench/likbench/backend"

// streamMemory reads and writes operands through a stream.
type streamMemory struct{ s backend.Stream }

func (m streamMemory) Read(v *backend.View) ([]byte, error) {
	raw := make([]byte, v.Bytes())
	return raw, m.s.Download(raw, v.Buf, v.Off)
}

func (m streamMemory) Write(v *backend.View, raw []byte) error {
	return m.s.Upload(v.Buf, v.Off, raw)
}

// StreamMemory is the Memory of operands that live on a device.
func StreamMemory(s backend.Stream) Memory { return streamMemory{s} }

// hostRun downloads, runs the reference and uploads: the written fallback policy. Data
// errors are returned here, not at Sync.
func hostRun[A any](s backend.Stream, k *Kernel[A], a *A) error {
	if err := s.Sync(); err != nil {
		return err
	}
	r := NewRef(k, streamMemory{s})
	if err := k.spec.Reference(r, a); err != nil {
		return err
	}
	if r.Err() != nil {
		return r.Err()
	}
	if r.Status() != 0 {
		return StatusError(k, r.Status())
	}
	return nil
}

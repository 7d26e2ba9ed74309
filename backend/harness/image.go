package harness

import (
	"fmt"

	"github.com/likbench/likbench/backend"
)

// image is the host's copy of an operand: a buffer without a device.
type image struct{ b []byte }

func (m *image) Len() int64             { return int64(len(m.b)) }
func (m *image) Device() backend.Device { return nil }
func (m *image) Free() error            { return nil }

// images is the memory that references read and write.
type images struct{}

func (images) Read(v *backend.View) ([]byte, error) {
	m, ok := v.Buf.(*image)
	if !ok || v.Off+v.Bytes() > m.Len() {
		return nil, fmt.Errorf("harness: view of %d bytes at %d is not in host memory", v.Bytes(), v.Off)
	}
	return m.b[v.Off : v.Off+v.Bytes()], nil
}

func (images) Write(v *backend.View, raw []byte) error {
	m, ok := v.Buf.(*image)
	if !ok || v.Off+int64(len(raw)) > m.Len() {
		return fmt.Errorf("harness: view of %d bytes at %d is not in host memory", len(raw), v.Off)
	}
	copy(m.b[v.Off:], raw)
	return nil
}

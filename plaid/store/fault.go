package store

import (
	"os"
	"path/filepath"
	"runtime"
	"unsafe"
)

// faulted finds the file and the byte that a recovered fault is about. A fault without an
// address, as emulators deliver it, is laid to a mapped file that has become shorter, if
// there is one.
func (s *Snapshot) faulted(recovered any) (name string, at int64, ok bool) {
	fault, located := recovered.(interface{ Addr() uintptr })
	if _, ofRuntime := recovered.(runtime.Error); ofRuntime && !located {
		return s.cut()
	}
	if !located {
		return "", 0, false
	}
	for i, r := range s.regions {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(r.data)))
		if r.mapped && len(r.data) > 0 && fault.Addr() >= from && fault.Addr()-from < uintptr(len(r.data)) {
			return s.m.files[i].name(), int64(fault.Addr() - from), true
		}
	}
	return "", 0, false
}

// cut finds a mapped file that is shorter than its mapping.
func (s *Snapshot) cut() (name string, at int64, ok bool) {
	for i, r := range s.regions {
		name := s.m.files[i].name()
		info, err := os.Stat(filepath.Join(s.dir, name))
		if r.mapped && err == nil && info.Size() < int64(len(r.data)) {
			return name, info.Size(), true
		}
	}
	return "", 0, false
}

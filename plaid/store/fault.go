package store

import "unsafe"

// faulted finds the file and the byte that a recovered fault is about.
func (s *Snapshot) faulted(recovered any) (name string, at int64, ok bool) {
	fault, isFault := recovered.(interface{ Addr() uintptr })
	if !isFault {
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

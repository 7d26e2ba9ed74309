//go:build amd64 || arm64

package driver

import "golang.org/x/sys/windows"

// candidates: the driver is a system library and is looked for nowhere else, so that a file beside the program
// cannot take its place.
func candidates() []string { return []string{"nvcuda.dll"} }

type dll windows.Handle

func openLib(path string) (lib, error) {
	h, err := windows.LoadLibraryEx(path, 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if err != nil {
		return nil, err
	}
	return dll(h), nil
}

func (d dll) lookup(name string) uintptr {
	p, err := windows.GetProcAddress(windows.Handle(d), name)
	if err != nil {
		return 0
	}
	return p
}

func (d dll) close() error { return windows.FreeLibrary(windows.Handle(d)) }

//go:build (linux || windows) && (amd64 || arm64)

package driver

import "fmt"

// Open finds, opens and initialises the driver library. It fails with *backend.UnavailableError, whose cause
// lists every place tried.
func Open() (API, error) { return openFirst(candidates()) }

// openFirst returns the first library that opens, has every required function and initialises; the others are
// closed again.
func openFirst(paths []string) (API, error) {
	var attempts []Attempt
	for _, p := range paths {
		l, err := openOne(p)
		if err == nil {
			return l, nil
		}
		attempts = append(attempts, Attempt{Path: p, Cause: err.Error()})
	}
	return nil, unavailable(attempts)
}

func openOne(path string) (*Library, error) {
	h, err := openLib(path)
	if err != nil {
		return nil, err
	}
	l := &Library{path: path}
	err = l.start(h)
	if err != nil {
		if cerr := h.close(); cerr != nil {
			return nil, cerr
		}
		return nil, err
	}
	return l, nil
}

// start fills the table and initialises the library. What cuInit answers goes before a missing function: a stub
// with few functions is a stub.
func (l *Library) start(h lib) error {
	var missing error
	l.fn, missing = resolve(h.lookup)
	if l.fn[symInit] != 0 {
		if s := l.init(); s != Success {
			return fmt.Errorf("cuInit: %s (%d)", s.Words(), int(s))
		}
	}
	if missing != nil {
		return missing
	}
	return usable(l)
}

package driver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/likbench/likbench/backend"
)

// MinVersion is the oldest driver that loads the objects: CUDA 12.0.
const MinVersion = 12000

// Attempt is one place where the library was looked for, and why it is not used.
type Attempt struct {
	Path  string
	Cause string
}

// OpenError lists every place tried.
type OpenError struct{ Attempts []Attempt }

func (e *OpenError) Error() string {
	var s []string
	for _, a := range e.Attempts {
		s = append(s, a.Path+": "+a.Cause)
	}
	return strings.Join(s, "; ")
}

// unavailable makes the attempts into the backend's typed reason.
func unavailable(attempts []Attempt) error {
	if len(attempts) == 0 {
		return &backend.UnavailableError{Backend: "cuda", Reason: "no place to look for NVIDIA's driver library on this system"}
	}
	return &backend.UnavailableError{Backend: "cuda", Reason: "no driver", Err: &OpenError{Attempts: attempts}}
}

// lib is an opened library before its functions are known.
type lib interface {
	lookup(name string) uintptr
	close() error
}

// usable tells a library that initialised from one that is too old or sees no device.
func usable(api interface {
	Version() (int, Status)
	DeviceCount() (int, Status)
}) error {
	v, s := api.Version()
	if s != Success {
		return fmt.Errorf("cuDriverGetVersion: %s (%d)", s.Words(), int(s))
	}
	if v < MinVersion {
		return fmt.Errorf("driver supports CUDA %d.%d, needs %d.%d", v/1000, v%1000/10, MinVersion/1000, MinVersion%1000/10)
	}
	n, s := api.DeviceCount()
	if s != Success {
		return fmt.Errorf("cuDeviceGetCount: %s (%d)", s.Words(), int(s))
	}
	if n == 0 {
		return errors.New("driver sees no device")
	}
	return nil
}

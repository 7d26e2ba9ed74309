// Package filelock keeps other processes out of a folder: a lock of the system on a file,
// which ends with the process that holds it.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrHeld reports a lock that another process, or another part of this one, holds.
var ErrHeld = errors.New("held")

// HeldError names the process that holds a lock, as it wrote itself into the file.
type HeldError struct{ Process string }

func (e *HeldError) Error() string { return "process " + e.Process + ": held" }

// Unwrap makes it ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }

// Lock is held until Release.
type Lock struct{ f *os.File }

// Take makes the file if there is none and locks it, without waiting. It fails with a
// *HeldError, and with errors.ErrUnsupported where the system has no locks.
func Take(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if held, err := Try(f); err != nil || held {
			var owner [32]byte
			n, _ := f.ReadAt(owner[:], 0)
			_ = f.Close()
			if err != nil {
				return nil, err
			}
			return nil, &HeldError{strings.TrimSpace(string(owner[:n]))}
		}
		// The last owner may have removed the file between our opening and locking it.
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
			// The number is for the error that others get; the lock holds without it.
			_ = f.Truncate(0)
			_, _ = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
			return &Lock{f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// Release removes the file and gives up the lock. Where an open file cannot be removed it
// stays, and locks nothing.
func (l *Lock) Release() {
	_ = os.Remove(l.f.Name())
	_ = l.f.Close()
}

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks f without waiting; held says that another has it. The locked byte lies far
// beyond the content, which stays readable.
func Try(f *os.File) (held bool, err error) {
	at := &windows.Overlapped{OffsetHigh: 1}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return true, nil
	}
	return false, err
}

//go:build unix

package build

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f without waiting; held says that another has it.
func tryLock(f *os.File) (held bool, err error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		default:
			return false, err
		}
	}
}

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// lockName is a file that a writer holds a lock of the system on. The lock ends with the
// process, so a killed writer leaves none behind.
const lockName = "writer.lock"

// folderLock is held until release.
type folderLock struct{ f *os.File }

// lock takes the folder's lock, or fails with ErrLocked at once, naming the process.
func lock(dir string) (*folderLock, error) {
	path := filepath.Join(dir, lockName)
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, fail(path, err)
		}
		if held, err := tryLock(f); err != nil || held {
			var owner [32]byte
			n, _ := f.ReadAt(owner[:], 0)
			_ = f.Close()
			if err != nil {
				return nil, fail(path, err)
			}
			return nil, fail(path, fmt.Errorf("process %s: %w", strings.TrimSpace(string(owner[:n])), ErrLocked))
		}
		// The last owner may have removed the file between our opening and locking it.
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(fail(path, err), f.Close())
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
			// The number is for the error that others get; the lock holds without it.
			_ = f.Truncate(0)
			_, _ = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
			return &folderLock{f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, fail(path, err)
		}
	}
}

// release removes the file and gives up the lock. Where an open file cannot be removed it
// stays, and locks nothing.
func (l *folderLock) release() {
	_ = os.Remove(l.f.Name())
	_ = l.f.Close()
}

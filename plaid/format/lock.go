package format

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/likbench/likbench/internal/filelock"
)

// ErrLocked reports a folder in which another writer of this program is at work.
var ErrLocked = errors.New("locked by another writer")

// lockName is a file that a writer holds a lock of the system on. The lock ends with the
// process, so a killed writer leaves none behind.
const lockName = tempPrefix + "lock"

// lock takes the folder's lock, or fails with ErrLocked at once, naming the process.
func lock(dir string) (*filelock.Lock, error) {
	path := filepath.Join(dir, lockName)
	l, err := filelock.Take(path)
	if held := (*filelock.HeldError)(nil); errors.As(err, &held) {
		err = fmt.Errorf("process %s: %w", held.Process, ErrLocked)
	}
	return l, fail(path, err)
}

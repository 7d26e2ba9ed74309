//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps the first n bytes of f for reading; n is not 0.
func mapFile(f *os.File, n int) ([]byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, unix.MAP_SHARED)
	if errors.Is(err, unix.ENODEV) { // a file system without mappings
		err = errors.ErrUnsupported
	}
	return data, err
}

func unmapFile(data []byte) error { return unix.Munmap(data) }

// inUse is never so: files are removed under their readers, who keep them.
func inUse(error) bool { return false }

//go:build !unix && !windows

package filelock

import (
	"errors"
	"os"
)

// Try fails: without locks two processes could not be told apart.
func Try(*os.File) (held bool, err error) { return false, errors.ErrUnsupported }

package format

import (
	"errors"
	"fmt"
)

var (
	// ErrNoIndex reports a folder that holds no index, or none that is complete.
	ErrNoIndex = errors.New("no index")
	// ErrCorrupt reports content that breaks its own format or contradicts another file.
	ErrCorrupt = errors.New("corrupt")
	// ErrMissing reports files without which an index cannot be read.
	ErrMissing = errors.New("missing")
	// ErrUnsupported reports a format that is not read: by name, never misread.
	ErrUnsupported = errors.New("unsupported")
	// ErrUnsafe reports a pickle that would do more than make tensors.
	ErrUnsafe = errors.New("pickle refused")
	// ErrChanged reports a file that changed while it was open.
	ErrChanged = errors.New("changed while open")
	// ErrFrozen reports an index that its owner marked as not to be written.
	ErrFrozen = errors.New("frozen")
	// ErrExists reports a folder that already holds an index.
	ErrExists = errors.New("index exists")
	// ErrRange reports an argument outside the index.
	ErrRange = errors.New("out of range")
	// ErrClosed reports the use of a closed index.
	ErrClosed = errors.New("index is closed")
)

// Error says which file is wrong, where, and why. Those of package store are of this type too,
// so that one errors.As serves a program that opens folders of any layout.
type Error struct {
	Package string // whose file it is and with whose name the text begins: "store", or "" for format
	File    string // path
	Byte    int64  // offset in the file, −1 where that is not the point
	Element int64  // or index of the element in the file's array, −1
	Err     error
}

func (e *Error) Error() string {
	name := e.Package
	if name == "" {
		name = "format"
	}
	switch {
	case e.Element >= 0:
		return fmt.Sprintf("%s: %s: element %d: %v", name, e.File, e.Element, e.Err)
	case e.Byte >= 0:
		return fmt.Sprintf("%s: %s: byte %d: %v", name, e.File, e.Byte, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", name, e.File, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// corrupt is an error for a whole file.
func corrupt(path, text string, args ...any) error {
	return &Error{File: path, Byte: -1, Element: -1, Err: because(ErrCorrupt, text, args...)}
}

// corruptAt is an error for one element of a file's array.
func corruptAt(path string, element int64, text string, args ...any) error {
	return &Error{File: path, Byte: -1, Element: element, Err: because(ErrCorrupt, text, args...)}
}

// fail wraps what went wrong with a file, unless it already says so.
func fail(path string, err error) error {
	if e := (*Error)(nil); err == nil || errors.As(err, &e) && e.Package == "" {
		return err
	}
	return &Error{File: path, Byte: -1, Element: -1, Err: err}
}

func because(kind error, text string, args ...any) error {
	return fmt.Errorf(text+": %w", append(args, kind)...)
}

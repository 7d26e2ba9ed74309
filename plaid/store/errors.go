package store

import (
	"errors"
	"fmt"

	"github.com/likbench/likbench/plaid/format"
)

// Kinds of failure shared with foreign formats: one errors.Is serves both.
var (
	// ErrNoIndex reports a folder that holds no index.
	ErrNoIndex = format.ErrNoIndex
	// ErrExists reports a folder that already holds one.
	ErrExists = format.ErrExists
	// ErrCorrupt reports content that contradicts itself or its checksum.
	ErrCorrupt = format.ErrCorrupt
	// ErrMissing reports a file that the manifest names and the folder lacks.
	ErrMissing = format.ErrMissing
	// ErrUnsupported reports a layout of a later version, or a machine that cannot map it.
	ErrUnsupported = format.ErrUnsupported
	// ErrChanged reports a file that was cut short while it was mapped.
	ErrChanged = format.ErrChanged
	// ErrRange reports an argument outside the index.
	ErrRange = format.ErrRange
	// ErrClosed reports the use of a closed snapshot or writer.
	ErrClosed = format.ErrClosed
	// ErrLocked reports a folder in which another writer is at work; the text names its process.
	ErrLocked = format.ErrLocked
)

var (
	// ErrNotFinite reports a value that is NaN or infinite.
	ErrNotFinite = errors.New("not finite")
	// ErrID reports ids that are negative, do not ascend, or may have been given before.
	ErrID = errors.New("id not above all earlier ones")
	// ErrUnknownID reports the deletion of a document that the index does not hold.
	ErrUnknownID = errors.New("no such document")
	// ErrCodec reports indexes whose codecs differ, so that codes of one mean nothing in the other.
	ErrCodec = errors.New("codecs differ")
	// ErrNotDurable reports a generation that is visible and complete, but that a loss of
	// power might take back, since the folder could not be synced. Commit may be called again.
	ErrNotDurable = errors.New("committed, but not known to be on disk")
	// ErrBroken reports a writer whose file could not be synced: what it wrote since the last
	// commit may be lost, and syncing again would not tell. Close it and open another.
	ErrBroken = errors.New("writer failed to sync earlier")
)

// Error says which file is wrong, where, and why: Package is "store".
type Error = format.Error

// wrong is an error at a byte of a file, or, with −1, about the file as a whole.
func wrong(path string, at int64, err error) *Error {
	return &Error{Package: "store", File: path, Byte: at, Element: -1, Err: err}
}

// InputError says which element of an argument is wrong, and why.
type InputError struct {
	Field   string // of Codec or Block, or "ids"
	Element int64  // −1 where the field as a whole is wrong
	Err     error
}

func (e *InputError) Error() string {
	if e.Element < 0 {
		return fmt.Sprintf("store: %s: %v", e.Field, e.Err)
	}
	return fmt.Sprintf("store: %s[%d]: %v", e.Field, e.Element, e.Err)
}

func (e *InputError) Unwrap() error { return e.Err }

func input(field string, element int64, kind error, text string, args ...any) error {
	return &InputError{Field: field, Element: element, Err: because(kind, text, args...)}
}

// corrupt is an error for a whole file.
func corrupt(path, text string, args ...any) error {
	return wrong(path, -1, because(ErrCorrupt, text, args...))
}

func corruptByte(path string, at int64, text string, args ...any) error {
	return wrong(path, at, because(ErrCorrupt, text, args...))
}

func corruptElement(path string, element int64, text string, args ...any) error {
	e := wrong(path, -1, because(ErrCorrupt, text, args...))
	e.Element = element
	return e
}

// fail wraps what went wrong with a file, unless it already says so.
func fail(path string, err error) error {
	if e := (*Error)(nil); err == nil || errors.As(err, &e) && e.Package == "store" {
		return err
	}
	return wrong(path, -1, err)
}

func because(kind error, text string, args ...any) error {
	return fmt.Errorf(text+": %w", append(args, kind)...)
}

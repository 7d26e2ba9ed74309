package build

import (
	"errors"
	"fmt"
)

var (
	// ErrOptions reports options that no build can have, or that contradict one another.
	ErrOptions = errors.New("invalid options")
	// ErrNotFinite reports a component that is NaN or infinite.
	ErrNotFinite = errors.New("component is not finite")
	// ErrNorm reports a token longer than 2^62, whose norm an index cannot hold: normalise first.
	ErrNorm = errors.New("token too long for the arithmetic of scores, normalise")
	// ErrWidth reports a document whose components are no whole tokens, or a collection of
	// another width than the index.
	ErrWidth = errors.New("wrong number of components")
	// ErrLength reports a document of more tokens than an index can hold.
	ErrLength = errors.New("document too long")
	// ErrChanged reports a collection that gave other documents when it was read again.
	ErrChanged = errors.New("collection changed between two readings")
	// ErrEmpty reports a collection without tokens, unless Options.AllowEmpty is set.
	ErrEmpty = errors.New("no tokens to build from")
	// ErrUnfinished reports the building area of a build with other options or another
	// collection: finish that one, or set Options.Restart to discard it.
	ErrUnfinished = errors.New("unfinished build of something else")
	// ErrCorrupt reports a file of the building area that is not what was written.
	ErrCorrupt = errors.New("building area is corrupt")
)

// InputError says which part of a collection is wrong.
type InputError struct {
	Document  int64
	Token     int64 // in the document, −1 where that is not the point
	Component int   // −1
	Err       error
}

func (e *InputError) Error() string {
	at := fmt.Sprintf("document %d", e.Document)
	if e.Token >= 0 {
		at += fmt.Sprintf(", token %d", e.Token)
	}
	if e.Component >= 0 {
		at += fmt.Sprintf(", component %d", e.Component)
	}
	return fmt.Sprintf("build: %s: %v", at, e.Err)
}

// Unwrap returns what is wrong.
func (e *InputError) Unwrap() error { return e.Err }

// documentError is an InputError about a whole document.
func documentError(document int64, err error) error {
	return &InputError{Document: document, Token: -1, Component: -1, Err: err}
}

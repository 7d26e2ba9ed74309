//go:build !linux

package fake

// thread does not tell threads apart here.
func thread() int { return 0 }

// ThreadsKnown reports whether pools are tracked by thread here.
const ThreadsKnown = false

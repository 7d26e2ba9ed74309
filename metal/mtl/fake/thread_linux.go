package fake

import "golang.org/x/sys/unix"

// thread identifies the calling thread.
func thread() int { return unix.Gettid() }

// ThreadsKnown reports whether pools are tracked by thread here.
const ThreadsKnown = true

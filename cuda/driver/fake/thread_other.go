//go:build !linux && !windows

package fake

// thread: one stack of contexts for all threads. Tests of thread safety run where threads can be told apart.
func thread() int { return 0 }

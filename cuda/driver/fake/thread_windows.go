package fake

import "golang.org/x/sys/windows"

func thread() int { return int(windows.GetCurrentThreadId()) }

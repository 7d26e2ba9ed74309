// Package sysmem says how much main memory there is to take. A Go program does not
// survive a failed allocation, so whoever hands out large pieces asks first.
package sysmem

import (
	"bytes"
	"os"
	"strconv"
)

// file is where Linux says it; elsewhere it does not exist.
const file = "/proc/meminfo"

// Available is the bytes that can be taken without swapping, 0 where the system does not say.
func Available() int64 { return read("MemAvailable:") }

// Total is the bytes of main memory, 0 where the system does not say.
func Total() int64 { return read("MemTotal:") }

func read(name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	return field(text, name)
}

// field reads a line of /proc/meminfo, in bytes; 0 if it is absent or malformed.
func field(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) != 3 || string(f[0]) != name || string(f[2]) != "kB" {
			continue
		}
		if kib, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil && kib > 0 && kib < 1<<50 {
			return kib << 10
		}
	}
	return 0
}

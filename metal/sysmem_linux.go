package metal

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// availableMemory is the bytes the system can give without swapping; 0 = unknown.
func availableMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) >= 2 && w[0] == "MemAvailable:" {
			n, err := strconv.ParseInt(w[1], 10, 64)
			if err != nil {
				return 0
			}
			return n << 10 // the file counts KiB
		}
	}
	return 0
}

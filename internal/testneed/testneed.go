// Package testneed is how a test says that it needs something of the machine: a
// tool, an instruction set, a device. A missing need skips the test with its
// reason, unless the environment promises it: LIKBENCH_REQUIRE is a comma
// separated list of needs (clang, qemu, nvrtc, race, avx512, avx512_bf16,
// cuda:sm_90a, …), and a listed need that is missing fails the test.
package testneed

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Variable is the name of the environment variable that lists promised needs.
const Variable = "LIKBENCH_REQUIRE"

// Has reports whether the environment promises need. Blanks around the items of
// the list do not matter; case does.
func Has(need string) bool {
	return slices.ContainsFunc(strings.Split(os.Getenv(Variable), ","), func(item string) bool {
		return item != "" && strings.TrimSpace(item) == need
	})
}

// Skip ends the test because need is missing: it fails if the environment
// promises the need, else it skips. The reason says what was looked for and not
// found.
func Skip(t testing.TB, need, reason string) {
	t.Helper()
	if Has(need) {
		t.Fatalf("testneed: %s is required by %s but missing: %s", need, Variable, reason)
	}
	t.Skip(need + ": " + reason)
}

// Self skips a test that starts its own binary where that cannot be started: an emulator
// runs it without telling the system how.
func Self(t testing.TB) {
	t.Helper()
	if err := exec.Command(os.Args[0], "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this binary cannot be started from itself: " + err.Error())
	}
}

package simd

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/testneed"
)

// constraintOf is the build constraint line of a file.
func constraintOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if constraint.IsGoBuild(line) {
			return strings.TrimSpace(line)
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return ""
}

// stubOf is the Go file that declares the routines of an assembly file: generated next to
// a generated one, else the file of the same name.
func stubOf(t *testing.T, asm string) string {
	stem := strings.TrimSuffix(asm, ".s")
	i := strings.LastIndexByte(stem, '_')
	stub := stem[:i] + "_stub" + stem[i:] + ".go"
	if _, err := os.Stat(stub); err != nil {
		stub = stem + ".go"
	}
	require.FileExists(t, stub, "stub of %s", asm)
	return stub
}

// TestStubsCarryTheSameConstraint: a stub without its body, or the other way round, is a
// link error only on the system nobody tried.
func TestStubsCarryTheSameConstraint(t *testing.T) {
	files, err := filepath.Glob("*.s")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.Equal(t, "//go:build !noasm", constraintOf(t, f), "%s", f)
		require.Equal(t, constraintOf(t, f), constraintOf(t, stubOf(t, f)), "%s", f)
	}
}

// TestNoAssemblyUnderNoasm lists what the build takes for every architecture we build for.
func TestNoAssemblyUnderNoasm(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64", "386", "riscv64", "s390x", "wasm"} {
		list := func(tags string) string {
			cmd := exec.Command("go", "list", "-tags="+tags, "-f", "{{.SFiles}}", ".")
			goos := "linux"
			if arch == "wasm" {
				goos = "js"
			}
			cmd.Env = append(os.Environ(), "GOARCH="+arch, "GOOS="+goos, "CGO_ENABLED=0")
			out, err := cmd.Output()
			if err != nil {
				testneed.Skip(t, "go", "go list: "+err.Error())
			}
			return strings.TrimSpace(string(out))
		}
		require.Equal(t, "[]", list("noasm"), "GOARCH=%s", arch)
		if arch == "amd64" || arch == "arm64" {
			require.NotEqual(t, "[]", list(""), "GOARCH=%s", arch)
		}
	}
}

// encoding is one instruction form: the bits outside its fields, and its operands, where
// d, n and m are the register fields at 0, 5 and 16 and i the index of an element; of 16-bit
// elements q is the register, one of 16, and h the index.
type encoding struct {
	fixed    uint32
	mnemonic string
	operands string
}

// Forms by the Arm Architecture Reference Manual, C7.2. A form that is missing here is to
// be added with the WORD that needs it.
var encodings = []encoding{
	{0x4e20d400, "fadd", "v%d.4s, v%n.4s, v%m.4s"}, {0x4e60d400, "fadd", "v%d.2d, v%n.2d, v%m.2d"},
	{0x4ea0d400, "fsub", "v%d.4s, v%n.4s, v%m.4s"}, {0x4ee0d400, "fsub", "v%d.2d, v%n.2d, v%m.2d"},
	{0x6e20dc00, "fmul", "v%d.4s, v%n.4s, v%m.4s"}, {0x6e60dc00, "fmul", "v%d.2d, v%n.2d, v%m.2d"},
	{0x6e20fc00, "fdiv", "v%d.4s, v%n.4s, v%m.4s"}, {0x6e60fc00, "fdiv", "v%d.2d, v%n.2d, v%m.2d"},
	{0x4e20f400, "fmax", "v%d.4s, v%n.4s, v%m.4s"}, {0x4ea0f400, "fmin", "v%d.4s, v%n.4s, v%m.4s"},
	{0x4ee0f400, "fmin", "v%d.2d, v%n.2d, v%m.2d"},
	{0x4e20c400, "fmaxnm", "v%d.4s, v%n.4s, v%m.4s"}, {0x4ea0c400, "fminnm", "v%d.4s, v%n.4s, v%m.4s"},
	{0x4e20e400, "fcmeq", "v%d.4s, v%n.4s, v%m.4s"}, {0x6e20e400, "fcmge", "v%d.4s, v%n.4s, v%m.4s"},
	{0x6ea0e400, "fcmgt", "v%d.4s, v%n.4s, v%m.4s"}, {0x6ea0d400, "fabd", "v%d.4s, v%n.4s, v%m.4s"},
	{0x6e20d400, "faddp", "v%d.4s, v%n.4s, v%m.4s"}, {0x6e20f400, "fmaxp", "v%d.4s, v%n.4s, v%m.4s"},
	{0x6ea0f800, "fneg", "v%d.4s, v%n.4s"}, {0x4ea0f800, "fabs", "v%d.4s, v%n.4s"},
	{0x6ea1f800, "fsqrt", "v%d.4s, v%n.4s"}, {0x4e218800, "frintn", "v%d.4s, v%n.4s"},
	{0x4e21a800, "fcvtns", "v%d.4s, v%n.4s"}, {0x4ea1b800, "fcvtzs", "v%d.4s, v%n.4s"},
	{0x4e21d800, "scvtf", "v%d.4s, v%n.4s"}, {0x0e217800, "fcvtl", "v%d.4s, v%n.4h"},
	{0x4e217800, "fcvtl2", "v%d.4s, v%n.8h"}, {0x0e216800, "fcvtn", "v%d.4h, v%n.4s"},
	{0x4e216800, "fcvtn2", "v%d.8h, v%n.4s"}, {0x0e617800, "fcvtl", "v%d.2d, v%n.2s"},
	{0x4e617800, "fcvtl2", "v%d.2d, v%n.4s"}, {0x0e616800, "fcvtn", "v%d.2s, v%n.2d"},
	{0x4e616800, "fcvtn2", "v%d.4s, v%n.2d"}, {0x6e30f800, "fmaxv", "s%d, v%n.4s"},
	{0x4ea06400, "smax", "v%d.4s, v%n.4s, v%m.4s"}, {0x4ea03400, "cmgt", "v%d.4s, v%n.4s, v%m.4s"},
	{0x4e809400, "sdot", "v%d.4s, v%n.16b, v%m.16b"}, {0x6e40fc00, "bfdot", "v%d.4s, v%n.8h, v%m.8h"},
	{0x4f40f000, "bfdot", "v%d.4s, v%n.8h, v%m.2h[%i]"},
	{0x6ea04400, "ushl", "v%d.4s, v%n.4s, v%m.4s"}, {0x4ea09c00, "mul", "v%d.4s, v%n.4s, v%m.4s"},
	{0x4f80e000, "sdot", "v%d.4s, v%n.16b, v%m.4b[%i]"},
	{0x0f402000, "smlal", "v%d.4s, v%n.4h, v%q.h[%h]"}, {0x4f402000, "smlal2", "v%d.4s, v%n.8h, v%q.h[%h]"},
	{0x0f08a400, "sshll", "v%d.8h, v%n.8b, #0"}, {0x4f08a400, "sshll2", "v%d.8h, v%n.16b, #0"},
	{0x0e612800, "xtn", "v%d.4h, v%n.4s"}, {0x4e612800, "xtn2", "v%d.8h, v%n.4s"}, {0x0e212800, "xtn", "v%d.8b, v%n.8h"},
	{0x6ea0ec00, "facgt", "v%d.4s, v%n.4s, v%m.4s"}, {0x4e601c00, "bic", "v%d.16b, v%n.16b, v%m.16b"},
	{0x4e61a800, "fcvtns", "v%d.2d, v%n.2d"},
	{0x4f801000, "fmla", "v%d.4s, v%n.4s, v%m.s[%i]"}, {0x4f809000, "fmul", "v%d.4s, v%n.4s, v%m.s[%i]"},
}

// disassemble is the text of a word of a form above.
func disassemble(word uint32) (string, bool) {
	for _, e := range encodings {
		fields := uint32(0x1f | 0x1f<<5)
		if strings.Contains(e.operands, "%m") {
			fields |= 0x1f << 16
		}
		if strings.Contains(e.operands, "%i") {
			fields |= 1<<21 | 1<<11
		}
		if strings.Contains(e.operands, "%h") {
			fields |= 0xf<<16 | 1<<20 | 1<<21 | 1<<11
		}
		if word&^fields != e.fixed {
			continue
		}
		r := strings.NewReplacer("%d", fmt.Sprint(word&31), "%n", fmt.Sprint(word>>5&31),
			"%m", fmt.Sprint(word>>16&31), "%i", fmt.Sprint(word>>10&2|word>>21&1),
			"%q", fmt.Sprint(word>>16&15), "%h", fmt.Sprint(word>>9&4|word>>20&3))
		return e.mnemonic + " " + r.Replace(e.operands), true
	}
	return "", false
}

var wordLine = regexp.MustCompile(`^\s*WORD\s+\$0x([0-9a-f]{8})(?:\s+// (.*)|\s+/\* (.*) \*/.*)?$`)

// armWords are the words of the arm64 sources with their comments.
func armWords(t *testing.T) (code []uint32, text, where []string) {
	files, err := filepath.Glob("*_arm64.s")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		src, err := os.ReadFile(f)
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			if !strings.Contains(line, "WORD") {
				continue
			}
			m := wordLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			at := fmt.Sprintf("%s:%d", f, n)
			require.NotNil(t, m, "%s: want WORD $0x and eight digits, then the disassembly", at)
			w, err := strconv.ParseUint(m[1], 16, 32)
			require.NoError(t, err)
			require.NotEmpty(t, m[2]+m[3], "%s: no disassembly", at)
			code, text, where = append(code, uint32(w)), append(text, m[2]+m[3]), append(where, at)
		}
	}
	return code, text, where
}

// TestWordsAreWhatTheySay decodes every WORD and compares it with its comment.
func TestWordsAreWhatTheySay(t *testing.T) {
	code, text, where := armWords(t)
	for i, w := range code {
		got, ok := disassemble(w)
		require.True(t, ok, "%s: %08x (%s) has no form in encodings", where[i], w, text[i])
		require.Equal(t, got, text[i], "%s", where[i])
	}
}

// TestWordsByAssembler holds the table above against an independent assembler.
func TestWordsByAssembler(t *testing.T) {
	tool := ""
	for _, name := range []string{"llvm-mc-19", "llvm-mc"} {
		if p, err := exec.LookPath(name); err == nil {
			tool = p
			break
		}
	}
	if tool == "" {
		testneed.Skip(t, "llvm-mc", "neither llvm-mc-19 nor llvm-mc on PATH")
	}
	code, text, where := armWords(t)
	cmd := exec.Command(tool, "-triple=aarch64", "-mattr=+dotprod,+i8mm,+bf16,+fullfp16", "-show-encoding")
	cmd.Stdin = strings.NewReader(strings.Join(text, "\n"))
	out, err := cmd.Output()
	require.NoError(t, err)
	found := regexp.MustCompile(`encoding: \[0x(..),0x(..),0x(..),0x(..)\]`).FindAllSubmatch(out, -1)
	require.Len(t, found, len(code))
	for i, m := range found {
		hex := string(bytes.Join([][]byte{m[4], m[3], m[2], m[1]}, nil))
		require.Equal(t, fmt.Sprintf("%08x", code[i]), hex, "%s: %s", where[i], text[i])
	}
}

package manifest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	logEntry = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	logStack = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	logUsed  = regexp.MustCompile(`Used (\d+) registers`)
	logSmem  = regexp.MustCompile(`(\d+) bytes smem`)
	ptxEntry = regexp.MustCompile(`(?m)^\.visible \.entry ([A-Za-z0-9_$]+)\(`)
)

// CubinEntries reads the entries of a cubin: what the assembler's log says of each, and the parameter
// layout that the object itself records.
func CubinEntries(cubin []byte, log string) ([]Entry, error) {
	var out []Entry
	for line := range strings.Lines(log) {
		if m := logEntry.FindStringSubmatch(line); m != nil {
			out = append(out, Entry{Name: m[1]})
			continue
		}
		if len(out) == 0 {
			continue
		}
		e := &out[len(out)-1]
		if m := logStack.FindStringSubmatch(line); m != nil && e.Registers == 0 {
			e.Stack, e.SpillStores, e.SpillLoads = number(m[1]), number(m[2]), number(m[3])
		}
		if m := logUsed.FindStringSubmatch(line); m != nil {
			e.Registers = number(m[1])
			if s := logSmem.FindStringSubmatch(line); s != nil {
				e.StaticShared = number(s[1])
			}
		}
	}
	f, err := openCubin(cubin)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Params, err = cubinParams(f, out[i].Name); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// openCubin reads a cubin as the ELF file it is, but for its version word (byte 20 is 128), which debug/elf refuses.
func openCubin(cubin []byte) (*elf.File, error) {
	b := bytes.Clone(cubin)
	if len(b) > 24 {
		b[20] = byte(elf.EV_CURRENT)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("cuda: cubin of %d bytes: %w", len(cubin), err)
	}
	return f, nil
}

// cubinParams reads the KPARAM_INFO attributes (code 0x17) of .nv.info.<entry>: ordinal u16 at 4, offset
// u16 at 6, size in bits 18 and up of the word at 8.
func cubinParams(f *elf.File, entry string) ([]Param, error) {
	s := f.Section(".nv.info." + entry)
	if s == nil {
		return nil, fmt.Errorf("cuda: cubin has no .nv.info.%s", entry)
	}
	b, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("cuda: cubin .nv.info.%s: %w", entry, err)
	}
	byOrdinal := map[int]Param{}
	for len(b) >= 4 {
		format, code, size := b[0], b[1], 0
		if format == 4 { // the only form with a payload; in the others the value is in the header
			size = int(binary.LittleEndian.Uint16(b[2:]))
		}
		if 4+size > len(b) {
			return nil, fmt.Errorf("cuda: cubin .nv.info.%s: attribute of %d bytes in %d", entry, size, len(b))
		}
		if v := b[4 : 4+size]; code == 0x17 && size >= 12 {
			byOrdinal[int(binary.LittleEndian.Uint16(v[4:]))] = Param{
				Offset: int(binary.LittleEndian.Uint16(v[6:])),
				Size:   int(binary.LittleEndian.Uint32(v[8:]) >> 18),
			}
		}
		b = b[4+size:]
	}
	params := make([]Param, len(byOrdinal))
	for i, p := range byOrdinal {
		if i >= len(params) {
			return nil, fmt.Errorf("cuda: cubin .nv.info.%s: parameter %d of %d", entry, i, len(params))
		}
		params[i] = p
	}
	return params, nil
}

// PTXEntries reads the entry names of PTX.
func PTXEntries(ptx []byte) []Entry {
	var out []Entry
	for _, m := range ptxEntry.FindAllSubmatch(ptx, -1) {
		out = append(out, Entry{Name: string(m[1])})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // the expression matched digits only
	return n
}

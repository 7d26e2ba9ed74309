package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/likbench/likbench/cuda/internal/manifest"
)

// build is one compiled source; data[i] are the bytes of source.Objects[i].
type build struct {
	source manifest.Source
	data   [][]byte
}

// baseFlags hold for every source. Fast-math is never among them: a declaration asks for it, or nobody.
var baseFlags = []string{"--std=c++17", "--ptxas-options=-v"}

// join waits for the objects of a source and reads their facts.
func join(parts []*unit, out io.Writer) (build, error) {
	t := parts[0].text
	b := build{source: manifest.Source{Name: t.Name, Hash: t.Hash, Flags: parts[0].flags, Arguments: t.Structs}}
	for _, u := range parts {
		<-u.done
		fmt.Fprint(out, messages(u.log))
		if u.err != nil {
			return build{}, u.err
		}
		o := manifest.Object{Target: u.target, SHA256: manifest.Sum(u.object), Bytes: len(u.object)}
		if strings.HasPrefix(u.target, "compute_") {
			o.File = b.source.Stem() + "." + u.target + ".ptx.gz"
			o.Entries = manifest.PTXEntries(u.object)
		} else {
			var err error
			o.File = b.source.Stem() + "." + u.target + ".cubin.gz"
			if o.Entries, err = manifest.CubinEntries(u.object, u.log); err != nil {
				return build{}, fmt.Errorf("%s: %w", t.Name, err)
			}
		}
		for i := range o.Entries {
			o.Entries[i].DynamicShared = t.Dynamic[o.Entries[i].Name]
		}
		for e := range t.Dynamic {
			if o.Entry(e) == nil {
				return build{}, fmt.Errorf("%s: dynamic shared memory stated for %s, which %s does not have", t.Name, e, u.target)
			}
		}
		b.source.Objects = append(b.source.Objects, o)
		b.data = append(b.data, u.object)
	}
	return b, nil
}

// messages are the lines of a compiler log that a person must read: all but the assembler's statistics.
func messages(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "ptxas info") || strings.Contains(line, "bytes stack frame") || strings.TrimSpace(line) == "" {
			continue
		}
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// print lists the facts of each cubin entry.
func (b *build) print() {
	for _, o := range b.source.Objects {
		for _, e := range o.Entries {
			if e.Registers == 0 {
				fmt.Printf("%-10s %-48s ptx\n", o.Target, e.Name)
				continue
			}
			warn := ""
			if e.SpillStores+e.SpillLoads > 0 {
				warn = fmt.Sprintf("  SPILLS %d stores %d loads", e.SpillStores, e.SpillLoads)
			}
			fmt.Printf("%-10s %-48s %3d registers %6d shared %6d dynamic %4d stack%s\n",
				o.Target, e.Name, e.Registers, e.StaticShared, e.DynamicShared, e.Stack, warn)
		}
	}
}

// differs says in which part two records of a source differ, "" if in none.
func differs(old, now *manifest.Source) string {
	if old.Hash != now.Hash {
		return "source hash"
	}
	if len(old.Objects) != len(now.Objects) {
		return fmt.Sprintf("%d objects, now %d", len(old.Objects), len(now.Objects))
	}
	for i := range old.Objects {
		if old.Objects[i].SHA256 != now.Objects[i].SHA256 {
			return now.Objects[i].File
		}
	}
	a, errA := json.Marshal(old)
	b, errB := json.Marshal(now)
	if errA != nil || errB != nil || string(a) != string(b) {
		return "facts in the manifest"
	}
	return ""
}

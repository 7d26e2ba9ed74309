// Command _gen writes the amd64 assembly of package simd and its Go stubs:
//
//	cd simd/_gen && go run .
//
// Each file here registers the routines of one kernel; adding a kernel adds a file.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// source is one <name>_amd64.s with its <name>_stub_amd64.go.
type source struct {
	name string
	emit func(*build.Context)
}

var sources []source

// register adds the routines of one kernel at initialisation.
func register(name string, emit func(*build.Context)) bool {
	sources = append(sources, source{name, emit})
	return true
}

func main() {
	slices.SortFunc(sources, func(a, b source) int { return strings.Compare(a.name, b.name) })
	for _, s := range sources {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], s.name) {
			continue
		}
		files, err := generate(s)
		if err != nil {
			fmt.Fprintf(os.Stderr, "_gen: %s: %v\n", s.name, err)
			os.Exit(1)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join("..", name), text, 0o644); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
}

// generate compiles one source and returns the text of its two files by name.
func generate(s source) (map[string][]byte, error) {
	c := build.NewContext()
	c.ConstraintExpr("!noasm")
	s.emit(c)
	f, err := c.Result()
	if err != nil {
		return nil, err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return nil, err
	}
	cfg := printer.Config{Name: "simd/_gen", Pkg: "simd"}
	asm, err := printer.NewGoAsm(cfg).Print(f)
	if err != nil {
		return nil, err
	}
	stub, err := printer.NewStubs(cfg).Print(f)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{s.name + "_amd64.s": asm, s.name + "_stub_amd64.go": stub}, nil
}

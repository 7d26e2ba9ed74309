// Command _gen writes what the Metal backend embeds: argument headers from the kernels' declarations, and one flat
// source a family with a manifest of hashes. It needs no compiler. Run it from the repository's root:
//
//	go run ./metal/_gen
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/likbench/likbench/backend/kernel"
	_ "github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/metal/internal/flatten"
)

func main() {
	if err := run("metal"); err != nil {
		fmt.Fprintln(os.Stderr, "_gen:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	src, objects := filepath.Join(root, "src"), filepath.Join(root, "objects")
	for _, k := range kernel.All() {
		if err := write(filepath.Join(src, "args", k.Name()+"_args.h"), []byte(kernel.Header(k, kernel.MSL))); err != nil {
			return err
		}
	}
	manifest, texts, err := flatten.Families(os.DirFS(src))
	if err != nil {
		return err
	}
	for _, o := range manifest.Objects {
		if err := write(filepath.Join(objects, o.File), texts[o.Family]); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	return write(filepath.Join(objects, "MANIFEST.json"), append(b, '\n'))
}

// write leaves a file alone that is right already.
func write(path string, b []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, b) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

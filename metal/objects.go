package metal

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"

	"github.com/likbench/likbench/metal/internal/flatten"
)

//go:embed objects/*.metal objects/MANIFEST.json
var embedded embed.FS

// objectSet is a manifest with the texts that it lists, verified.
type objectSet struct {
	families map[string]string // text by family
	entries  map[string]string // family by entry point
}

// embeddedObjects reads the embedded sources once.
var embeddedObjects = sync.OnceValues(func() (*objectSet, error) {
	root, err := fs.Sub(embedded, "objects")
	if err != nil {
		return nil, fmt.Errorf("metal: objects: %w", err)
	}
	return readObjects(root)
})

// readObjects holds every text against the manifest's hash, so that a damaged file is an error with its name and not
// a compiler message on a user's machine.
func readObjects(root fs.FS) (*objectSet, error) {
	raw, err := fs.ReadFile(root, "MANIFEST.json")
	if err != nil {
		return nil, fmt.Errorf("metal: objects: %w", err)
	}
	var m flatten.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("metal: objects: MANIFEST.json: %w", err)
	}
	set := &objectSet{families: map[string]string{}, entries: map[string]string{}}
	for _, o := range m.Objects {
		text, err := fs.ReadFile(root, o.File)
		if err != nil {
			return nil, fmt.Errorf("metal: objects: %w", err)
		}
		if h := sha256.Sum256(text); hex.EncodeToString(h[:]) != o.Hash {
			return nil, fmt.Errorf("metal: objects: %s has %d bytes of hash %x, not %s as MANIFEST.json says", o.File, len(text), h[:8], o.Hash[:16])
		}
		set.families[o.Family] = string(text)
		for _, e := range o.Entries {
			set.entries[e] = o.Family
		}
	}
	return set, nil
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Links between the documents lead somewhere.
func TestLinksResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	require.Greater(t, len(pages), 8)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "://") {
				require.FileExists(t, filepath.Join(filepath.Dir(page), m[1]), "%s links to it", page)
			}
		}
	}
}

// The two commands that the README promises are the ones that CI runs.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	steps, err := os.ReadFile("../../internal/ci/check.sh")
	require.NoError(t, err)
	require.Contains(t, string(readme), "\ngo test ./...  ")
	require.Contains(t, string(steps), "step_test() { go test ./...; }")
	require.Contains(t, string(readme), "\ngo run ./cmd/likbench --backend auto  ")
	require.Contains(t, string(steps), "go run ./cmd/likbench --backend auto --quick")
}

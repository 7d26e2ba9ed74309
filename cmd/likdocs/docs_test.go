package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

func TestGeneratedDocsAreFresh(t *testing.T) {
	stale, err := generate("../..", false)
	require.NoError(t, err)
	require.Empty(t, stale, "run 'make docs'")
}

func TestMarksAreRequired(t *testing.T) {
	_, err := between([]byte("no marks"), "x")
	require.EqualError(t, err, "README.md lacks the marks of the support table")
	_, err = between([]byte(endMark+beginMark), "x")
	require.Error(t, err, "in the wrong order")
	page, err := between([]byte("a\n"+beginMark+"old\n"+endMark+"z\n"), "new\n")
	require.NoError(t, err)
	require.Equal(t, "a\n"+beginMark+"new\n"+endMark+"z\n", string(page))
}

func TestGenerateWritesOnlyWhatIsStale(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "docs"), 0o755))
	_, err := generate(root, true)
	require.ErrorIs(t, err, os.ErrNotExist, "a README must be there")
	readme := filepath.Join(root, "README.md")
	require.NoError(t, os.WriteFile(readme, []byte(beginMark+endMark+"rest\n"), 0o644))
	stale, err := generate(root, false)
	require.NoError(t, err)
	require.Equal(t, []string{"docs/kernels.md", "docs/support.md", "README.md"}, stale)
	require.NoFileExists(t, filepath.Join(root, "docs", "kernels.md"), "a check writes nothing")
	_, err = generate(root, true)
	require.NoError(t, err)
	stale, err = generate(root, true)
	require.NoError(t, err)
	require.Empty(t, stale)
	page, err := os.ReadFile(readme)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(page), endMark+"rest\n"))
}

// Every kernel, operand and variant is on its page.
func TestPagesAreComplete(t *testing.T) {
	kernels, support, summary := string(kernelsPage()), string(supportPage()), supportSummary()
	for _, k := range kernel.All() {
		require.Contains(t, kernels, "\n## "+k.Name()+"\n")
		for _, o := range k.Operands() {
			require.Contains(t, kernels, "| "+o.Name+" | ")
		}
		for _, in := range k.Instances() {
			require.Contains(t, summary, "| "+in.Name+" |")
		}
	}
	require.NotContains(t, kernels, "| ? |", "a benchmark shape cannot be sized")
	for _, b := range backend.All() {
		for _, bd := range b.Bindings() {
			require.Contains(t, support, "| "+bd.Kernel+" | "+bd.Variant+" |", b.Name())
		}
	}
}

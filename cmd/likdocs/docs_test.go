package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGeneratedDocsAreFresh(t *testing.T) {
	stale, err := generate("../..", false)
	require.NoError(t, err)
	require.Empty(t, stale, "run 'make docs'")
}

func TestMarksAreRequired(t *testing.T) {
	_, err := between([]byte("no marks"), "x")
	require.EqualError(t, err, "README.md lacks the marks of the support table")
	page, err := between([]byte("a\n"+beginMark+"old\n"+endMark+"z\n"), "new\n")
	require.NoError(t, err)
	require.Equal(t, "a\n"+beginMark+"new\n"+endMark+"z\n", string(page))
}

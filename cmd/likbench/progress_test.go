package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// screen is what a terminal shows: a carriage return goes back to the line's beginning.
func screen(written string) []string {
	var lines []string
	for line := range strings.SplitSeq(written, "\n") {
		var row []rune
		for at, part := range strings.Split(line, "\r") {
			text := []rune(part)
			if at == 0 || len(text) >= len(row) {
				row = text
				continue
			}
			copy(row, text)
		}
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return lines
}

// Lines of the table stand by themselves, though the bar is on the same terminal.
func TestBarBelowLines(t *testing.T) {
	var terminal bytes.Buffer
	bar := newBar(&terminal)
	out := bar.above(&terminal)
	bar.update(0, 1, "collection")
	_, err := fmt.Fprint(out, "a part, ")
	require.NoError(t, err)
	_, err = fmt.Fprint(out, "and its end\n")
	require.NoError(t, err)
	for i := range 3 {
		bar.update(i, 3, "a kernel with a long name/and its case")
		_, err := fmt.Fprintf(out, "row %d\nrow %d, variant\n", i, i)
		require.NoError(t, err)
		require.Contains(t, screen(terminal.String())[2*i+3], "a kernel", "the bar is gone")
	}
	bar.close()
	_, err = io.WriteString(out, "end\n")
	require.NoError(t, err)
	require.Equal(t, []string{"a part, and its end", "row 0", "row 0, variant", "row 1", "row 1, variant", "row 2", "row 2, variant", "end", ""}, screen(terminal.String()))
}

// A stage that reaches its end is not the end of the bar.
func TestBarOfStages(t *testing.T) {
	var terminal bytes.Buffer
	bar := newBar(&terminal)
	for _, stage := range []struct {
		name  string
		total int
	}{{"scan", 65523}, {"sample", 1400}, {"centroids", 1400}, {"encode", 70000}} {
		for _, done := range []int{0, stage.total / 2, stage.total} {
			bar.update(done, stage.total, stage.name)
			lines := screen(terminal.String())
			require.Contains(t, lines[len(lines)-1], fmt.Sprintf("(%d/%d)", min(done, stage.total-1), stage.total))
			require.Contains(t, lines[len(lines)-1], stage.name)
		}
	}
	bar.close()
	require.Equal(t, []string{""}, screen(terminal.String()))
}

package main

import (
	"bytes"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on standard error, or nothing where that is no terminal.
type progress struct {
	bar   *progressbar.ProgressBar
	shown bool // the bar is on the terminal's last line
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return newBar(w)
}

func newBar(w io.Writer) *progress {
	return &progress{bar: progressbar.NewOptions(1, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(24), progressbar.OptionShowCount())}
}

// update shows done of total steps. A bar at its end would stay away for good, and stages
// follow one another: the last step is for close.
func (p *progress) update(done, total int, what string) {
	if p.bar == nil {
		return
	}
	if total != p.bar.GetMax() {
		_ = p.bar.Set(0) // of the stage before, which may have been longer
		p.bar.ChangeMax(total)
	}
	p.bar.Describe(what)
	_ = p.bar.Set(min(done, total-1)) // a bar that cannot be drawn is no failure of the run
	p.shown = true
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}

// above is w for lines on the same terminal: the bar leaves its line to them, and is drawn
// again below whole lines.
func (p *progress) above(w io.Writer) io.Writer {
	if p.bar == nil {
		return w
	}
	return &aboveBar{p, w}
}

type aboveBar struct {
	p *progress
	w io.Writer
}

func (a *aboveBar) Write(b []byte) (int, error) {
	if a.p.bar != nil && a.p.shown {
		_ = a.p.bar.Clear()
		a.p.shown = false
	}
	n, err := a.w.Write(b)
	if a.p.bar != nil && bytes.HasSuffix(b, []byte("\n")) {
		_ = a.p.bar.RenderBlank()
		a.p.shown = true
	}
	return n, err
}

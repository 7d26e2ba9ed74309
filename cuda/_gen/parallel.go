package main

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/likbench/likbench/cuda/internal/manifest"
)

// compiler makes one object of a source, and the compiler's log, which comes with an error as well. Several
// calls run at once.
type compiler func(name, code, target string, options []string) (object []byte, log string, err error)

// unit is one object in the making; done is closed when it is made or has failed.
type unit struct {
	text   *manifest.Text
	flags  []string
	target string
	done   chan struct{}
	object []byte
	log    string
	err    error
}

// compileAll compiles sources for all their targets, as many objects at once as there are processors, and hands each
// source to made in the order of names. What it makes does not depend on how many run at once. It fails with the
// error, which names the source, of the first object in that order that fails; nothing is started after a failure.
func compileAll(compile compiler, src string, names []string, messages io.Writer, made func(build)) error {
	sources := make([][]*unit, len(names))
	var units []*unit
	for i, name := range names {
		t, err := manifest.ReadSource(os.DirFS(src), name)
		if err != nil {
			return err
		}
		flags := append(append([]string(nil), baseFlags...), t.Flags...)
		for _, target := range t.Targets {
			sources[i] = append(sources[i], &unit{text: t, flags: flags, target: target, done: make(chan struct{})})
		}
		units = append(units, sources[i]...)
	}
	stop := start(compile, src, units)
	defer stop()
	for _, parts := range sources {
		b, err := join(parts, messages)
		if err != nil {
			return err
		}
		made(b)
	}
	return nil
}

// start compiles units in their order until one fails; stop lets no more start and waits for the rest. A unit in
// front of one that failed was started, so whoever waits for them in order does not wait in vain.
func start(compile compiler, src string, units []*unit) (stop func()) {
	var next atomic.Int64
	var ended atomic.Bool
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(units)) {
		wg.Go(func() {
			for !ended.Load() {
				i := next.Add(1) - 1
				if i >= int64(len(units)) {
					return
				}
				u := units[i]
				options := append(append([]string(nil), u.flags...), "-I"+filepath.Join(src, path.Dir(u.text.Name)), "-I"+src)
				if u.object, u.log, u.err = compile(u.text.Name, u.text.Code, u.target, options); u.err != nil {
					ended.Store(true)
				}
				close(u.done)
			}
		})
	}
	return func() {
		ended.Store(true)
		wg.Wait()
	}
}

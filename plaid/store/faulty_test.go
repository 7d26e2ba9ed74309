package store

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// quick is the system without the waiting for the disk: tests end no machine.
type quick struct{ system }

type quickFile struct{ *os.File }

func (quickFile) Sync() error { return nil }

func (quick) syncDir(string) error { return nil }

func (quick) create(path string) (file, error) { return quicken(system{}.create(path)) }
func (quick) open(path string) (file, error)   { return quicken(system{}.open(path)) }

func quicken(f file, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return quickFile{f.(*os.File)}, nil
}

// fate is what happens at a step.
type fate int

const (
	killed    fate = iota // the process ends before the step
	torn                  // it ends in the middle of it, where it writes
	powerless             // the machine ends: what was not synced is lost, names too
	renamed               // the machine ends: names are kept, content that was not synced is lost
	mixed                 // the machine ends: of the names that were not synced any may be kept
	failing               // the step fails, once
	full                  // it fails, and so does each after it
	fates
)

func (f fate) String() string {
	return [...]string{"killed", "torn", "powerless", "renamed", "mixed", "failing", "full"}[f]
}

// ends says that nothing is done after the step.
func (f fate) ends() bool { return f < failing }

var errDead = errors.New("dead")

// inode is a file whatever its name.
type inode struct{ synced []byte }

// faulty is a disk that meets its fate at a step, counted from 1, in one folder. It knows
// what a loss of power would leave.
type faulty struct {
	quick
	dir          string
	fate         fate
	at, step     int
	failed       bool
	now, durable map[string]*inode // by name
	settled      bool              // the folder's own name is durable
	promised     bool              // Commit has returned without an error
	op           string            // of the fatal step
}

func newFaulty(t testing.TB, dir string, f fate, at int) *faulty {
	d := &faulty{dir: dir, fate: f, at: at, now: map[string]*inode{}}
	for name, text := range contents(t, dir) {
		d.now[name] = &inode{[]byte(text)}
	}
	d.durable = maps.Clone(d.now)
	_, err := os.Stat(dir)
	d.settled = err == nil
	return d
}

// before is called ahead of each step; half asks that the step be done in part.
func (d *faulty) before(op string) (half bool, err error) {
	if d.failed && d.fate.ends() {
		return false, errDead
	}
	d.step++
	if d.step < d.at || d.failed && d.fate == failing {
		return false, nil
	}
	if !d.failed {
		d.op = op
	}
	d.failed = true
	switch d.fate {
	case failing:
		return true, syscall.EIO
	case full:
		return true, syscall.ENOSPC
	}
	return d.fate == torn, errDead
}

func (d *faulty) mkdir(path string) error {
	if _, err := d.before("mkdir"); err != nil {
		return err
	}
	return d.quick.mkdir(path)
}

func (d *faulty) create(path string) (file, error) {
	if _, err := d.before("create"); err != nil {
		return nil, err
	}
	f, err := d.quick.create(path)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	if d.now[name] == nil {
		d.now[name] = &inode{}
	}
	return &faultyFile{f, d, d.now[name], path}, nil
}

func (d *faulty) open(path string) (file, error) {
	f, err := d.quick.open(path)
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, d, d.now[filepath.Base(path)], path}, nil
}

func (d *faulty) rename(from, to string) error {
	if _, err := d.before("rename"); err != nil {
		return err
	}
	d.now[filepath.Base(to)] = d.now[filepath.Base(from)]
	delete(d.now, filepath.Base(from))
	return d.quick.rename(from, to)
}

func (d *faulty) remove(path string) error {
	if _, err := d.before("remove"); err != nil {
		return err
	}
	delete(d.now, filepath.Base(path))
	return d.quick.remove(path)
}

func (d *faulty) syncDir(path string) error {
	if _, err := d.before("syncdir"); err != nil {
		return err
	}
	switch path {
	case d.dir:
		d.durable = maps.Clone(d.now)
	case filepath.Dir(d.dir):
		d.settled = true
	}
	return nil
}

// faultyFile is an open file on a faulty disk.
type faultyFile struct {
	file
	d    *faulty
	node *inode
	path string
}

func (f *faultyFile) WriteAt(p []byte, at int64) (int, error) {
	half, err := f.d.before("write")
	if err == nil {
		return f.file.WriteAt(p, at)
	}
	if half {
		n, _ := f.file.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	return 0, err
}

func (f *faultyFile) Sync() error {
	if _, err := f.d.before("sync"); err != nil {
		return err
	}
	text, err := os.ReadFile(f.path)
	f.node.synced = text
	return err
}

func (f *faultyFile) Truncate(size int64) error {
	if _, err := f.d.before("truncate"); err != nil {
		return err
	}
	// The cut may reach the disk at any time: to be safe it must not matter.
	return f.file.Truncate(size)
}

// losses are the folders that the loss of power may leave: which names there are, and nil for
// no folder at all. Without such a loss there are none.
func (d *faulty) losses() []map[string]*inode {
	switch {
	case d.failed && d.fate == powerless:
		return []map[string]*inode{d.durable}
	case d.failed && d.fate == renamed:
		return []map[string]*inode{d.now}
	case d.failed && d.fate != mixed:
		return nil
	}
	var unsure []string
	for name, node := range d.now {
		if d.durable[name] != node {
			unsure = append(unsure, name)
		}
	}
	for name := range d.durable {
		if d.now[name] == nil {
			unsure = append(unsure, name)
		}
	}
	slices.Sort(unsure)
	var out []map[string]*inode
	if !d.settled {
		out = append(out, nil)
	}
	for _, kept := range subsets(len(unsure)) {
		names := maps.Clone(d.durable)
		for i, name := range unsure {
			switch {
			case kept>>i&1 == 0:
			case d.now[name] == nil:
				delete(names, name)
			default:
				names[name] = d.now[name]
			}
		}
		out = append(out, names)
	}
	return out
}

// subsets are all sets of n, as bits, or, of many, those that miss or have at most two.
func subsets(n int) []uint64 {
	var out []uint64
	if n <= 4 {
		for s := range uint64(1) << n {
			out = append(out, s)
		}
		return out
	}
	all := uint64(1)<<n - 1
	for i := range n {
		for j := i; j < n; j++ {
			few := uint64(1)<<i | uint64(1)<<j
			out = append(out, few, all&^few)
		}
	}
	return append(out, 0, all)
}

// lose leaves in the folder what one loss of power would.
func (d *faulty) lose(t testing.TB, names map[string]*inode) {
	require.NoError(t, os.RemoveAll(d.dir))
	if names == nil {
		return
	}
	require.NoError(t, os.Mkdir(d.dir, 0o777))
	for name, node := range names {
		require.NoError(t, os.WriteFile(filepath.Join(d.dir, name), node.synced, 0o666))
	}
}

// contents are the files of a folder; none where there is no folder.
func contents(t testing.TB, dir string) map[string]string {
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		out[e.Name()] = string(text)
	}
	return out
}

// restore makes a folder hold these files, or not be there.
func restore(t testing.TB, dir string, files map[string]string) {
	require.NoError(t, os.RemoveAll(dir))
	if len(files) == 0 {
		return
	}
	require.NoError(t, os.Mkdir(dir, 0o777))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}

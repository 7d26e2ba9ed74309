package build

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/likbench/likbench/internal/filelock"
	"github.com/likbench/likbench/plaid/store"
)

// AreaName is the folder, inside that of the index, in which a build keeps what it has
// finished until the index is committed.
const AreaName = "building"

// formatVersion is of the files of the area, and of whatever else decides an index's bytes.
const formatVersion = 1

const (
	stateFile     = "state"
	centroidsFile = "centroids"
	codecFile     = "codec"
	lockFile      = "lock"
	recordMagic   = "likbuild"
)

func chunkFile(i int) string { return fmt.Sprintf("chunk-%08d", i) }

// area is the folder of an unfinished build, locked. A nil one, of a build in memory, keeps
// nothing.
type area struct {
	dir  string
	lock *os.File
	halt func(point string) error
}

// openArea takes the area of the index folder dir, and makes both if there are none. It
// fails with ErrUnfinished where the area belongs to another build and restart is not set.
func openArea(dir, options, digest string, restart bool, halt func(string) error) (*area, error) {
	for _, d := range []string{dir, filepath.Join(dir, AreaName)} {
		if err := os.Mkdir(d, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("build: %w", err)
		}
	}
	a := &area{dir: filepath.Join(dir, AreaName), halt: halt}
	if err := a.take(); err != nil {
		return nil, err
	}
	err := a.claim(options, digest, restart)
	if err != nil {
		return nil, errors.Join(err, a.lock.Close())
	}
	return a, nil
}

// take locks the area.
func (a *area) take() error {
	path := filepath.Join(a.dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	held, err := filelock.Try(f)
	if held {
		err = store.ErrLocked
	}
	if err != nil {
		return errors.Join(fmt.Errorf("build: %s: %w", path, err), f.Close())
	}
	a.lock = f
	return nil
}

// claim compares the area with the build, and makes it the build's where it is nobody's.
func (a *area) claim(options, digest string, restart bool) error {
	parts, err := a.read(stateFile, 2)
	switch {
	case restart || errors.Is(err, fs.ErrNotExist):
		if err := a.clear(); err != nil {
			return err
		}
		return a.write(stateFile, []byte(options), []byte(digest))
	case err != nil:
		return fmt.Errorf("%w; a restart discards it", err)
	case string(parts[0]) != options:
		return fmt.Errorf("build: %s: other options: %w", a.dir, ErrUnfinished)
	case string(parts[1]) != digest:
		return fmt.Errorf("build: %s: another collection: %w", a.dir, ErrUnfinished)
	}
	return nil
}

// clear removes what was finished, the state last: a clearing that is interrupted is taken
// up again.
func (a *area) clear() error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); name == centroidsFile || name == codecFile || strings.HasPrefix(name, "chunk-") || strings.HasSuffix(name, ".tmp") {
			if err := os.Remove(filepath.Join(a.dir, name)); err != nil {
				return fmt.Errorf("build: %w", err)
			}
		}
	}
	if err := os.Remove(filepath.Join(a.dir, stateFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

// remove ends the area: the index is committed.
func (a *area) remove() error {
	if a == nil {
		return nil
	}
	if err := a.clear(); err != nil {
		return err
	}
	// An open file cannot be removed everywhere; the lock guards nothing any more.
	err := errors.Join(a.lock.Close(), os.Remove(filepath.Join(a.dir, lockFile)), os.Remove(a.dir))
	a.lock = nil
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

// release gives the area up and leaves it for a later run.
func (a *area) release() error {
	if a == nil || a.lock == nil {
		return nil
	}
	return a.lock.Close()
}

// stop lets tests end a build at a point.
func (a *area) stop(point, name string) error {
	if a.halt == nil {
		return nil
	}
	return a.halt(point + " " + name)
}

// write makes a file whole or not at all: magic, version, the number of parts, their
// lengths, the parts, and a CRC-32C of everything before it. Nothing is synced: a file that
// a loss of power damaged fails its sum, and is made again.
func (a *area) write(name string, parts ...[]byte) error {
	head := binary.LittleEndian.AppendUint32([]byte(recordMagic), formatVersion)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(parts)))
	for _, p := range parts {
		head = binary.LittleEndian.AppendUint64(head, uint64(len(p)))
	}
	path := filepath.Join(a.dir, name)
	if err := a.stop("before", name); err != nil {
		return err
	}
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	var sum uint32
	for _, p := range append([][]byte{head}, parts...) {
		sum = crc32.Update(sum, castagnoli, p)
		if err == nil {
			_, err = f.Write(p)
		}
	}
	if err == nil {
		_, err = f.Write(binary.LittleEndian.AppendUint32(nil, sum))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if err := a.stop("written", name); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return a.stop("after", name)
}

// read returns the parts of a file. It fails with ErrCorrupt where the file is not what
// write made of n parts.
func (a *area) read(name string, n int) ([][]byte, error) {
	path := filepath.Join(a.dir, name)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	head := len(recordMagic) + 8 + 8*n
	bad := func(why string) ([][]byte, error) {
		return nil, fmt.Errorf("build: %s: %s: %w", path, why, ErrCorrupt)
	}
	if len(raw) < head+4 || string(raw[:len(recordMagic)]) != recordMagic {
		return bad("no such record")
	}
	body := raw[:len(raw)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(raw[len(body):]) {
		return bad("checksum differs")
	}
	if v := binary.LittleEndian.Uint32(raw[8:]); v != formatVersion {
		return bad(fmt.Sprintf("version %d, want %d", v, formatVersion))
	}
	if got := binary.LittleEndian.Uint32(raw[12:]); got != uint32(n) {
		return bad(fmt.Sprintf("%d parts, want %d", got, n))
	}
	parts := make([][]byte, n)
	rest := body[head:]
	for i := range parts {
		size := binary.LittleEndian.Uint64(raw[16+8*i:])
		if size > uint64(len(rest)) {
			return bad(fmt.Sprintf("part %d of %d bytes", i, size))
		}
		parts[i], rest = rest[:size], rest[size:]
	}
	if len(rest) != 0 {
		return bad(fmt.Sprintf("%d bytes more", len(rest)))
	}
	return parts, nil
}

// numbers copies bytes to numbers, since parts start anywhere.
func numbers[T int32 | int64 | float32](p []byte) []T {
	var t T
	out := make([]T, len(p)/binary.Size(t))
	copy(bytesOf(out), p)
	return out
}

func number(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// saveCentroids keeps the centroids of an iteration.
func (a *area) saveCentroids(b *builder) error {
	if a == nil {
		return nil
	}
	converged := int64(0)
	if b.converged {
		converged = 1
	}
	return a.write(centroidsFile, number(int64(b.iteration)), number(converged), bytesOf(b.centroids))
}

// centroids reads what saveCentroids kept; ok is false where there is nothing usable.
func (a *area) centroids(values int64) (x []float32, iteration int, converged, ok bool) {
	if a == nil {
		return nil, 0, false, false
	}
	p, err := a.read(centroidsFile, 3)
	if err != nil || len(p[0]) != 8 || len(p[1]) != 8 || int64(len(p[2])) != 4*values {
		return nil, 0, false, false
	}
	return numbers[float32](p[2]), int(numbers[int64](p[0])[0]), numbers[int64](p[1])[0] != 0, true
}

func (a *area) saveCodec(c *Codec) error {
	if a == nil {
		return nil
	}
	return a.write(codecFile, bytesOf(c.Centroids), bytesOf(c.Cutoffs), bytesOf(c.Weights), bytesOf(c.AverageResidual), number(int64(math.Float32bits(c.Threshold))))
}

// codec reads what saveCodec kept, or nil.
func (a *area) codec(bits, d int) *Codec {
	if a == nil {
		return nil
	}
	p, err := a.read(codecFile, 5)
	if err != nil || len(p[0])%(4*d) != 0 || len(p[1]) != 4*(1<<bits-1) || len(p[2]) != 4<<bits || len(p[4]) != 8 {
		return nil
	}
	return &Codec{Dim: d, Bits: bits, Centroids: numbers[float32](p[0]), Cutoffs: numbers[float32](p[1]), Weights: numbers[float32](p[2]),
		AverageResidual: numbers[float32](p[3]), Threshold: math.Float32frombits(uint32(numbers[int64](p[4])[0]))}
}

func (a *area) saveChunk(i int, c *chunk) error {
	return a.write(chunkFile(i), number(c.first), bytesOf(c.lens), bytesOf(c.codes), c.residuals, bytesOf(c.inv))
}

// chunk reads what saveChunk kept and compares it with the block it is of.
func (a *area) chunk(i int, want *block, row int) (*chunk, error) {
	p, err := a.read(chunkFile(i), 5)
	if err != nil {
		return nil, err
	}
	var n int
	for _, l := range want.lens {
		n += int(l)
	}
	if len(p[0]) != 8 || numbers[int64](p[0])[0] != want.first || !slices.Equal(numbers[int32](p[1]), want.lens) ||
		len(p[2]) != 4*n || len(p[3]) != row*n || len(p[4]) != 4*n {
		return nil, fmt.Errorf("build: %s: not documents %d to %d: %w", filepath.Join(a.dir, chunkFile(i)), want.first, want.first+int64(len(want.lens)), ErrCorrupt)
	}
	return &chunk{first: want.first, lens: want.lens, codes: numbers[int32](p[2]), residuals: p[3], inv: numbers[float32](p[4])}, nil
}

package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/likbench/likbench/plaid/codec"
)

// kind is what a file holds.
type kind uint32

const (
	fileCentroids kind = iota + 1
	fileCodes
	fileResiduals
	fileInvNorms
	fileOffsets
	fileIDs
	fileLists
	fileTombstones
)

var kindNames = [...]string{
	fileCentroids: "centroids", fileCodes: "codes", fileResiduals: "residuals", fileInvNorms: "invnorms",
	fileOffsets: "offsets", fileIDs: "ids", fileLists: "lists", fileTombstones: "tombstones",
}

// grown are the kinds that are appended to.
var grown = [...]kind{fileCodes, fileResiduals, fileInvNorms, fileOffsets, fileIDs}

func (k kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "kind " + strconv.Itoa(int(k))
	}
	return kindNames[k]
}

const (
	magic       = "LIKSTORE"
	version     = 1
	versionHalf = 2   // the same, with centroids in float16
	headerBytes = 128 // the counts and lengths before the tables
	entryBytes  = 40
	// manifestLimit bounds what a manifest can make a reader allocate: sums of 64 TiB in
	// blocks of the default size.
	manifestLimit = 256 << 20

	defaultBlock = 1 << 20
	minBlock     = 64
	maxBlock     = 1 << 30

	maxDocuments = math.MaxInt32 // positions are i32
	maxCentroids = 1 << 31       // codes are i32
)

// castagnoli is the polynomial that processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is a file of a generation.
type entry struct {
	kind         kind
	serial       uint64
	length       int64
	first, count int64    // the documents of a list file
	sums         []uint32 // CRC-32C of each block
}

func (e *entry) name() string { return fmt.Sprintf("%s-%d.bin", e.kind, e.serial) }

// extend accounts for bytes written at the end.
func (e *entry) extend(p []byte, block int64) {
	for len(p) > 0 {
		used := e.length % block
		if used == 0 {
			e.sums = append(e.sums, 0)
		}
		n := min(block-used, int64(len(p)))
		last := &e.sums[len(e.sums)-1]
		*last = crc32.Update(*last, castagnoli, p[:n])
		e.length += n
		p = p[n:]
	}
}

// manifest is a generation: counts, tables, and its files.
type manifest struct {
	generation                uint64
	dim, bits                 int
	k                         int64
	documents, tokens         int64
	deleted                   int64
	nextID                    int64  // above every id ever given
	serial                    uint64 // above that of every file
	block                     int64  // bytes a checksum covers
	threshold                 float32
	cutoffs, weights, average []float32
	half                      bool    // the file of the centroids is float16
	files                     []entry // by kind, lists by first document
}

// clone is a copy to be changed; tables are shared.
func (m *manifest) clone() *manifest {
	c := *m
	c.files = make([]entry, len(m.files))
	for i, e := range m.files {
		e.sums = append([]uint32(nil), e.sums...)
		c.files[i] = e
	}
	return &c
}

// file is the only file of a kind, or nil.
func (m *manifest) file(k kind) *entry {
	for i := range m.files {
		if m.files[i].kind == k {
			return &m.files[i]
		}
	}
	return nil
}

// segments are the list files.
func (m *manifest) segments() []entry {
	for i := range m.files {
		if m.files[i].kind == fileLists {
			n := i
			for n < len(m.files) && m.files[n].kind == fileLists {
				n++
			}
			return m.files[i:n]
		}
	}
	return nil
}

// drop removes the files of a kind from the n-th on.
func (m *manifest) drop(k kind, n int) {
	kept := m.files[:0]
	for _, e := range m.files {
		if e.kind != k || n > 0 {
			kept = append(kept, e)
		}
		if e.kind == k {
			n--
		}
	}
	m.files = kept
}

// add puts a file in its place, after those of its kind.
func (m *manifest) add(e entry) {
	at := 0
	for at < len(m.files) && m.files[at].kind <= e.kind {
		at++
	}
	m.files = append(m.files, entry{})
	copy(m.files[at+1:], m.files[at:])
	m.files[at] = e
}

// fresh is an empty file of a kind, with a number of its own.
func (m *manifest) fresh(k kind) entry {
	m.serial++
	return entry{kind: k, serial: m.serial - 1}
}

func (m *manifest) row() int64 { return int64(m.dim) * int64(m.bits) / 8 }

const manifestPrefix = "manifest-"

// manifestName sorts as its number does.
func manifestName(generation uint64) string {
	return fmt.Sprintf("%s%020d", manifestPrefix, generation)
}

// parseManifestName is the inverse of manifestName.
func parseManifestName(name string) (uint64, bool) {
	text, ok := strings.CutPrefix(name, manifestPrefix)
	g, err := strconv.ParseUint(text, 10, 64)
	return g, ok && err == nil && g > 0 && manifestName(g) == name
}

// parseFileName tells whether a name is one that entry.name could give.
func parseFileName(name string) bool {
	stem, ok := strings.CutSuffix(name, ".bin")
	kindName, number, dash := strings.Cut(stem, "-")
	serial, err := strconv.ParseUint(number, 10, 64)
	if !ok || !dash || err != nil {
		return false
	}
	for k := fileCentroids; k <= fileTombstones; k++ {
		if e := (entry{kind: k, serial: serial}); k.String() == kindName && e.name() == name {
			return true
		}
	}
	return false
}

// encode writes the manifest:
//
//	 0  magic · u32 version · u32 number of files · u64 bytes in all
//	24  u64 generation · u64 next serial · u64 documents · u64 tokens · u64 deleted · u64 next id
//	72  u64 K · u32 dim · u32 bits · u64 bytes a block · f32 threshold
//	100 u32 cutoffs · u32 weights · u32 averages · zeros
//	128 the tables, f32; then of each file u32 kind · u32 zero · u64 serial · u64 length ·
//	    u64 first document · u64 documents · u32 sums, one a block; at the end u32 CRC-32C
func (m *manifest) encode() []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, 4096), magic...)
	b = le.AppendUint32(b, m.version())
	b = le.AppendUint32(b, uint32(len(m.files)))
	b = le.AppendUint64(b, 0)
	for _, v := range []uint64{m.generation, m.serial, uint64(m.documents), uint64(m.tokens), uint64(m.deleted), uint64(m.nextID), uint64(m.k)} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, uint32(m.dim))
	b = le.AppendUint32(b, uint32(m.bits))
	b = le.AppendUint64(b, uint64(m.block))
	b = le.AppendUint32(b, math.Float32bits(m.threshold))
	for _, t := range [][]float32{m.cutoffs, m.weights, m.average} {
		b = le.AppendUint32(b, uint32(len(t)))
	}
	b = append(b, make([]byte, headerBytes-len(b))...)
	for _, t := range [][]float32{m.cutoffs, m.weights, m.average} {
		for _, v := range t {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
	}
	for _, e := range m.files {
		b = le.AppendUint32(b, uint32(e.kind))
		b = le.AppendUint32(b, 0)
		for _, v := range []uint64{e.serial, uint64(e.length), uint64(e.first), uint64(e.count)} {
			b = le.AppendUint64(b, v)
		}
		for _, s := range e.sums {
			b = le.AppendUint32(b, s)
		}
	}
	le.PutUint64(b[16:], uint64(len(b)+4))
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// version is that of the layout: the older one where nothing asks for the newer.
func (m *manifest) version() uint32 {
	if m.half {
		return versionHalf
	}
	return version
}

// cellBytes is the size of a centroid's component.
func (m *manifest) cellBytes() int64 {
	if m.half {
		return 2
	}
	return 4
}

// parser takes a manifest apart; the first thing wrong stays in err.
type parser struct {
	path string
	text []byte
	at   int
	err  error
}

// take is the next n bytes, or zeros once something is wrong.
func (p *parser) take(n int) []byte {
	if p.err == nil && len(p.text)-p.at < n {
		p.refuse("ends here, %d bytes more wanted", n-(len(p.text)-p.at))
	}
	if p.err != nil {
		return make([]byte, n)
	}
	p.at += n
	return p.text[p.at-n : p.at]
}

func (p *parser) u32() uint32 { return binary.LittleEndian.Uint32(p.take(4)) }
func (p *parser) u64() uint64 { return binary.LittleEndian.Uint64(p.take(8)) }

// count is a number from 0 to limit.
func (p *parser) count(what string, limit int64) int64 {
	v := p.u64()
	if v > uint64(limit) {
		p.at -= 8
		p.refuse("%s %d, limit %d", what, v, limit)
		return 0
	}
	return int64(v)
}

func (p *parser) refuse(text string, args ...any) {
	if p.err == nil {
		p.err = corruptByte(p.path, int64(p.at), text, args...)
	}
}

// floats are n values; none is allocated that is not there.
func (p *parser) floats(n uint32) []float32 {
	if p.err == nil && uint64(n) > uint64(len(p.text)-p.at)/4 {
		p.refuse("ends here, %d values wanted", n)
	}
	if p.err != nil {
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(p.u32())
	}
	return out
}

// parseManifest checks and takes apart a manifest: frame and checksum first, so that what
// else is wrong was written so. It fails with an *Error that names the byte, wrapping
// ErrCorrupt or ErrUnsupported. Afterwards the lengths of files follow from the counts.
func parseManifest(path string, text []byte) (*manifest, error) {
	p := &parser{path: path, text: text}
	if string(p.take(len(magic))) != magic && p.err == nil {
		p.at = 0
		p.refuse("%q, want %q", text[:len(magic)], magic)
	}
	v := p.u32()
	if p.err == nil && v != version && v != versionHalf {
		return nil, wrong(path, int64(len(magic)), because(ErrUnsupported, "version %d, this program reads %d and %d", v, version, versionHalf))
	}
	files := p.u32()
	if n := p.u64(); p.err == nil && n != uint64(len(text)) {
		p.at -= 8
		p.refuse("%d bytes, the file has %d", n, len(text))
	}
	if p.err == nil && len(text) < headerBytes+4 {
		p.refuse("%d bytes, a header has %d", len(text), headerBytes+4)
	}
	if p.err != nil {
		return nil, p.err
	}
	end := len(text) - 4
	if want, got := binary.LittleEndian.Uint32(text[end:]), crc32.Checksum(text[:end], castagnoli); want != got {
		return nil, corruptByte(path, int64(end), "checksum %08x, the content has %08x", want, got)
	}
	p.text = text[:end]
	m := p.header()
	m.half = v == versionHalf
	if p.err == nil {
		p.entries(m, files)
	}
	if p.err == nil && p.at != end {
		p.refuse("%d bytes after the last file", end-p.at)
	}
	if p.err != nil {
		return nil, p.err
	}
	return m, m.check(path)
}

func (p *parser) header() *manifest {
	m := &manifest{generation: p.u64(), serial: p.u64()}
	m.documents = p.count("documents", maxDocuments)
	m.tokens = p.count("tokens", math.MaxInt64)
	m.deleted = p.count("deleted documents", m.documents)
	m.nextID = p.count("next id", math.MaxInt64)
	m.k = p.count("centroids", maxCentroids)
	m.dim, m.bits = int(p.u32()), int(p.u32())
	m.block = p.count("bytes a block", maxBlock)
	m.threshold = math.Float32frombits(p.u32())
	var n [3]uint32
	for i := range n {
		n[i] = p.u32()
	}
	p.take(headerBytes - p.at)
	m.cutoffs, m.weights, m.average = p.floats(n[0]), p.floats(n[1]), p.floats(n[2])
	if p.err == nil && (m.block < minBlock || m.block&(m.block-1) != 0) {
		p.refuse("blocks of %d bytes", m.block)
	}
	return m
}

func (p *parser) entries(m *manifest, n uint32) {
	if uint64(n) > uint64(len(p.text)-p.at)/entryBytes {
		p.refuse("ends here, %d files wanted", n)
		return
	}
	m.files = make([]entry, n)
	for i := range m.files {
		at := p.at
		e := &m.files[i]
		e.kind = kind(p.u32())
		p.u32()
		e.serial = p.u64()
		e.length = p.count("length", math.MaxInt64)
		e.first, e.count = p.count("first document", m.documents), p.count("documents", m.documents)
		blocks := e.length / m.block
		if e.length%m.block != 0 {
			blocks++
		}
		if p.err == nil && blocks > int64(len(p.text)-p.at)/4 {
			p.refuse("ends here, %d checksums wanted", blocks)
		}
		switch {
		case p.err != nil:
			return
		case e.kind < fileCentroids || e.kind > fileTombstones || i > 0 && e.kind < m.files[i-1].kind:
			p.at = at
			p.refuse("%v in place %d", e.kind, i)
		case e.serial >= m.serial:
			p.at = at + 8
			p.refuse("serial %d, %d is free", e.serial, m.serial)
		}
		e.sums = make([]uint32, blocks)
		for j := range e.sums {
			e.sums[j] = p.u32()
		}
	}
}

// check compares counts, tables and lengths.
func (m *manifest) check(path string) error {
	if _, err := codec.RowBytes(m.dim, m.bits); err != nil {
		return corrupt(path, "%v", err)
	}
	if err := checkTables(m.bits, m.dim, m.cutoffs, m.weights, m.average, m.threshold); err != nil {
		return corrupt(path, "%v", err)
	}
	switch _, found := parseManifestName(manifestName(m.generation)); {
	case !found:
		return corrupt(path, "generation %d", m.generation)
	case m.nextID < m.documents:
		return corrupt(path, "%d documents, next id %d", m.documents, m.nextID)
	}
	words := int64(0)
	if m.deleted > 0 {
		words = (m.documents + 31) / 32
	}
	for _, f := range []struct {
		kind    kind
		n, size int64
	}{
		{fileCentroids, m.k, m.cellBytes() * int64(m.dim)}, {fileCodes, m.tokens, 4}, {fileResiduals, m.tokens, m.row()}, {fileInvNorms, m.tokens, 4},
		{fileOffsets, m.documents + 1, 8}, {fileIDs, m.documents, 8}, {fileTombstones, words, 4},
	} {
		if err := m.checkLength(path, f.kind, f.n, f.size); err != nil {
			return err
		}
	}
	return m.checkSegments(path)
}

// checkLength requires one file of a kind, with n elements of a size; no tombstones means
// no file.
func (m *manifest) checkLength(path string, k kind, n, size int64) error {
	found := 0
	for i := range m.files {
		if e := &m.files[i]; e.kind == k {
			found++
			if hi, lo := bits.Mul64(uint64(n), uint64(size)); hi != 0 || lo != uint64(e.length) {
				return corrupt(path, "%s: %d bytes, %d elements of %d bytes wanted", e.name(), e.length, n, size)
			}
		}
	}
	want := 1
	if k == fileTombstones && n == 0 {
		want = 0
	}
	if found != want {
		return corrupt(path, "%d files of %v, want %d", found, k, want)
	}
	return nil
}

// checkSegments requires list files for all documents in order.
func (m *manifest) checkSegments(path string) error {
	next := int64(0)
	for _, e := range m.segments() {
		if e.first != next || e.count == 0 || e.count > m.documents-next {
			return corrupt(path, "%s: documents %d to %d, want from %d of %d", e.name(), e.first, e.first+e.count, next, m.documents)
		}
		if pairs := e.length - listsAt(m.k); pairs < 0 || pairs%4 != 0 {
			return corrupt(path, "%s: %d bytes, offsets take %d", e.name(), e.length, listsAt(m.k))
		}
		next += e.count
	}
	if next != m.documents {
		return corrupt(path, "lists of %d documents, want %d", next, m.documents)
	}
	return nil
}

// listsAt is where the documents of a list file start.
func listsAt(k int64) int64 { return (8*(k+1) + 63) &^ 63 }

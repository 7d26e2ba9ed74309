package format

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Values that the interpreter makes: nil, bool, int64, float64, string, tuple, *list, *dict
// and the following.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{} // whatever it holds: tensors carry empty ones only
	mark   struct{}
	global string // "module name"

	// storage is where a tensor's elements lie.
	storage struct {
		dtype string
		key   string
		n     int64
	}
	// pickled is a tensor as the pickle describes it.
	pickled struct {
		storage storage
		offset  int64
		shape   []int
	}
)

// globals are the names that may be called or passed. Any other, os.system say, ends the
// reading: no module is imported and nothing is called, whatever the pickle asks for.
var globals = map[global]string{
	"collections OrderedDict":         "",
	"torch._utils _rebuild_tensor_v2": "",
	"torch HalfStorage":               "f2",
	"torch FloatStorage":              "f4",
	"torch IntStorage":                "i4",
	"torch LongStorage":               "i8",
	"torch ByteStorage":               "u1",
}

// Bounds on what a pickle of tensors needs.
const (
	maxStack = 1 << 12
	maxMemo  = 1 << 16
	maxRank  = 8
)

// unpickler interprets the pickle of a torch file.
type unpickler struct {
	text  []byte
	at    int // position after the opcode being interpreted
	stack []any
	memo  map[uint32]any
}

// unpickle returns the one value of a pickle. Its errors wrap ErrUnsafe for what could be
// legal in other pickles, ErrCorrupt for what is legal in none; at is the offending byte.
func unpickle(text []byte) (v any, at int, err error) {
	u := &unpickler{text: text, memo: map[uint32]any{}}
	for {
		start := u.at
		if u.at >= len(text) {
			return nil, start, because(ErrCorrupt, "the pickle has no end")
		}
		op := text[u.at]
		u.at++
		if op == '.' {
			if len(u.stack) != 1 || u.stack[0] == (mark{}) || u.at != len(text) {
				return nil, start, because(ErrCorrupt, "the pickle ends with %d values and %d bytes left", len(u.stack), len(text)-u.at)
			}
			return u.stack[0], start, nil
		}
		if err := u.step(op); err != nil {
			return nil, start, err
		}
		if len(u.stack) > maxStack || len(u.memo) > maxMemo {
			return nil, start, because(ErrUnsafe, "%d values, %d remembered", len(u.stack), len(u.memo))
		}
	}
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

// pop takes n values off the stack; a mark is none.
func (u *unpickler) pop(n int) ([]any, error) {
	if len(u.stack) < n {
		return nil, because(ErrCorrupt, "%d values wanted, %d there", n, len(u.stack))
	}
	top := u.stack[len(u.stack)-n:]
	for _, v := range top {
		if v == (mark{}) {
			return nil, because(ErrCorrupt, "a mark where a value is wanted")
		}
	}
	u.stack = u.stack[:len(u.stack)-n]
	return append([]any(nil), top...), nil
}

// popMark takes the values down to the last mark, and the mark.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if u.stack[i] == (mark{}) {
			items := append([]any(nil), u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, because(ErrCorrupt, "no mark")
}

// number reads a little-endian argument.
func (u *unpickler) number(width int) (uint64, error) {
	b, err := u.take(uint64(width))
	if err != nil {
		return 0, err
	}
	var n [8]byte
	copy(n[:], b)
	return binary.LittleEndian.Uint64(n[:]), nil
}

func (u *unpickler) take(n uint64) ([]byte, error) {
	if n > uint64(len(u.text)-u.at) {
		return nil, because(ErrCorrupt, "%d bytes wanted, %d left", n, len(u.text)-u.at)
	}
	b := u.text[u.at:][:n]
	u.at += int(n)
	return b, nil
}

func (u *unpickler) step(op byte) error {
	switch op {
	case '(':
		u.push(mark{})
	case 'N':
		u.push(nil)
	case '\x88', '\x89':
		u.push(op == '\x88')
	case ')':
		u.push(tuple{})
	case ']':
		u.push(&list{})
	case '}':
		u.push(&dict{})
	case '\x80', '\x95':
		_, err := u.number(map[byte]int{'\x80': 1, '\x95': 8}[op])
		return err
	case 'K', 'M', 'J', '\x8a', 'G':
		return u.scalar(op)
	case 'X', '\x8c', 'U', 'T':
		return u.text0(op)
	case 'c', '\x93':
		return u.global(op)
	case 't', '\x85', '\x86', '\x87':
		return u.tuple(op)
	case 'q', 'r', '\x94', 'h', 'j':
		return u.remember(op)
	case 'a', 'e':
		return u.extend(op)
	case 's', 'u':
		return because(ErrUnsafe, "a dictionary with entries")
	case 'Q':
		return u.persistent()
	case 'R':
		return u.reduce()
	default:
		return because(ErrUnsafe, "opcode %#x", op)
	}
	return nil
}

func (u *unpickler) scalar(op byte) error {
	if op == '\x8a' {
		return u.long()
	}
	n, err := u.number(map[byte]int{'K': 1, 'M': 2, 'J': 4, 'G': 8}[op])
	switch {
	case err != nil:
	case op == 'J':
		u.push(int64(int32(n)))
	case op == 'G': // the one big-endian argument
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], n)
		u.push(math.Float64frombits(binary.BigEndian.Uint64(b[:])))
	default:
		u.push(int64(n))
	}
	return err
}

func (u *unpickler) long() error {
	n, err := u.number(1)
	if err != nil {
		return err
	}
	if n > 8 {
		return because(ErrUnsafe, "an integer of %d bytes", n)
	}
	b, err := u.take(n)
	if err != nil {
		return err
	}
	var v int64
	for i := range b {
		v |= int64(b[i]) << (8 * i)
	}
	if n > 0 && n < 8 && b[n-1] >= 0x80 {
		v -= 1 << (8 * n)
	}
	u.push(v)
	return nil
}

func (u *unpickler) text0(op byte) error {
	n, err := u.number(map[byte]int{'X': 4, 'T': 4, '\x8c': 1, 'U': 1}[op])
	if err != nil {
		return err
	}
	b, err := u.take(n)
	if err != nil {
		return err
	}
	u.push(string(b))
	return nil
}

func (u *unpickler) global(op byte) error {
	var name [2]string
	if op == 'c' {
		at, ok := u.at, true
		for i := range name {
			if name[i], at, ok = lineAt(u.text, at); !ok {
				return because(ErrCorrupt, "a name without end")
			}
		}
		u.at = at
	} else {
		v, err := u.pop(2)
		if err != nil {
			return err
		}
		for i := range name {
			s, ok := v[i].(string)
			if !ok {
				return because(ErrCorrupt, "a name that is no text")
			}
			name[i] = s
		}
	}
	g := global(name[0] + " " + name[1])
	if _, ok := globals[g]; !ok {
		return because(ErrUnsafe, "%.80q is not a tensor's", name[0]+"."+name[1])
	}
	u.push(g)
	return nil
}

func (u *unpickler) tuple(op byte) error {
	var items []any
	var err error
	if op == 't' {
		items, err = u.popMark()
	} else {
		items, err = u.pop(int(op-'\x85') + 1)
	}
	if err == nil {
		u.push(tuple(items))
	}
	return err
}

func (u *unpickler) remember(op byte) error {
	index := uint64(len(u.memo))
	if op != '\x94' {
		var err error
		if index, err = u.number(map[byte]int{'q': 1, 'h': 1, 'r': 4, 'j': 4}[op]); err != nil {
			return err
		}
	}
	if op == 'h' || op == 'j' {
		v, ok := u.memo[uint32(index)]
		if !ok {
			return because(ErrCorrupt, "value %d is not remembered", index)
		}
		u.push(v)
		return nil
	}
	if len(u.stack) == 0 || u.stack[len(u.stack)-1] == (mark{}) {
		return because(ErrCorrupt, "no value to remember")
	}
	u.memo[uint32(index)] = u.stack[len(u.stack)-1]
	return nil
}

func (u *unpickler) extend(op byte) error {
	var items []any
	var err error
	if op == 'e' {
		items, err = u.popMark()
	} else {
		items, err = u.pop(1)
	}
	if err != nil {
		return err
	}
	if len(u.stack) == 0 {
		return because(ErrCorrupt, "no list to append to")
	}
	l, ok := u.stack[len(u.stack)-1].(*list)
	if !ok {
		return because(ErrCorrupt, "no list to append to")
	}
	if l.items = append(l.items, items...); len(l.items) > maxStack {
		return because(ErrUnsafe, "a list of %d", len(l.items))
	}
	return nil
}

// persistent makes the storage of a tuple ("storage", type, key, place, elements).
func (u *unpickler) persistent() error {
	v, err := u.pop(1)
	if err != nil {
		return err
	}
	id, _ := v[0].(tuple)
	if len(id) != 5 || id[0] != "storage" {
		return because(ErrUnsafe, "a reference to something other than a storage")
	}
	g, ok := id[1].(global)
	key, ok2 := id[2].(string)
	n, ok3 := id[4].(int64)
	if !ok || globals[g] == "" || !ok2 || !ok3 || n < 0 {
		return because(ErrCorrupt, "a storage of %v, %v elements", id[1], id[4])
	}
	u.push(storage{dtype: globals[g], key: key, n: n})
	return nil
}

// reduce makes what two calls would: an empty OrderedDict, and a tensor.
func (u *unpickler) reduce() error {
	v, err := u.pop(2)
	if err != nil {
		return err
	}
	args, ok := v[1].(tuple)
	switch {
	case v[0] == global("collections OrderedDict") && ok && len(args) == 0:
		u.push(&dict{})
		return nil
	case v[0] == global("torch._utils _rebuild_tensor_v2") && ok && len(args) >= 6:
		t, err := rebuild(args)
		if err == nil {
			u.push(t)
		}
		return err
	}
	return because(ErrUnsafe, "a call of %.80v", v[0])
}

// rebuild makes a tensor of (storage, offset, shape, strides, requires_grad, hooks, …).
func rebuild(args tuple) (*pickled, error) {
	s, ok := args[0].(storage)
	offset, ok2 := args[1].(int64)
	shape, ok3 := args[2].(tuple)
	strides, ok4 := args[3].(tuple)
	if !ok || !ok2 || !ok3 || !ok4 || len(shape) != len(strides) || len(shape) > maxRank || offset < 0 || offset > s.n {
		return nil, because(ErrCorrupt, "a tensor with odd arguments")
	}
	t := &pickled{storage: s, offset: offset, shape: make([]int, len(shape))}
	n, empty := int64(1), false
	for i := len(shape) - 1; i >= 0; i-- {
		d, ok := shape[i].(int64)
		stride, ok2 := strides[i].(int64)
		if !ok || !ok2 || d < 0 {
			return nil, because(ErrCorrupt, "axis %d of a tensor is %v", i, shape[i])
		}
		t.shape[i] = int(d)
		if d == 0 { // then lengths and strides of other axes say nothing
			empty = true
			continue
		}
		if !empty && d > 1 && stride != n {
			return nil, because(ErrUnsupported, "a tensor with stride %d on axis %d, want %d: not row-major", stride, i, n)
		}
		if n > math.MaxInt64/d {
			return nil, because(ErrCorrupt, "a tensor of more elements than can be counted")
		}
		n *= d
	}
	if empty {
		n = 0
	}
	if n > s.n-offset {
		return nil, because(ErrCorrupt, "a tensor of %d elements from %d of %d on", n, offset, s.n)
	}
	return t, nil
}

func (t *pickled) String() string { return fmt.Sprintf("tensor %v of %s", t.shape, t.storage.dtype) }

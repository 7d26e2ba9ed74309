package wordpiece

import "github.com/vcaesar/cedar"

// trie is a map from pieces to ids that finds the longest piece at the head of a
// text. It wraps a double-array trie, of whose methods only Insert (before freeze),
// Jump and Value are used: ExactMatch and Find answer for absent keys with the value
// of a prefix, and the non-reduced form returns node numbers for values. Lookups
// after freeze do not write, so they may run at the same time.
type trie struct {
	array        *cedar.Cedar
	continuation int // the node behind "##", or none
}

const (
	root = 0
	none = -1
)

func newTrie() trie { return trie{array: cedar.New(), continuation: none} }

// insert adds a piece. Neither the empty piece nor one with a NUL byte may come
// here: cedar uses the byte 0 as its end mark, and would lose other values.
func (t *trie) insert(piece string, id int32) error {
	return t.array.Insert([]byte(piece), int(id))
}

// freeze ends the insertions, which may have moved nodes.
func (t *trie) freeze() {
	if node, err := t.array.Jump([]byte("##"), root); err == nil {
		t.continuation = node
	}
}

// longestPrefix finds the longest non-empty prefix of text that, behind node, is a
// piece: its length in bytes and its id.
func (t *trie) longestPrefix(node int, text []byte) (n int, id int32, ok bool) {
	if node == none {
		return 0, 0, false
	}
	for i := range text {
		if text[i] == 0 { // would walk into cedar's end mark
			break
		}
		next, err := t.array.Jump(text[i:i+1], node)
		if err != nil {
			break
		}
		node = next
		if v, err := t.array.Value(node); err == nil {
			n, id, ok = i+1, int32(v), true
		}
	}
	return n, id, ok
}

// lookup finds a piece as a whole.
func (t *trie) lookup(piece string) (int32, bool) {
	n, id, ok := t.longestPrefix(root, []byte(piece))
	return id, ok && n == len(piece)
}

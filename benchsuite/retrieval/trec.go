package retrieval

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// FormatError says where a TREC file departs from its format.
type FormatError struct {
	File   string
	Line   int // counted from 1
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("retrieval: %s:%d: %s", e.File, e.Line, e.Reason)
}

// ReadQrels reads lines of four fields, "query iteration document grade", where the
// iteration is ignored. name is the file's name in errors. A document judged twice
// for a query is an error, and so is a file without judgements.
func ReadQrels(r io.Reader, name string) (Qrels, error) {
	qrels := Qrels{}
	err := lines(r, name, 4, func(f []string) string {
		grade, err := strconv.Atoi(f[3])
		if err != nil {
			return fmt.Sprintf("grade %q is not an integer", f[3])
		}
		docs := qrels[f[0]]
		if docs == nil {
			docs = map[string]int{}
			qrels[f[0]] = docs
		}
		if _, ok := docs[f[2]]; ok {
			return fmt.Sprintf("document %s of query %s is judged twice", f[2], f[0])
		}
		docs[f[2]] = grade
		return ""
	})
	if err != nil {
		return nil, err
	}
	return qrels, nil
}

// ReadRun reads lines of six fields, "query Q0 document rank score tag". The second
// field and the rank are ignored, as trec_eval does: the score decides. It returns
// the tag of the first line. A document twice for a query is an error, and so are a
// score that is no number and a file without lines.
func ReadRun(r io.Reader, name string) (Run, string, error) {
	run, tag := Run{}, ""
	seen := map[[2]string]bool{}
	err := lines(r, name, 6, func(f []string) string {
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil || math.IsNaN(score) {
			return fmt.Sprintf("score %q is not a number", f[4])
		}
		key := [2]string{f[0], f[2]}
		if seen[key] {
			return fmt.Sprintf("document %s of query %s occurs twice", f[2], f[0])
		}
		seen[key] = true
		run[f[0]] = append(run[f[0]], Scored{f[2], score})
		if tag == "" {
			tag = f[5]
		}
		return ""
	})
	if err != nil {
		return nil, "", err
	}
	return run, tag, nil
}

// maxLine is the longest line read; ids are short.
const maxLine = 1 << 20

// lines calls take with the fields of every line that has any; take returns what is
// wrong with them.
func lines(r io.Reader, name string, fields int, take func(f []string) string) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	at, taken := 0, 0
	for s.Scan() {
		at++
		f := strings.Fields(s.Text())
		if len(f) == 0 {
			continue
		}
		if len(f) != fields {
			return &FormatError{name, at, fmt.Sprintf("%d fields, want %d", len(f), fields)}
		}
		if reason := take(f); reason != "" {
			return &FormatError{name, at, reason}
		}
		taken++
	}
	if err := s.Err(); err == bufio.ErrTooLong {
		return &FormatError{name, at + 1, fmt.Sprintf("line longer than %d bytes", maxLine)}
	} else if err != nil {
		return fmt.Errorf("retrieval: %s: %w", name, err)
	}
	if taken == 0 {
		return &FormatError{name, at + 1, "no lines"}
	}
	return nil
}

// WriteQrels writes judgements in the form that [ReadQrels] reads, by query and
// document. Ids must be non-empty and without blanks.
func WriteQrels(w io.Writer, qrels Qrels) error {
	b := bufio.NewWriter(w)
	for _, q := range sortedIDs(maps.Keys(qrels)) {
		for _, d := range sortedIDs(maps.Keys(qrels[q])) {
			if err := checkIDs(q, d); err != nil {
				return err
			}
			fmt.Fprintf(b, "%s 0 %s %d\n", q, d, qrels[q][d])
		}
	}
	return flush(b)
}

// WriteRun writes a run in the form that [ReadRun] reads, by query and rank. Scores
// are written so that they read back the same. The tag and all ids must be
// non-empty and without blanks.
func WriteRun(w io.Writer, run Run, tag string) error {
	b := bufio.NewWriter(w)
	for _, q := range sortedIDs(maps.Keys(run)) {
		for i, d := range Rank(run[q], false) {
			if err := checkIDs(q, d.Doc, tag); err != nil {
				return err
			}
			fmt.Fprintf(b, "%s Q0 %s %d %s %s\n", q, d.Doc, i+1, strconv.FormatFloat(d.Score, 'g', -1, 64), tag)
		}
	}
	return flush(b)
}

func flush(b *bufio.Writer) error {
	if err := b.Flush(); err != nil {
		return fmt.Errorf("retrieval: write: %w", err)
	}
	return nil
}

func checkIDs(ids ...string) error {
	for _, id := range ids {
		if f := strings.Fields(id); len(f) != 1 || f[0] != id {
			return &InputError{Reason: fmt.Sprintf("id %q is empty or has blanks", id)}
		}
	}
	return nil
}

// sortedIDs sorts ids: numbers first, by value as far as they lack leading zeros,
// then the others as strings.
func sortedIDs(ids iter.Seq[string]) []string {
	return slices.SortedFunc(ids, func(a, b string) int {
		switch x, y := digits(a), digits(b); {
		case x && y && len(a) != len(b):
			return cmp.Compare(len(a), len(b))
		case x != y && x:
			return -1
		case x != y:
			return 1
		}
		return cmp.Compare(a, b)
	})
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

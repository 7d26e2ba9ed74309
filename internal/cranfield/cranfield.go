// Package cranfield carries the Cranfield test collection and a small token
// encoder, compressed, so that a retrieval benchmark runs on real text without any
// file. Applications do not import it: it would add 2.5 MB to them.
//
// The collection has 1,400 abstracts, 225 questions and 1,837 judgements (Cyril
// Cleverdon's second Cranfield project). Everything is numbered by position from
// 1; the numbers printed with the questions have gaps and are not what the
// judgements use. Judgement codes 1 to 4 mean relevant, 1 most; −1, once for each
// question, marks the document the question was asked about and counts as not
// relevant here. Documents 471 and 995 are empty.
package cranfield

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// Document is one abstract. Lines are kept apart by LF.
type Document struct {
	Title, Author, Source string // fields .T, .A, .B
	Text                  string // field .W, which begins with the title
}

// Query is one question.
type Query struct {
	Printed int // the number printed with it, which nothing refers to
	Text    string
}

// Judgement relates a query and a document, both numbered by position from 1.
type Judgement struct {
	Query, Document int
	Code            int // 1 (best) to 4: relevant; −1: not
}

// Collection is the whole test collection.
type Collection struct {
	Documents  []Document
	Queries    []Query
	Judgements []Judgement
}

// Load returns the embedded collection, verified and parsed once. It is shared: do
// not change it.
func Load() (*Collection, error) { return load() }

var load = sync.OnceValues(func() (*Collection, error) { return loadFrom(embedded) })

func loadFrom(files fs.FS) (*Collection, error) {
	c := &Collection{}
	for _, part := range []struct {
		name  string
		parse func([]byte) error
	}{
		{documentsFile, c.parseDocuments},
		{queriesFile, c.parseQueries},
		{judgementsFile, c.parseJudgements},
	} {
		raw, err := read(files, part.name)
		if err != nil {
			return nil, err
		}
		if err := part.parse(raw); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Relevant reports whether the judgement makes its document relevant.
func (j Judgement) Relevant() bool { return 1 <= j.Code && j.Code <= 4 }

// SyntaxError says where a raw file departs from its format.
type SyntaxError struct {
	File   string
	Line   int // counted from 1
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("cranfield: %s:%d: %s", e.File, e.Line, e.Reason)
}

// records walks a file of records: a line ".I number" begins one, and a line of a
// dot and a letter begins a field, whose text the following lines are. A record may
// name a field again; its text goes on then. Lines may end with CR LF.
func records(file string, raw []byte, fields string, begin func(number int), text func(field byte, line string)) error {
	field := byte(0)
	started := false
	at := 0
	for line := range bytes.Lines(raw) {
		at++
		s := strings.TrimRight(string(line), "\r\n")
		if number, ok := strings.CutPrefix(s, ".I "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				return &SyntaxError{file, at, fmt.Sprintf("record number %q", number)}
			}
			begin(n)
			started, field = true, 0
			continue
		}
		if len(s) == 2 && s[0] == '.' && strings.IndexByte(fields, s[1]) >= 0 {
			if !started {
				return &SyntaxError{file, at, fmt.Sprintf("field %s before the first record", s)}
			}
			field = s[1]
			continue
		}
		if field == 0 {
			return &SyntaxError{file, at, fmt.Sprintf("text %.20q outside a field", s)}
		}
		text(field, s)
	}
	return nil
}

// join appends a line to a field.
func join(to *string, line string) {
	if *to != "" {
		*to += "\n"
	}
	*to += line
}

func (c *Collection) parseDocuments(raw []byte) error {
	wrong := 0
	err := records(documentsFile, raw, "TABW",
		func(number int) {
			c.Documents = append(c.Documents, Document{})
			if number != len(c.Documents) && wrong == 0 {
				wrong = len(c.Documents)
			}
		},
		func(field byte, line string) {
			d := &c.Documents[len(c.Documents)-1]
			join(map[byte]*string{'T': &d.Title, 'A': &d.Author, 'B': &d.Source, 'W': &d.Text}[field], line)
		})
	if err == nil && wrong != 0 {
		err = fmt.Errorf("cranfield: %s: document at position %d has another number", documentsFile, wrong)
	}
	return err
}

func (c *Collection) parseQueries(raw []byte) error {
	return records(queriesFile, raw, "W",
		func(number int) { c.Queries = append(c.Queries, Query{Printed: number}) },
		func(_ byte, line string) { join(&c.Queries[len(c.Queries)-1].Text, line) })
}

// parseJudgements reads lines "query document code". It comes last: numbers beyond
// the collection are errors.
func (c *Collection) parseJudgements(raw []byte) error {
	at := 0
	for line := range bytes.Lines(raw) {
		at++
		var v [3]int
		fields := strings.Fields(string(line))
		if len(fields) != len(v) {
			return &SyntaxError{judgementsFile, at, fmt.Sprintf("%d fields, want query, document and code", len(fields))}
		}
		for i, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil {
				return &SyntaxError{judgementsFile, at, fmt.Sprintf("%q is not a number", f)}
			}
			v[i] = n
		}
		j := Judgement{v[0], v[1], v[2]}
		switch {
		case j.Query < 1 || j.Query > len(c.Queries):
			return &SyntaxError{judgementsFile, at, fmt.Sprintf("query %d of %d", j.Query, len(c.Queries))}
		case j.Document < 1 || j.Document > len(c.Documents):
			return &SyntaxError{judgementsFile, at, fmt.Sprintf("document %d of %d", j.Document, len(c.Documents))}
		case !j.Relevant() && j.Code != -1:
			return &SyntaxError{judgementsFile, at, fmt.Sprintf("code %d, want 1 to 4 or -1", j.Code)}
		}
		c.Judgements = append(c.Judgements, j)
	}
	return nil
}

// IDs are the documents' ids in runs and judgements: their positions from 1.
func (c *Collection) IDs() []string {
	ids := make([]string, len(c.Documents))
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	return ids
}

// Qrels are the judgements with grades as evaluations read them: 1 for relevant, 0
// for not. The codes are not grades, since 1 is the best.
func (c *Collection) Qrels() map[string]map[string]int {
	qrels := make(map[string]map[string]int, len(c.Queries))
	for _, j := range c.Judgements {
		q := strconv.Itoa(j.Query)
		if qrels[q] == nil {
			qrels[q] = map[string]int{}
		}
		grade := 0
		if j.Relevant() {
			grade = 1
		}
		qrels[q][strconv.Itoa(j.Document)] = grade
	}
	return qrels
}

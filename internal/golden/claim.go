package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Claim states which cases and arrays a test covers. Write it as a literal with
// constant strings: [Pending] reads it from the source.
type Claim struct {
	Area string
	Op   string
	// When restricts the claim to cases whose attributes meet every condition:
	// "key=value" or "key!=value", the value as the manifest's JSON writes it, strings
	// without quotes. A case without the attribute has the empty value: "tie=" holds
	// where there is no tie.
	When []string
	// Arrays are the names the test reads; a case need not have all of them. A test
	// that does not read a claimed array which the case has fails, and so does one
	// that reads an array it has not claimed.
	Arrays []string
}

// covers reports whether the claim covers a case of its area.
func (c *Claim) covers(op string, attributes map[string]json.RawMessage) (bool, error) {
	if c.Op != op {
		return false, nil
	}
	for _, condition := range c.When {
		key, value, ok := strings.Cut(condition, "=")
		if !ok {
			return false, fmt.Errorf("golden: condition %q, want key=value or key!=value", condition)
		}
		key, negated := strings.CutSuffix(key, "!")
		if (plain(attributes[key]) == value) == negated {
			return false, nil
		}
	}
	return true, nil
}

// plain is an attribute as conditions write it.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return ""
	}
	return compact.String()
}

// Gap is what no claim covers of one operation.
type Gap struct {
	Area, Op string
	Cases    []string // cases that no claim covers
	Arrays   []string // arrays that no claim reads, of cases that are covered
}

// Gaps compares an area with the claims of all tests.
func (a *Area) Gaps(claims []Claim) ([]Gap, error) {
	byOp := map[string]*Gap{}
	var ops []string
	for _, m := range a.Cases {
		g := byOp[m.Op]
		if g == nil {
			g = &Gap{Area: a.Name, Op: m.Op}
			byOp[m.Op] = g
			ops = append(ops, m.Op)
		}
		read, covered, err := a.read(m, claims)
		switch {
		case err != nil:
			return nil, err
		case !covered:
			g.Cases = append(g.Cases, m.Name)
			continue
		}
		for name := range m.Arrays {
			if !read[name] && !slices.Contains(g.Arrays, name) {
				g.Arrays = append(g.Arrays, name)
			}
		}
	}
	slices.Sort(ops)
	var gaps []Gap
	for _, op := range ops {
		if g := byOp[op]; len(g.Cases)+len(g.Arrays) > 0 {
			slices.Sort(g.Arrays)
			gaps = append(gaps, *g)
		}
	}
	return gaps, nil
}

// read collects the arrays of a case that some claim reads.
func (a *Area) read(m manifestCase, claims []Claim) (read map[string]bool, covered bool, err error) {
	read = map[string]bool{}
	for i := range claims {
		if claims[i].Area != a.Name {
			continue
		}
		ok, err := claims[i].covers(m.Op, m.Attributes)
		if err != nil {
			return nil, false, err
		}
		if ok {
			covered = true
			for _, name := range claims[i].Arrays {
				read[name] = true
			}
		}
	}
	return read, covered, nil
}

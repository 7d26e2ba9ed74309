package npy

import (
	"slices"
	"strconv"
	"strings"
)

type header struct {
	descr   string
	dtype   string
	fortran bool
	shape   []int
}

// parseHeader reads the Python dictionary of a header, in which exactly the keys
// descr, fortran_order and shape occur once each, in any order.
func parseHeader(text string) (header, error) {
	p := &parser{rest: text}
	h := header{}
	seen := []string{}
	if !p.accept("{") {
		return h, p.unexpected("'{'")
	}
	for !p.accept("}") {
		key, ok := p.quoted()
		if !ok || !p.accept(":") {
			return h, p.unexpected("a quoted key and ':'")
		}
		if slices.Contains(seen, key) {
			return h, formatError("header has %q twice", key)
		}
		seen = append(seen, key)
		if err := p.value(key, &h); err != nil {
			return h, err
		}
		if !p.accept(",") {
			if !p.accept("}") {
				return h, p.unexpected("',' or '}'")
			}
			break
		}
	}
	if strings.TrimSpace(p.rest) != "" {
		return h, p.unexpected("the end")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !slices.Contains(seen, key) {
			return h, formatError("header lacks %q", key)
		}
	}
	return h, nil
}

func (p *parser) value(key string, h *header) error {
	switch key {
	case "descr":
		descr, ok := p.quoted()
		if !ok {
			return p.unexpected("a quoted type (structures are not read)")
		}
		h.descr = descr
		h.dtype = strings.TrimLeft(descr, "<|")
		if len(descr)-len(h.dtype) > 1 {
			h.dtype = descr // not a NumPy spelling: unsupported
		}
	case "fortran_order":
		switch {
		case p.accept("False"):
		case p.accept("True"):
			h.fortran = true
		default:
			return p.unexpected("True or False")
		}
	case "shape":
		return p.tuple(&h.shape)
	default:
		return formatError("unknown header key %q", key)
	}
	return nil
}

// tuple reads "()", "(3,)", "(3, 4)" or "(3, 4,)".
func (p *parser) tuple(out *[]int) error {
	if !p.accept("(") {
		return p.unexpected("'('")
	}
	*out = []int{}
	for !p.accept(")") {
		end := strings.IndexFunc(p.rest, func(r rune) bool { return r < '0' || r > '9' })
		if end <= 0 {
			return p.unexpected("a length")
		}
		n, err := strconv.Atoi(p.rest[:end])
		if err != nil {
			return formatError("length %s in shape is too large", p.rest[:end])
		}
		p.rest = p.rest[end:]
		*out = append(*out, n)
		if len(*out) > 32 {
			return formatError("more than 32 axes")
		}
		if !p.accept(",") && !strings.HasPrefix(strings.TrimLeft(p.rest, " "), ")") {
			return p.unexpected("',' or ')'")
		}
	}
	return nil
}

type parser struct{ rest string }

// accept skips blanks and then token, if it comes next.
func (p *parser) accept(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " \n\t")
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

// quoted reads a string in single or double quotes; escapes do not occur.
func (p *parser) quoted() (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if p.accept(quote) {
			text, rest, ok := strings.Cut(p.rest, quote)
			if ok {
				p.rest = rest
			}
			return text, ok
		}
	}
	return "", false
}

func (p *parser) unexpected(want string) error {
	rest := p.rest
	if len(rest) > 20 {
		rest = rest[:20]
	}
	return formatError("header: want %s at %q", want, rest)
}

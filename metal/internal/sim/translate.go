package sim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// entryInfo is one kernel entry point found in a translated source.
type entryInfo struct {
	name   string // host name
	static bool   // whether it declares kernel-local threadgroup variables
}

// translation is MSL rewritten to C++ with one exported launcher per entry point.
type translation struct {
	text    string
	entries []entryInfo
}

var (
	reKernel      = regexp.MustCompile(`(?:\[\[\s*kernel\s*\]\]|\bkernel)\s+void\s+(\w+)\s*\(`)
	reInstance    = regexp.MustCompile(`template\s*\[\[\s*host_name\("(\w+)"\)\s*\]\]\s*\[\[\s*kernel\s*\]\]\s*decltype\((\w+)(<[^;]*>)?\)\s*(\w+)(<[^;]*>)?\s*;`)
	reConstant    = regexp.MustCompile(`\bconstant(\s+(?:uint|int|bool)\s+(\w+)\s*)\[\[\s*function_constant\((\w+)\)\s*\]\]\s*;`)
	reAttribute   = regexp.MustCompile(`\[\[[^\[\]]*\]\]`)
	reParamAttr   = regexp.MustCompile(`\[\[\s*(\w+)(?:\(([^()]*)\))?\s*\]\]`)
	reLocal       = regexp.MustCompile(`\bthreadgroup\s+([A-Za-z_]\w*(?:<[^<>;]*>)?)\s+(\w+)\s*((?:\[[^\]]*\])*)\s*;`)
	reLineComment = regexp.MustCompile(`//[^\n]*`)
	reComment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	reFunction    = regexp.MustCompile(`(?m)^[^\S\n]*(?:template\s*<[^>]*>\s*)?(?:[\w:<>]+\s+)+[*&]?(\w+)\(([^;{}]*)\)\s*\{`)
	reSpace       = regexp.MustCompile(`\b(device|constant|thread|threadgroup)\b`)
	reForbidden   = regexp.MustCompile(`\blong\s+long\b|\basm\b|\b__\w+`)
	reKeyword     = regexp.MustCompile(`\b(?:bool|char|uchar|short|ushort|int|uint|long|ulong|float)\s+(half|bfloat|device|constant|thread|threadgroup|kernel|vertex|fragment|sampler)\s*[;,=)\[]`)
)

// translate rewrites one flattened MSL source. Line numbers stay, so compiler messages point at the source.
func translate(src string) (*translation, error) {
	text := blank(src)
	if m := reForbidden.FindString(text); m != "" {
		return nil, fmt.Errorf("sim: translate: %q is not in the Metal Shading Language", m)
	}
	if m := reKeyword.FindStringSubmatch(text); m != nil && !strings.Contains(text, "#define "+m[1]+" ") {
		return nil, fmt.Errorf("sim: translate: %q names a variable and is a word of the Metal Shading Language", m[1])
	}
	if err := checkAddressSpaces(text); err != nil {
		return nil, err
	}
	kernels, text, err := findKernels(text)
	if err != nil {
		return nil, err
	}
	out := &translation{}
	var launchers strings.Builder
	templated := map[string]bool{}
	for _, m := range reInstance.FindAllStringSubmatch(text, -1) {
		host, fn, args := m[1], m[2], m[3]
		if fn != m[4] || args != m[5] {
			return nil, fmt.Errorf("sim: translate: instance %s names %s%s and %s%s", host, fn, args, m[4], m[5])
		}
		k, ok := kernels[fn]
		if !ok {
			return nil, fmt.Errorf("sim: translate: instance %s of unknown kernel %s", host, fn)
		}
		templated[fn] = true
		k.launcher(&launchers, host, fn+args)
		out.entries = append(out.entries, entryInfo{host, k.locals > 0})
	}
	for _, name := range sortedKeys(kernels) {
		if err := kernels[name].checkPositions(); err != nil {
			return nil, err
		}
		if k := kernels[name]; !templated[name] && !k.template {
			k.launcher(&launchers, name, name)
			out.entries = append(out.entries, entryInfo{name, k.locals > 0})
		}
	}
	text = reInstance.ReplaceAllStringFunc(text, spaces)
	text = functionConstants(text, &launchers)
	text = reAttribute.ReplaceAllStringFunc(text, spaces)
	out.text = "#include <metal_stdlib>\n#line 1 \"source.metal\"\n" + text + "\n#line 1 \"launchers\"\n" + launchers.String()
	return out, nil
}

// blank replaces comments by spaces, so that later patterns see code only.
func blank(src string) string {
	return reComment.ReplaceAllStringFunc(reLineComment.ReplaceAllStringFunc(src, spaces), spaces)
}

// spaces keeps the lines of s and blanks the rest.
func spaces(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, s)
}

// checkAddressSpaces requires a space on every pointer and reference parameter: Metal demands it, clang cannot.
func checkAddressSpaces(text string) error {
	for _, m := range reFunction.FindAllStringSubmatch(text, -1) {
		for _, p := range splitTop(m[2]) {
			if strings.ContainsAny(p, "*&") && !reSpace.MatchString(p) {
				return fmt.Errorf("sim: translate: function %s: parameter %q has no address space", m[1], strings.TrimSpace(p))
			}
		}
	}
	return nil
}

// kernelText is a kernel function: its parameters and the number of threadgroup variables in its body.
type kernelText struct {
	name     string
	params   []string
	template bool
	locals   int
}

// findKernels reads every kernel function and rewrites its threadgroup variables to references into the group's memory.
func findKernels(text string) (map[string]*kernelText, string, error) {
	kernels := map[string]*kernelText{}
	var out strings.Builder
	at := 0
	for _, m := range reKernel.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		end := matching(text, m[1]-1, '(', ')')
		open := strings.IndexByte(text[end:], '{')
		if open < 0 {
			return nil, "", fmt.Errorf("sim: translate: kernel %s has no body", name)
		}
		open += end
		stop := matching(text, open, '{', '}')
		k := &kernelText{name: name, params: splitTop(text[m[1] : end-1])}
		head := strings.TrimRight(text[:m[0]], " \n\t")
		k.template = strings.HasSuffix(head, ">") && strings.LastIndex(head, "template") > strings.LastIndexAny(head, ";}")
		body := reLocal.ReplaceAllStringFunc(text[open:stop], func(s string) string {
			p := reLocal.FindStringSubmatch(s)
			k.locals++
			return fmt.Sprintf("threadgroup %s (&%s)%s = *(threadgroup %s (*)%s)(uintptr_t)msl::local(%d, sizeof(%s%s));%s",
				p[1], p[2], p[3], p[1], p[3], k.locals-1, p[1], p[3], strings.Repeat("\n", strings.Count(s, "\n")))
		})
		if kernels[name] != nil {
			return nil, "", fmt.Errorf("sim: translate: kernel %s twice", name)
		}
		kernels[name] = k
		out.WriteString(text[at:open])
		out.WriteString(body)
		at = stop
	}
	out.WriteString(text[at:])
	return kernels, out.String(), nil
}

// positionAttributes must agree in the number of components within a kernel: the Metal compiler insists.
var positionAttributes = regexp.MustCompile(`\b(?:uint|ushort)([23]?)\s+\w+\s*\[\[\s*(?:thread_position_in_grid|threads_per_grid|thread_position_in_threadgroup|threads_per_threadgroup|threadgroup_position_in_grid|threadgroups_per_grid)\s*\]\]`)

func (k *kernelText) checkPositions() error {
	seen := ""
	for _, p := range k.params {
		m := positionAttributes.FindStringSubmatch(p)
		if m == nil {
			continue
		}
		if seen != "" && seen != "*"+m[1] {
			return fmt.Errorf("sim: translate: kernel %s mixes positions of different components", k.name)
		}
		seen = "*" + m[1]
	}
	return nil
}

// launcher appends the exported function that runs call for every thread of a grid.
func (k *kernelText) launcher(b *strings.Builder, host, call string) {
	args := make([]string, len(k.params))
	for i, p := range k.params {
		args[i] = argument(p)
	}
	fmt.Fprintf(b, "extern \"C\" __attribute__((visibility(\"default\"))) void msl_%s(msl::Launch *L) { msl::run(L, [] { %s(%s); }); }\n",
		host, call, strings.Join(args, ", "))
}

// argument is the C++ expression for one kernel parameter.
func argument(param string) string {
	a := reParamAttr.FindStringSubmatch(param)
	if a == nil {
		return "missing_attribute"
	}
	typ := strings.Fields(param)[0]
	if typ == "const" {
		typ = strings.Fields(param)[1]
	}
	vector := func(f string) string {
		if n, err := strconv.Atoi(typ[len(typ)-1:]); err == nil && n >= 2 {
			return fmt.Sprintf("%s{%s}", typ, strings.Join([]string{f + ".x", f + ".y", f + ".z"}[:n], ", "))
		}
		return "(" + typ + ")" + f + ".x"
	}
	const t, g, L = "msl::cur->position", "msl::cur->group", "msl::st->launch->"
	switch a[1] {
	case "buffer":
		if strings.Contains(param, "&") {
			return "msl::any_ref{" + L + "buffers[" + a[2] + "]}"
		}
		return "msl::any_ptr{" + L + "buffers[" + a[2] + "]}"
	case "threadgroup":
		return "msl::any_ptr{msl::st->dynamic}"
	case "threadgroup_position_in_grid":
		return vector(g)
	case "thread_position_in_threadgroup":
		return vector(t)
	case "thread_position_in_grid":
		return vector("(msl::index3{" + g + ".x*" + L + "threads[0]+" + t + ".x," + g + ".y*" + L + "threads[1]+" + t + ".y," + g + ".z*" + L + "threads[2]+" + t + ".z})")
	case "threads_per_threadgroup":
		return vector("(msl::index3{" + L + "threads[0]," + L + "threads[1]," + L + "threads[2]})")
	case "threadgroups_per_grid":
		return vector("(msl::index3{" + L + "groups[0]," + L + "groups[1]," + L + "groups[2]})")
	case "thread_index_in_threadgroup":
		return "msl::cur->linear"
	case "thread_index_in_simdgroup":
		return "msl::cur->lane"
	case "simdgroup_index_in_threadgroup":
		return "msl::cur->simdIndex"
	case "simdgroups_per_threadgroup":
		return "(msl::st->n+msl::width-1)/msl::width"
	case "threads_per_simdgroup":
		return "msl::width"
	}
	return "unknown_attribute_" + a[1]
}

// functionConstants turns each function constant into a variable and appends the setter that a pipeline calls.
func functionConstants(text string, launchers *strings.Builder) string {
	var cases strings.Builder
	text = reConstant.ReplaceAllStringFunc(text, func(s string) string {
		m := reConstant.FindStringSubmatch(s)
		fmt.Fprintf(&cases, " if (index == %s) { %s = value; return 1; }", m[3], m[2])
		return "static" + m[1] + ";" + strings.Repeat("\n", strings.Count(s, "\n"))
	})
	fmt.Fprintf(launchers, "extern \"C\" __attribute__((visibility(\"default\"))) unsigned msl_set_constant(unsigned index, unsigned value) {%s return 0; }\n", cases.String())
	return text
}

// matching returns the index after the bracket that closes the one at i.
func matching(s string, i int, open, shut byte) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// splitTop splits at commas outside brackets.
func splitTop(s string) (out []string) {
	depth, at := 0, 0
	for i, c := range s {
		switch c {
		case '(', '[', '<':
			depth++
		case ')', ']', '>':
			depth--
		case ',':
			if depth == 0 {
				out, at = append(out, s[at:i]), i+1
			}
		}
	}
	if strings.TrimSpace(s[at:]) != "" {
		out = append(out, s[at:])
	}
	return out
}

package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// yamlOf writes JSON as YAML 1.2 in block style, its fields in the same order. What YAML 1.1 and
// 1.2 read alike is written as it is; every other text is quoted, or a block of lines. So each
// value is read back as the JSON that it is, whatever reads it.
func yamlOf(data []byte) (string, error) {
	w := yamlWriter{from: json.NewDecoder(bytes.NewReader(data))}
	w.from.UseNumber()
	if err := w.value("", ""); err != nil {
		return "", err
	}
	return w.out.String(), nil
}

// yamlWriter writes one value.
type yamlWriter struct {
	from *json.Decoder
	out  strings.Builder
}

// value writes the next value behind what is on its line: " " after the colon of a field, "" after
// the dash of an element or at the beginning. What follows on other lines begins with indent.
func (w *yamlWriter) value(space, indent string) error {
	token, err := w.from.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return w.collection(token, space, indent)
	case string:
		w.out.WriteString(space + yamlText(token, indent) + "\n")
	case nil:
		w.out.WriteString(space + "null\n")
	case json.Number:
		w.out.WriteString(space + yamlNumber(token.String()) + "\n")
	default: // bool
		fmt.Fprintf(&w.out, "%s%v\n", space, token)
	}
	return nil
}

func (w *yamlWriter) collection(open json.Delim, space, indent string) error {
	empty := map[json.Delim]string{'{': "{}", '[': "[]"}[open]
	if !w.from.More() {
		w.out.WriteString(space + empty + "\n")
	} else if space != "" {
		w.out.WriteString("\n" + indent)
	}
	for first := true; w.from.More(); first = false {
		if !first {
			w.out.WriteString(indent)
		}
		if open == '[' {
			w.out.WriteString("- ")
			if err := w.value("", indent+"  "); err != nil {
				return err
			}
			continue
		}
		name, err := w.from.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string) // names are strings
		w.out.WriteString(yamlKey(text, indent) + ":")
		if err := w.value(" ", indent+"  "); err != nil {
			return err
		}
	}
	_, err := w.from.Token() // the end
	return err
}

var (
	yamlWord = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_/.@(), -]*[A-Za-z0-9_/)])?$`)
	// yamlOther are words that are no texts, in YAML 1.1 or 1.2, or that look like a number.
	yamlOther = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n|e[0-9]+|nan|inf)$`)
)

// yamlNumber writes a number. With an exponent YAML 1.1 wants a point, and a sign.
func yamlNumber(text string) string {
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if !found {
		return text
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if strings.Trim(exponent[:1], "+-") != "" {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}

// yamlText writes a text.
func yamlText(text, indent string) string {
	switch {
	case yamlWord.MatchString(text) && !yamlOther.MatchString(text):
		return text
	case indent != "" && strings.Contains(strings.TrimRight(text, "\n"), "\n") && isYAMLBlock(text):
		return yamlBlock(text, indent)
	}
	return yamlQuoted(text)
}

// yamlKey writes the name of a field, up to its colon. Long ones need another syntax.
func yamlKey(name, indent string) string {
	quoted := name
	if !yamlWord.MatchString(name) || yamlOther.MatchString(name) {
		quoted = yamlQuoted(name)
	}
	if utf8.RuneCountInString(quoted) > maxYAMLKey {
		return "? " + quoted + "\n" + indent
	}
	return quoted
}

// maxYAMLKey is how long a name may be in the usual syntax.
const maxYAMLKey = 1024

// yamlQuoted quotes a text. The escapes of JSON mean the same in YAML, but for pairs of surrogates.
func yamlQuoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case r > 0xFFFF && !isYAMLPlain(r):
			fmt.Fprintf(&out, `\U%08x`, r)
		case !isYAMLPlain(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// isYAMLPlain reports whether a rune is written as it is: it is seen, and YAML allows it.
func isYAMLPlain(r rune) bool {
	return !IsControl(r) && !isInvisible(r) && r < 0xFFFE || r > 0xFFFF && unicode.IsGraphic(r)
}

// isYAMLBlock reports whether a text of several lines can be written line by line: nothing in it
// has to be escaped, and nothing that is not seen matters.
func isYAMLBlock(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !isYAMLPlain(r) }) {
			return false
		}
	}
	first := strings.TrimLeft(text, "\n")
	return !strings.HasPrefix(first, " ") && !strings.HasPrefix(first, "\t")
}

// yamlBlock writes a text of several lines, with the mark for how it ends.
func yamlBlock(text, indent string) string {
	mark := map[bool]string{true: "|", false: "|-"}[strings.HasSuffix(text, "\n")]
	if strings.HasSuffix(text, "\n\n") {
		mark = "|+"
	}
	var out strings.Builder
	out.WriteString(mark)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		out.WriteByte('\n')
		if line != "" {
			out.WriteString(indent + line)
		}
	}
	return out.String()
}

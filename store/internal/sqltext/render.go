package sqltext

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rendering is one statement on its way to the database.
type rendering struct {
	*loader
	params []param
	used   []bool
	next   int      // parameter, InOrder
	inside []string // fragments
}

func (l *loader) render(b block) (string, error) {
	r := rendering{loader: l, params: b.params, used: make([]bool, len(b.params))}
	for i, p := range b.params {
		switch {
		case slices.ContainsFunc(b.params[:i], func(q param) bool { return q.name == p.name }):
			return "", fmt.Errorf("@%s is declared twice", p.name)
		case (p.typ == "") != (l.options.Params == InOrder):
			return "", fmt.Errorf("@%s: a type is declared of numbered parameters, and of no others", p.name)
		}
	}
	text, err := r.scan(b.text)
	if i := slices.Index(r.used, false); err == nil && i >= 0 {
		err = fmt.Errorf("@%s is declared and not used", b.params[i].name)
	}
	return trim(text), err
}

// trim drops what stands around a text.
func trim(text string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), ";"))
}

// scan renders a text up to its end, without its comments.
func (r *rendering) scan(text string) (string, error) {
	var out strings.Builder
	for {
		at := strings.IndexAny(text, `'"-@{?$`)
		if at < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		out.WriteString(text[:at])
		text = text[at:]
		token, rendered, err := r.token(text)
		if err != nil {
			return "", err
		}
		out.WriteString(rendered)
		text = text[len(token):]
	}
}

// token takes what a text begins with, and renders it.
func (r *rendering) token(text string) (token, rendered string, err error) {
	switch {
	case text[0] == '\'', text[0] == '"':
		end := strings.IndexByte(text[1:], text[0])
		if end < 0 {
			return "", "", errors.New("a quote is not closed")
		}
		token = text[:end+2]
		if text[0] == '\'' {
			rendered, err = r.quoted(token)
			return token, rendered, err
		}
		return token, token, nil
	case strings.HasPrefix(text, "--"):
		token, _, _ = strings.Cut(text, "\n")
		return token, "", nil
	case text[0] == '@':
		token = "@" + word(text[1:])
		if token == "@" {
			return token, token, nil // an operator
		}
		rendered, err = r.param(token[1:])
		return token, rendered, err
	case text[0] == '{':
		token, err = braces(text)
		if err == nil {
			rendered, err = r.braced(token)
		}
		return token, rendered, err
	case text[0] == '?' && len(r.params) > 0 && r.options.Params == InOrder, text[0] == '$' && word(text[1:]) != "":
		return "", "", errors.New("a parameter has no name")
	}
	return text[:1], text[:1], nil
}

// word is what a text begins with: a name, or nothing.
func word(text string) string {
	if end := strings.IndexFunc(text, func(c rune) bool { return !isWord(c) }); end >= 0 {
		return text[:end]
	}
	return text
}

// braces is what a text begins with, up to the brace that closes the first.
func braces(text string) (string, error) {
	depth := 0
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i+1], nil
			}
		}
	}
	return "", errors.New("a brace is not closed")
}

// param renders a use of a parameter.
func (r *rendering) param(name string) (string, error) {
	i := slices.IndexFunc(r.params, func(p param) bool { return p.name == name })
	if i < 0 {
		return "", fmt.Errorf("@%s is not declared", name)
	}
	r.used[i] = true
	if r.options.Params == Numbered {
		return "$" + strconv.Itoa(i+1) + "::" + r.params[i].typ, nil
	}
	if i != r.next {
		return "", fmt.Errorf("@%s is not used once and in order", name)
	}
	r.next++
	return "?", nil
}

// braced renders {name}, {{fragment}} and {rows: …}.
func (r *rendering) braced(token string) (string, error) {
	inner := token[1 : len(token)-1]
	if row, isRows := strings.CutPrefix(inner, "rows:"); isRows {
		return r.rows(row)
	}
	name, isFragment := strings.CutPrefix(inner, "{")
	if !isFragment {
		return r.named(inner)
	}
	name = strings.TrimSuffix(name, "}")
	b, ok := r.fragments[name]
	if !ok || slices.Contains(r.inside, name) {
		return "", fmt.Errorf("there is no fragment %s, or it is inside of itself", name)
	}
	delete(r.unused, name)
	r.inside = append(r.inside, name)
	text, err := r.scan(b.text)
	r.inside = r.inside[:len(r.inside)-1]
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return trim(text), nil
}

func (r *rendering) rows(row string) (string, error) {
	if r.options.Rows == 0 || r.options.Params != InOrder {
		return "", errors.New("rows are not repeated here")
	}
	row, err := r.scan(strings.TrimSpace(row))
	return strings.Repeat(row+", ", max(r.options.Rows-1, 0)) + row, err
}

// named is what a name stands for. Several with | between them are bits of one number.
func (r *rendering) named(name string) (string, error) {
	if slices.Contains(r.options.Later, name) {
		return "{" + name + "}", nil
	}
	if text, ok := r.options.Names[name]; ok {
		return text, nil
	}
	bits := int64(0)
	for one := range strings.SplitSeq(name, "|") {
		bit, err := strconv.ParseInt(r.options.Names[one], 10, 64)
		if err != nil {
			return "", fmt.Errorf("{%s} is no name, or not of a number", one)
		}
		bits |= bit
	}
	return strconv.FormatInt(bits, 10), nil
}

// quoted renders the names between quotes. What is no name there may have braces.
func (r *rendering) quoted(text string) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name := word(after)
		if name == "" || !strings.HasPrefix(after[len(name):], "}") {
			out.WriteString("{")
			text = after
			continue
		}
		rendered, err := r.named(name)
		if err != nil {
			return "", err
		}
		out.WriteString(rendered)
		text = after[len(name)+1:]
	}
}

package sqltext

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Options says how statements are rendered.
type Options struct {
	Params Params            // how parameters are written
	Names  map[string]string // what {names} stand for
	Later  []string          // names that are left as they are
	Rows   int               // how many {rows: …} are
}

// Params is how the parameters of a database are written.
type Params int

// The forms.
const (
	Numbered Params = iota // $1::bigint, wherever it is used
	InOrder                // ?, each used once and in order
)

// block is a statement or a fragment as it stands in a file.
type block struct {
	name, file string
	params     []param
	text       string
}

// param is one declared parameter.
type param struct{ name, typ string }

// Load reads the files that match a pattern, and renders their statements. It tells of every
// mistake that it finds.
func Load(files fs.FS, pattern string, o Options) (map[string]string, error) {
	paths, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	l := loader{options: o, fragments: map[string]block{}, unused: map[string]bool{}}
	statements := map[string]block{}
	for _, path := range paths {
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		l.read(path, string(content), statements)
	}
	texts := make(map[string]string, len(statements))
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		text, err := l.render(statements[name])
		if err != nil {
			l.wrongf(statements[name].file, "%s: %w", name, err)
		}
		texts[name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(l.unused)) {
		l.wrongf(l.fragments[name].file, "nobody uses the fragment %s", name)
	}
	return texts, errors.Join(l.mistakes...)
}

// Must returns what was loaded. A mistake in the files of a store ends the program that opens one,
// and every test.
func Must[T any](loaded T, err error) T {
	if err != nil {
		panic(err)
	}
	return loaded
}

// loader is one reading of all files.
type loader struct {
	options   Options
	fragments map[string]block
	unused    map[string]bool // fragments
	mistakes  []error
}

func (l *loader) wrongf(file, format string, args ...any) {
	l.mistakes = append(l.mistakes, fmt.Errorf("%s: %w", file, fmt.Errorf(format, args...)))
}

// read splits a file into its blocks. What stands before the first name is a comment.
func (l *loader) read(file, content string, statements map[string]block) {
	var b *block
	add := func() {
		if b == nil {
			return
		}
		into := statements
		if _, isFragment := l.unused[b.name]; isFragment {
			into = l.fragments
		}
		into[b.name] = *b
	}
	begin := func(name string) {
		add()
		_, isStatement := statements[name]
		_, isFragment := l.fragments[name]
		if isStatement || isFragment || !isName(name) {
			l.wrongf(file, "%q is no name, or that of two blocks", name)
		}
		b = &block{name: name, file: file}
	}
	for line := range strings.Lines(content) {
		directive, rest, isComment := comment(line)
		switch {
		case directive == "name":
			begin(rest)
		case directive == "fragment":
			begin(rest)
			l.unused[rest] = true
		case directive == "params" && b != nil:
			params, err := declared(rest)
			if err != nil {
				l.wrongf(file, "%s: %w", b.name, err)
			}
			b.params = append(b.params, params...)
		case isComment || strings.TrimSpace(line) == "":
		case b == nil:
			l.wrongf(file, "it begins with a statement that has no name")
			return
		default:
			b.text += line
		}
	}
	add()
}

// comment takes a line that is one apart: "-- name: claim" is name and claim.
func comment(line string) (directive, rest string, isComment bool) {
	text, isComment := strings.CutPrefix(strings.TrimSpace(line), "--")
	directive, rest, found := strings.Cut(text, ":")
	if !isComment || !found {
		return "", "", isComment
	}
	return strings.TrimSpace(directive), strings.TrimSpace(rest), true
}

// declared takes a list of parameters apart: "@node bigint, @ids uuid[]".
func declared(list string) (params []param, err error) {
	for item := range strings.SplitSeq(list, ",") {
		name, typ, _ := strings.Cut(strings.TrimSpace(item), " ")
		name, isParam := strings.CutPrefix(name, "@")
		typ = strings.TrimSpace(typ)
		if !isParam || !isName(name) || strings.ContainsFunc(typ, func(r rune) bool { return !isWord(r) && r != '[' && r != ']' }) {
			return nil, fmt.Errorf("%q declares no parameter", strings.TrimSpace(item))
		}
		params = append(params, param{name, typ})
	}
	return params, nil
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isWord(r) })
}

func isWord(r rune) bool { return r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }

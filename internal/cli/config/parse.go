package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Entry is a setting of a file.
type Entry struct {
	Table  string // "": it is before the first table
	Key    string
	Values []string // of a list; else one
	Kind   Kind
	Line   int // where it begins, from 1 on
	Last   int // where it ends
}

// Kind is what a value is written as.
type Kind int

// The kinds of values.
const (
	Text Kind = iota
	Integer
	Bool
	List
)

// Table is a table of a file, and its line.
type Table struct {
	Name string
	Line int
}

// File is what is in a file.
type File struct {
	Entries []Entry
	Tables  []Table
}

// Error is what is wrong in a line of a file.
type Error struct {
	Line int
	Text string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// At is the Error of a line.
func At(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

var (
	tableLine = regexp.MustCompile(`^\[\s*([A-Za-z0-9_-]+(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*\]\s*(?:#.*)?$`)
	entryLine = regexp.MustCompile(`^([A-Za-z0-9_-]+)\s*=\s*(.*)$`)
	spaces    = regexp.MustCompile(`\s+`)
)

// Parse reads a file. The error is an *Error, of the first line that is wrong.
func Parse(text string) (*File, error) {
	f := &File{}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	table := ""
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || line[0] == '#' {
			continue
		}
		if found := tableLine.FindStringSubmatch(line); found != nil {
			table = spaces.ReplaceAllString(found[1], "")
			if at := slices.IndexFunc(f.Tables, func(t Table) bool { return t.Name == table }); at >= 0 {
				return nil, At(i+1, "[%s] is in line %d, too", table, f.Tables[at].Line)
			}
			f.Tables = append(f.Tables, Table{table, i + 1})
			continue
		}
		found := entryLine.FindStringSubmatch(line)
		if found == nil {
			return nil, At(i+1, "%.60q is neither KEY = VALUE nor [TABLE] nor a # comment", line)
		}
		e := Entry{Table: table, Key: found[1], Line: i + 1}
		if at := f.Find(table, e.Key); at != nil {
			return nil, At(i+1, "%s is in line %d, too", e.Key, at.Line)
		}
		s := scanner{lines: lines, line: i, rest: found[2]}
		if err := s.value(&e); err != nil {
			return nil, err
		}
		i, e.Last = s.line, s.line+1
		f.Entries = append(f.Entries, e)
	}
	return f, nil
}

// Find returns a setting; nil: there is none.
func (f *File) Find(table, key string) *Entry {
	for i := range f.Entries {
		if f.Entries[i].Table == table && f.Entries[i].Key == key {
			return &f.Entries[i]
		}
	}
	return nil
}

// scanner reads a value, which may go on in the next lines if it is a list.
type scanner struct {
	lines []string
	line  int    // from 0 on
	rest  string // of the line
}

func (s *scanner) wrong(format string, args ...any) error { return At(s.line+1, format, args...) }

// value reads a value, and what is behind it in its line.
func (s *scanner) value(e *Entry) error {
	var err error
	if strings.HasPrefix(s.rest, "[") {
		err = s.list(e)
	} else {
		var text string
		text, e.Kind, err = s.scalar()
		e.Values = []string{text}
	}
	if rest := strings.TrimSpace(s.rest); err == nil && rest != "" && rest[0] != '#' {
		err = s.wrong("%.60q is behind a value", rest)
	}
	return err
}

// list reads a list of texts and integers.
func (s *scanner) list(e *Entry) error {
	e.Kind, e.Values, s.rest = List, nil, s.rest[1:]
	for comma := true; ; {
		s.rest = strings.TrimSpace(s.rest)
		switch {
		case s.rest == "" || s.rest[0] == '#':
			if s.line++; s.line == len(s.lines) {
				s.line--
				return s.wrong("a list has no end; write ] behind it")
			}
			s.rest = s.lines[s.line]
		case s.rest[0] == ']':
			s.rest = s.rest[1:]
			return nil
		case s.rest[0] == ',' && !comma:
			s.rest, comma = s.rest[1:], true
		case !comma:
			return s.wrong("write a comma or ] before %.60q", s.rest)
		default:
			text, kind, err := s.scalar()
			if err != nil {
				return err
			}
			if kind == Bool {
				return s.wrong("a list has texts or numbers, not %s", text)
			}
			e.Values, comma = append(e.Values, text), false
		}
	}
}

var word = regexp.MustCompile(`^[A-Za-z0-9_+.:-]+`)

// scalar reads a text, a number, true or false.
func (s *scanner) scalar() (text string, kind Kind, err error) {
	switch {
	case strings.HasPrefix(s.rest, `"""`), strings.HasPrefix(s.rest, `'''`):
		return "", Text, s.wrong("a text of several lines is not known here")
	case strings.HasPrefix(s.rest, `'`):
		end := strings.IndexByte(s.rest[1:], '\'')
		if end < 0 {
			return "", Text, s.wrong("a text has no end; write ' behind it")
		}
		text, s.rest = s.rest[1:end+1], s.rest[end+2:]
		return text, Text, nil
	case strings.HasPrefix(s.rest, `"`):
		text, err = s.quoted()
		return text, Text, err
	}
	text = word.FindString(s.rest)
	s.rest = s.rest[len(text):]
	switch digits := strings.ReplaceAll(strings.TrimLeft(text, "+-"), "_", ""); {
	case text == "true", text == "false":
		return text, Bool, nil
	case text == "":
		return "", Text, s.wrong("there is no value")
	case strings.Trim(digits, "0123456789") == "" && digits != "" && (digits == "0" || digits[0] != '0'):
		if n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64); err == nil {
			return strconv.FormatInt(n, 10), Integer, nil
		}
	}
	return "", Text, s.wrong("what stands there is no value; a text is in quotes: \"…\"") // it may be a secret
}

var escape = regexp.MustCompile(`\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[btnfr"\\]|.?)`)

// quoted reads a text in quotes.
func (s *scanner) quoted() (string, error) {
	end := 1
	for ; end < len(s.rest) && s.rest[end] != '"'; end++ {
		if s.rest[end] == '\\' {
			end++
		}
	}
	if end >= len(s.rest) {
		return "", s.wrong("a text has no end; write \" behind it")
	}
	raw := s.rest[1:end]
	s.rest = s.rest[end+1:]
	var err error
	text := escape.ReplaceAllStringFunc(raw, func(found string) string {
		plain, wrong := strconv.Unquote(`"` + found + `"`)
		if wrong != nil || len(found) > 1 && strings.ContainsRune("av'x01234567", rune(found[1])) {
			err = s.wrong("%s is no escape; write \\\\ for a backslash, or the text between ' and '", found)
		}
		return plain
	})
	return text, err
}

// Quote writes a text as a value.
func Quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

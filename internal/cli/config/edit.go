package config

import (
	"slices"
	"strings"
)

// Set returns a text in which a setting has a value, as it is written there: see Quote. The text
// must be one that Parse takes.
func Set(text, table, key, value string) (string, error) {
	f, err := Parse(text)
	if err != nil {
		return "", err
	}
	lines, line := split(text), key+" = "+value
	if e := f.Find(table, key); e != nil {
		return join(slices.Replace(lines, e.Line-1, e.Last, line)), nil
	}
	at := f.end(table)
	switch {
	case table != "" && at == 0:
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, "["+table+"]", line)
	case table == "" && at == 0 && len(f.Tables) > 0: // before what is said of the first table
		lines = slices.Insert(lines, above(lines, f.Tables[0].Line-1), line, "")
	case table == "" && at == 0:
		lines = append(lines, line)
	default:
		lines = slices.Insert(lines, at, line)
	}
	return join(lines), nil
}

// Unset returns a text without a setting.
func Unset(text, table, key string) (string, error) {
	f, err := Parse(text)
	if err != nil {
		return "", err
	}
	e := f.Find(table, key)
	if e == nil {
		return text, nil
	}
	return join(slices.Delete(split(text), e.Line-1, e.Last)), nil
}

// Remove returns a text without a table.
func Remove(text, table string) (string, error) {
	f, err := Parse(text)
	if err != nil {
		return "", err
	}
	end := f.end(table)
	if end == 0 {
		return text, nil
	}
	lines := split(text)
	at := slices.IndexFunc(f.Tables, func(t Table) bool { return t.Name == table })
	begin := f.Tables[at].Line - 1
	if end < len(lines) && strings.TrimSpace(lines[end]) == "" {
		end++
	}
	return join(slices.Delete(lines, begin, end)), nil
}

// end is behind which line, from 1 on, a table ends, without what follows its last setting; 0:
// there is none.
func (f *File) end(table string) (line int) {
	for _, t := range f.Tables {
		if t.Name == table {
			line = t.Line
		}
	}
	for i := range f.Entries {
		if f.Entries[i].Table == table {
			line = max(line, f.Entries[i].Last)
		}
	}
	return line
}

// above is where the comments begin that are directly above a line, from 0 on.
func above(lines []string, at int) int {
	for at > 0 && strings.HasPrefix(strings.TrimSpace(lines[at-1]), "#") {
		at--
	}
	return at
}

// split returns the lines of a text.
func split(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// join is the text of lines.
func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

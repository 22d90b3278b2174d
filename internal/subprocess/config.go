package subprocess

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/internal/valid"
)

// Config says which processes run the jobs of a kind.
type Config struct {
	Kind string
	// Command is the program and its arguments; no shell is involved.
	Command []string
	// Count is how many processes there are, and so how many jobs run at once.
	Count int
	// MaxRuns is after how many runs a process is replaced by a new one; 0: never.
	MaxRuns int
	// MaxMemory is with how many bytes of resident memory a process is replaced after a run; 0:
	// never. It needs Linux.
	MaxMemory int64
}

// Parse reads KIND=COMMAND. The words of the command are separated by blanks; quotes, single or
// double, keep those together that are between them, and a backslash outside of single quotes keeps
// the next character as it is.
func Parse(text string) (Config, error) {
	kind, command, ok := strings.Cut(text, "=")
	kind = strings.TrimSpace(kind)
	if !ok || kind == "" {
		return Config{}, fmt.Errorf("%q must be KIND=COMMAND, such as resize='python3 resize.py'", text)
	}
	words, err := split(command)
	if err != nil {
		return Config{}, fmt.Errorf("the command of the kind %s: %w", kind, err)
	}
	if len(words) == 0 || words[0] == "" {
		return Config{}, fmt.Errorf("the kind %s has no command; write it like %s='python3 resize.py'", kind, kind)
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsRune(w, 0) }) {
		return Config{}, fmt.Errorf("the command of the kind %s contains NUL", kind)
	}
	return Config{Kind: kind, Command: words, Count: 1}, nil
}

var (
	errOpenQuote = errors.New("a quote is not closed")
	errBackslash = errors.New("nothing follows the last backslash")
)

// split is the words of a command.
func split(text string) (words []string, err error) {
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n' || r == '\r'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	switch {
	case escaped:
		return nil, errBackslash
	case quote != 0:
		return nil, errOpenQuote
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}

// Check is why there can be no such processes, if it can be told without starting one.
func (c *Config) Check() error {
	if err := valid.Kind(c.Kind); err != nil {
		return err
	}
	switch {
	case c.Count < 1:
		return fmt.Errorf("there are to be %d processes for the kind %s; one is the least", c.Count, c.Kind)
	case c.MaxRuns < 0 || c.MaxMemory < 0:
		return errors.New("a bound of processes is negative")
	case c.MaxMemory > 0 && !measuresMemory:
		return errors.New("on this system it cannot be told how much memory a process has")
	}
	return nil
}

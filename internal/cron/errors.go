package cron

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// SyntaxError is a part of a schedule that cannot be understood.
type SyntaxError struct {
	Field string // which part: "minute", "weekday", "expression", "interval", "time", "text", …
	Text  string // what is there
	Want  string // what is wrong with it, and what to write instead
}

func (e *SyntaxError) Error() string { return e.Field + " " + quoted(e.Text) + ": " + e.Want }

// ImpossibleError is an expression that means a day which never comes.
type ImpossibleError struct {
	Expression string
}

func (e *ImpossibleError) Error() string {
	return "expression " + quoted(e.Expression) + ": none of its months has such a day, so it would never fire"
}

// ZoneError is a zone that is not known.
type ZoneError struct {
	Zone string
	Want string
}

func (e *ZoneError) Error() string { return "zone " + quoted(e.Zone) + ": " + e.Want }

func syntax(field, text, format string, args ...any) error {
	return &SyntaxError{Field: field, Text: text, Want: fmt.Sprintf(format, args...)}
}

// quoted is a text for a message, which the text does not make long.
func quoted(text string) string {
	const most = 60
	if len(text) > most {
		cut := most
		for cut > most-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strconv.Quote(text)
}

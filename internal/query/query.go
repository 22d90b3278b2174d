// Package query reads what people write to select jobs: single conditions, and the query language
// of the API, of "job list --query" and of the dashboard.
//
//	state:failed,cancelled queue:mail kind:invoice tag:urgent args.customer.id:7 since:24h
//
// A query is conditions with spaces between them, of which all must fit. A condition is NAME:VALUE.
// A value with a space or a comma in it is in double quotes, as in JSON. The names:
//
//	state, queue, kind, id, reason, fingerprint   one of the values, which have commas between them
//	tag                                           all of the values
//	key, parent, root, batch, lost_from           one value
//	since, before                                 when the job was created: a time (RFC 3339), or how long ago
//	finished_since, finished_before               when it finished
//	args.PATH, metadata.PATH                      the value is JSON, or else a text
//	attr.NAME                                     a search attribute; the value may begin with <, <=, > or >=,
//	                                              and * is any
//
// A word without a colon that is an id is id:WORD. Each name but tag, args, metadata and attr comes
// once.
//
// # How it fails
//
// By an ErrInvalid that names the condition.
//
// # Imports
//
// Of ours, store.
package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Parse reads a query. now is what durations are before.
func Parse(text string, now time.Time) (store.Filter, error) {
	p := parser{now: now, seen: map[string]bool{}}
	for _, word := range words(text) {
		if err := p.condition(word); err != nil {
			return store.Filter{}, err
		}
	}
	if p.f.Key != "" && len(p.f.Kinds) == 0 {
		return store.Filter{}, invalid("key:"+p.f.Key, "key needs kind")
	}
	return p.f, nil
}

// words cuts a query at its spaces, but not within quotes.
func words(text string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(text, func(r rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n' || r == '\r')
	})
}

type parser struct {
	now  time.Time
	f    store.Filter
	seen map[string]bool
}

func (p *parser) condition(word string) error {
	name, value, ok := strings.Cut(word, ":")
	if !ok {
		if _, err := ParseID(word); err != nil {
			return invalid(word, "it must be NAME:VALUE, such as state:failed, or the id of a job")
		}
		name, value = "id", word
	}
	if value == "" {
		return invalid(word, "it has no value")
	}
	for prefix, add := range map[string]func(path, value string) error{
		"args.":     func(path, value string) error { return addMatch(&p.f.Args, path, value) },
		"metadata.": func(path, value string) error { return addMatch(&p.f.Metadata, path, value) },
		"attr.":     p.attribute,
	} {
		if path, is := strings.CutPrefix(name, prefix); is {
			v, err := unquote(value)
			if err == nil {
				err = add(path, v)
			}
			return wrap(word, err)
		}
	}
	set, known := setters[name]
	if !known {
		return invalid(word,
			fmt.Sprintf("there is no %q; the names are %s, args.PATH, metadata.PATH and attr.NAME", name, strings.Join(names(), ", ")))
	}
	if p.seen[name] && name != "tag" {
		return invalid(word, name+" comes twice; several values have commas between them")
	}
	p.seen[name] = true
	values, err := list(value)
	if err == nil {
		err = set(p, values)
	}
	return wrap(word, err)
}

// names are those of the setters.
func names() (all []string) {
	for name := range setters {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// setters take the values of a name.
var setters = map[string]func(p *parser, values []string) error{
	"state": func(p *parser, values []string) error { return each(values, &p.f.States, store.ParseState) },
	"queue": func(p *parser, values []string) error { return each(values, &p.f.Queues, text) },
	"kind":  func(p *parser, values []string) error { return each(values, &p.f.Kinds, text) },
	"tag":   func(p *parser, values []string) error { return each(values, &p.f.Tags, text) },
	"id":    func(p *parser, values []string) error { return each(values, &p.f.IDs, ParseID) },
	"reason": func(p *parser, values []string) error {
		return each(values, &p.f.Reasons, func(text string) (store.Reason, error) { return store.Reason(text), nil })
	},
	"fingerprint":     func(p *parser, values []string) error { return each(values, &p.f.Fingerprints, ParseFingerprint) },
	"key":             func(p *parser, values []string) error { return one(values, &p.f.Key, text) },
	"parent":          func(p *parser, values []string) error { return one(values, &p.f.Parent, ParseID) },
	"root":            func(p *parser, values []string) error { return one(values, &p.f.Root, ParseID) },
	"batch":           func(p *parser, values []string) error { return one(values, &p.f.Batch, ParseID) },
	"lost_from":       func(p *parser, values []string) error { return one(values, &p.f.LostFrom, parseNode) },
	"since":           func(p *parser, values []string) error { return one(values, &p.f.CreatedAfter, p.time) },
	"before":          func(p *parser, values []string) error { return one(values, &p.f.CreatedBefore, p.time) },
	"finished_since":  func(p *parser, values []string) error { return one(values, &p.f.FinishedAfter, p.time) },
	"finished_before": func(p *parser, values []string) error { return one(values, &p.f.FinishedBefore, p.time) },
}

// each appends values to a list.
func each[T any](values []string, to *[]T, parse func(string) (T, error)) error {
	for _, value := range values {
		v, err := parse(value)
		if err != nil {
			return err
		}
		*to = append(*to, v)
	}
	return nil
}

// one sets what has one value.
func one[T any](values []string, to *T, parse func(string) (T, error)) (err error) {
	if len(values) != 1 {
		return fmt.Errorf("%w: it has one value", store.ErrInvalid)
	}
	*to, err = parse(values[0])
	return err
}

func text(value string) (string, error) { return value, nil }

// ParseID reads the id of a job.
func ParseID(text string) (id store.ID, err error) {
	if err := id.UnmarshalText([]byte(text)); err != nil || len(text) != len(id.String()) || id == (store.ID{}) {
		return store.ID{}, fmt.Errorf("%w: %q is not the id of a job", store.ErrInvalid, text)
	}
	return id, nil
}

func parseNode(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%w: there is no node %q", store.ErrInvalid, text)
	}
	return n, nil
}

// mostDays keeps a duration in range.
const mostDays = 100_000

// duration reads one as Go writes it, and with days of 24 hours in front, such as 7d or 1d12h.
func duration(text string) (time.Duration, error) {
	days, rest, _ := strings.Cut(text, "d")
	n, err := strconv.ParseUint(days, 10, 64)
	if err != nil || n > mostDays || len(days) == len(text) {
		return time.ParseDuration(text)
	}
	d, err := time.ParseDuration(cmp.Or(rest, "0s"))
	whole := time.Duration(n) * 24 * time.Hour
	if err == nil && d > math.MaxInt64-whole {
		err = strconv.ErrRange
	}
	return whole + d, err
}

// time reads a time, or how long ago it was.
func (p *parser) time(text string) (time.Time, error) {
	if d, err := duration(text); err == nil {
		return p.now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%w: %q is neither a time such as 2026-01-31T17:30:00Z nor a duration such as 24h or 7d", store.ErrInvalid, text)
	}
	return t, nil
}

// list cuts a value at its commas, but not within quotes.
func list(value string) (values []string, err error) {
	quoted, escaped := false, false
	for part := range strings.SplitSeq(strings.Map(func(r rune) rune {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		}
		if r == ',' && !quoted {
			return separator
		}
		return r
	}, value), string(separator)) {
		v, err := unquote(part)
		if err != nil {
			return nil, err
		}
		if v == "" {
			return nil, fmt.Errorf("%w: a value is missing", store.ErrInvalid)
		}
		values = append(values, v)
	}
	return values, nil
}

// separator is no letter of any text that a store takes.
const separator = '\x00'

// unquote reads a value, which may be in quotes.
func unquote(value string) (string, error) {
	if !strings.HasPrefix(value, `"`) {
		return value, nil
	}
	var v string
	if json.Unmarshal([]byte(value), &v) != nil {
		return "", fmt.Errorf("%w: the quotes are not closed, or what is in them is no text as in JSON", store.ErrInvalid)
	}
	return v, nil
}

func (p *parser) attribute(name, value string) error {
	text := name
	switch {
	case value == "*":
	case strings.HasPrefix(value, "<"), strings.HasPrefix(value, ">"):
		text += value
	default:
		text += "=" + value
	}
	m, err := ParseAttribute(text)
	if err == nil {
		p.f.Attributes = append(p.f.Attributes, m)
	}
	return err
}

func addMatch(to *[]store.Match, path, value string) error {
	m, err := newMatch(path, value)
	if err == nil {
		*to = append(*to, m)
	}
	return err
}

func invalid(word, why string) error {
	return fmt.Errorf("%w: %s: %s", store.ErrInvalid, strconv.Quote(word), why)
}

func wrap(word string, err error) error {
	if err == nil {
		return nil
	}
	return invalid(word, strings.TrimPrefix(err.Error(), store.ErrInvalid.Error()+": "))
}

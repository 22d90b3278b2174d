// Package redact hides values by the names of their fields: in JSON documents, such as args and
// results that are shown to people, and in the attributes of log lines.
//
//	rules, err := redact.New("default", "card.number", "patient.*")
//	rules.JSON([]byte(`{"card":{"number":"4111"}}`)) // {"card":{"number":"[redacted]"}}
//
// A rule is a name, or names joined by dots, the outer ones first. It means the fields that have
// these names, at any depth, however many arrays are between them. Case does not count, nor do "_"
// and "-": api_key means apiKey, too. A "*" in a name stands for any characters: "*token" means
// access_token and token, "card.*" all fields of a card, and "*.id" an id that is not at the top.
//
// What a rule means is hidden whole, also if it is an object or an array, but null is not. Handlers
// and the database have the values as they are.
//
// # Imports
//
// The root package, internal/access and store.
package redact

import (
	"fmt"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Hidden stands in the place of a value that is hidden.
const Hidden = "[redacted]"

// defaults are the rules of Default.
var defaults = []string{
	"*password", "passwd", "*passphrase", "*secret", "*token", "authorization", "cookie", "set_cookie", "*api_key", "*private_key",
	"credentials", "card_number", "cvc", "cvv", "ssn",
}

// The names of rules that stand for others.
const (
	NameDefault = "default" // those of Default
	NameNone    = "none"    // no rules at all; it stands alone
)

// maxRules and maxNames bound what a value costs.
const (
	maxRules = 100
	maxNames = 8
)

// Rules say which values are hidden. A nil *Rules hides nothing. Rules do not change, and may be
// used by many goroutines at once.
type Rules struct {
	rules [][]string // names of each, normalised, the innermost first
}

// Default are rules for what is secret in most programs: fields whose names end with password,
// passphrase, secret, token, api_key or private_key, and those named passwd, authorization, cookie,
// set_cookie, credentials, card_number, cvc, cvv or ssn.
func Default() *Rules {
	r, err := New(defaults...)
	if err != nil {
		panic(err) // never: they are constants
	}
	return r
}

// New returns rules; "default" stands for those of Default, and "none" alone for no rules. At most
// 100, of at most eight names each. The error is store.ErrInvalid.
func New(rules ...string) (*Rules, error) {
	r := &Rules{}
	for _, text := range rules {
		switch name := strings.TrimSpace(text); {
		case name == NameNone && len(rules) == 1:
		case name == NameNone:
			return nil, fmt.Errorf("%w: %q is a rule of its own; leave out the others", store.ErrInvalid, NameNone)
		case name == NameDefault:
			r.rules = append(r.rules, Default().rules...)
		default:
			names := strings.Split(name, ".")
			inner := make([]string, len(names))
			for i, n := range names {
				if inner[len(names)-1-i] = normal(n); inner[len(names)-1-i] == "" {
					return nil, fmt.Errorf("%w: the redaction rule %.60q has an empty name", store.ErrInvalid, text)
				}
			}
			if len(names) > maxNames {
				return nil, fmt.Errorf("%w: the redaction rule %.60q has %d names; at most %d are allowed", store.ErrInvalid, text, len(names),
					maxNames)
			}
			r.rules = append(r.rules, inner)
		}
	}
	if len(r.rules) > maxRules {
		return nil, fmt.Errorf("%w: %d redaction rules; at most %d are allowed", store.ErrInvalid, len(r.rules), maxRules)
	}
	return r, nil
}

// Parse is New of rules that are separated by commas.
func Parse(text string) (*Rules, error) { return New(strings.Split(text, ",")...) }

// IsEmpty reports whether nothing is hidden.
func (r *Rules) IsEmpty() bool { return r == nil || len(r.rules) == 0 }

// normal is a name as it is compared.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(strings.TrimSpace(name)))
}

// path are the normalised names of the fields around a value, the outermost first.
type path []string

// hides reports whether a rule means the innermost field of the path.
func (r *Rules) hides(at path) bool {
	for _, names := range r.rules {
		if len(names) > len(at) {
			continue
		}
		fits := true
		for i, name := range names {
			if !like(name, at[len(at)-1-i]) {
				fits = false
				break
			}
		}
		if fits {
			return true
		}
	}
	return false
}

// like reports whether a name fits a pattern in which "*" stands for any characters. It takes no
// longer than their lengths multiplied.
func like(pattern, name string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == name
	}
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return len(name) >= len(last) && strings.HasSuffix(name, last)
}

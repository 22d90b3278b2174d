// Package valid checks what callers give: names, payloads, and what a job carries. Each error is an
// ErrInvalid that says what is wrong.
//
// Of ours, it imports only store.
package valid

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
)

const (
	maxName = 200
	maxTags = 20
	// MaxMetadata is the limit of a job's metadata, in bytes.
	MaxMetadata = 64 << 10
)

// FieldError is an ErrInvalid about What, such as "args" or "ordering key".
type FieldError struct{ What, Text string }

func (e *FieldError) Error() string { return store.ErrInvalid.Error() + ": " + e.What + ": " + e.Text }

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return store.ErrInvalid }

// Error returns a FieldError.
func Error(what, format string, args ...any) error {
	return &FieldError{What: what, Text: fmt.Sprintf(format, args...)}
}

// Encode encodes a payload. JSON stays unchanged; HTML characters are not escaped, which would make
// payloads larger.
func Encode(v any) ([]byte, error) {
	if raw, ok := v.(json.RawMessage); ok && raw != nil {
		return raw, nil
	}
	e := encoders.Get().(*encoder) //nolint:errcheck // the pool has only encoders
	if err := e.json.Encode(v); err != nil {
		return nil, err // the encoder would repeat it
	}
	data := bytes.Clone(bytes.TrimSuffix(e.text.Bytes(), []byte("\n")))
	if e.text.Cap() <= maxKept {
		e.text.Reset()
		encoders.Put(e)
	}
	return data, nil
}

// encoder is a JSON encoder for reuse.
type encoder struct {
	text bytes.Buffer
	json *json.Encoder
}

// maxKept is the largest payload whose encoder is reused.
const maxKept = 64 << 10

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}}

// Name checks the name of a queue, kind, tag, namespace or ordering key.
func Name(what, name string) error { return Text(what, name, maxName) }

// Key checks a business key.
func Key(key string) error { return Text("key", key, store.MaxKey) }

// Text checks a name of at most so many bytes.
func Text(what, name string, limit int) error {
	switch {
	case name == "":
		return Error(what, "must not be empty")
	case len(name) > limit:
		return Error(what, "%d bytes exceed the limit of %d", len(name), limit)
	case !utf8.ValidString(name):
		return Error(what, "not valid UTF-8")
	}
	for _, r := range name {
		switch {
		case r < ' ' || r >= 0x7F && r <= 0x9F:
			return Error(what, "%q contains a control character", name)
		case isInvisible(r) && !slices.Contains(dataNames, what):
			return Error(what, "%q contains the invisible character %U; remove it", name, r)
		}
	}
	return nil
}

// dataNames are the names that may come from users' data, which may be any text. Programmers choose
// all others.
var dataNames = []string{"tag", "ordering key", "unique key", "key", "limit key", "actor"}

// isInvisible reports whether a rune is invisible: text direction marks, zero-width spaces, line
// separators. The zero-width joiners are part of some scripts.
func isInvisible(r rune) bool {
	const nonJoiner, joiner = '\u200C', '\u200D'
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != nonJoiner && r != joiner
}

// Priority checks a priority.
func Priority(p int) error {
	if p < 1 || p > 4 {
		return Error("priority", "%d is not between 1 (most urgent) and 4", p)
	}
	return nil
}

// Attempts checks how many attempts a job, or a step, has.
func Attempts(n int) error {
	if n < 1 || n > 1000 {
		return Error("max attempts", "%d is not between 1 and 1000", n)
	}
	return nil
}

// Tags checks the tags of a job.
func Tags(tags []string) error {
	if len(tags) > maxTags {
		return Error("tags", "%d exceed the limit of %d", len(tags), maxTags)
	}
	for _, tag := range tags {
		if err := Name("tag", tag); err != nil {
			return err
		}
	}
	return nil
}

// Kind checks the name of a kind. An @ would separate a version.
func Kind(name string) error {
	if strings.Contains(name, "@") {
		return Error("kind", "%q contains an @, which is reserved for versions", name)
	}
	return Name("kind", name)
}

// JSON checks a payload: valid JSON in valid UTF-8, within the limit, without NUL, which
// PostgreSQL's JSON functions and many readers refuse.
func JSON(what string, data []byte, limit int) error {
	switch {
	case len(data) > limit:
		return Error(what, "%d bytes exceed the limit of %d; store large data elsewhere and pass a reference", len(data), limit)
	case !utf8.Valid(data):
		return Error(what, "not valid UTF-8")
	case !json.Valid(data):
		return Error(what, "not valid JSON: %s", excerpt(data))
	case holdsNUL(data):
		return Error(what, `it contains the NUL character (\u0000)`)
	case isDeep(data):
		return Error(what, "arrays and objects are nested more than %d deep, which many readers cannot read", MaxNesting)
	}
	return nil
}

// MaxNesting bounds how deep arrays and objects of a payload are nested. Readers of other languages
// recurse, and end at a thousand or less: Python with an error, others with their process.
const MaxNesting = 200

// isDeep reports whether valid JSON is nested deeper than payloads may be.
func isDeep(data []byte) bool {
	if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) <= MaxNesting {
		return false
	}
	depth, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[', c == '{':
			if depth++; depth > MaxNesting {
				return true
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return false
}

// Object checks a payload that is a JSON object.
func Object(what string, data []byte, limit int) error {
	if err := JSON(what, data, limit); err != nil {
		return err
	}
	if trimmed := bytes.TrimSpace(data); trimmed[0] != '{' {
		return Error(what, "not a JSON object: %s", excerpt(data))
	}
	return nil
}

// holdsNUL finds the escape \u0000 in valid JSON. It skips escaped backslashes before a "u0000".
func holdsNUL(data []byte) bool {
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i+1 < len(data); {
		if bytes.HasPrefix(data[i:], []byte(`\u0000`)) {
			return true
		}
		rest := bytes.IndexByte(data[i+2:], '\\')
		if rest < 0 {
			return false
		}
		i += 2 + rest
	}
	return false
}

func excerpt(data []byte) string {
	const most = 60
	if len(data) <= most {
		return string(data)
	}
	return string(bytes.ToValidUTF8(data[:most], nil)) + "…"
}

// Changed checks a job that middleware may have changed: what it must leave as it is, and what
// options check. The rest is checked in any case.
func Changed(j, before *store.Job) error {
	same := j.ID == before.ID && j.Namespace == before.Namespace && j.Kind == before.Kind && j.Codec == before.Codec &&
		j.Parent == before.Parent && j.Answers == before.Answers && j.UniqueKey == nil
	var key, metadata, attempts error
	if j.OrderingKey != "" {
		key = Name("ordering key", j.OrderingKey)
	}
	if j.Metadata != nil {
		metadata = Object("metadata", j.Metadata, MaxMetadata)
	}
	if j.MaxAttempts != 0 {
		attempts = Attempts(j.MaxAttempts)
	}
	o := &j.Options
	o.Deadline = o.Deadline.UTC().Truncate(time.Microsecond)
	if b := o.Backoff; min(o.Timeout, o.Heartbeat, b.Base, b.Cap) < 0 || b.Jitter < 0 {
		return Error("middleware", "it has set an option of job %s to less than nothing: %+v", before.ID, *o)
	}
	if !same {
		return Error("middleware", "it has changed the id, kind, namespace, codec, parent or unique key of job %s, which it must not", before.ID)
	}
	return cmp.Or(Name("queue", j.Queue), Priority(j.Priority), Tags(j.Tags), key, metadata, attempts)
}

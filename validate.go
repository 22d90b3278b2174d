package holdfast

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Limits of what a job may carry.
const (
	// MaxPayload is the default limit of a job's args and of its result, in bytes.
	MaxPayload = 1 << 20

	maxName     = 200
	maxTags     = 20
	maxMetadata = 64 << 10
)

// encode encodes a payload. JSON stays unchanged; HTML characters are not escaped, which would make
// payloads larger.
func encode(v any) ([]byte, error) {
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

// checkName checks the name of a queue, kind, tag, namespace or ordering key.
func checkName(what, name string) error { return checkText(what, name, maxName) }

// checkText checks a name of at most so many bytes.
func checkText(what, name string, limit int) error {
	switch {
	case name == "":
		return invalid(what, "must not be empty")
	case len(name) > limit:
		return invalid(what, "%d bytes exceed the limit of %d", len(name), limit)
	case !utf8.ValidString(name):
		return invalid(what, "not valid UTF-8")
	}
	for _, r := range name {
		switch {
		case r < ' ' || r >= 0x7F && r <= 0x9F:
			return invalid(what, "%q contains a control character", name)
		case isInvisible(r) && !slices.Contains(dataNames, what):
			return invalid(what, "%q contains the invisible character %U; remove it", name, r)
		}
	}
	return nil
}

// dataNames are the names that may come from users' data, which may be any text. Programmers choose
// all others.
var dataNames = []string{"tag", "ordering key", "unique key", "key", "actor"}

// isInvisible reports whether a rune is invisible: text direction marks, zero-width spaces, line
// separators. The zero-width joiners are part of some scripts.
func isInvisible(r rune) bool {
	const nonJoiner, joiner = '\u200C', '\u200D'
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != nonJoiner && r != joiner
}

// checkKind checks the name of a kind. An @ would separate a version.
func checkKind(name string) error {
	if strings.Contains(name, "@") {
		return invalid("kind", "%q contains an @, which is reserved for versions", name)
	}
	return checkName("kind", name)
}

// checkJSON checks a payload: valid JSON in valid UTF-8, within the limit, without NUL, which
// PostgreSQL's JSON functions and many readers refuse.
func checkJSON(what string, data []byte, limit int) error {
	switch {
	case len(data) > limit:
		return invalid(what, "%d bytes exceed the limit of %d; store large data elsewhere and pass a reference", len(data), limit)
	case !utf8.Valid(data):
		return invalid(what, "not valid UTF-8")
	case !json.Valid(data):
		return invalid(what, "not valid JSON: %s", excerpt(data))
	case holdsNUL(data):
		return invalid(what, `it contains the NUL character (\u0000)`)
	}
	return nil
}

func checkObject(what string, data []byte, limit int) error {
	if err := checkJSON(what, data, limit); err != nil {
		return err
	}
	if trimmed := bytes.TrimSpace(data); trimmed[0] != '{' {
		return invalid(what, "not a JSON object: %s", excerpt(data))
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

func noFunction(of string) error { return invalid(of, "its function must not be nil") }

// errNoOption is the error of an option that is nil.
var errNoOption = invalid("options", "an option must not be nil")

package arg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// MaxLine bounds the memory of one line. It allows some white space around the args.
const MaxLine = holdfast.MaxPayload + 64<<10

// CheckJSON checks args as the library does, but with messages about what the user typed, and
// before anything of a batch is stored. It returns them compacted, and otherwise unchanged.
func CheckJSON(data []byte) (json.RawMessage, error) {
	if len(data) > MaxLine {
		return nil, ErrTooLarge // checked first: data may be cut off
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, ByteOrderMark))
	if len(data) == 0 {
		return nil, errors.New("empty; must be JSON, such as {}")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	var args bytes.Buffer
	if err := json.Compact(&args, data); err != nil {
		return nil, notJSON(data)
	}
	switch {
	case args.Len() > holdfast.MaxPayload:
		return nil, ErrTooLarge
	case holdsNUL(args.Bytes()):
		return nil, errors.New(`contains the NUL character (\u0000), which databases cannot store`)
	}
	return bytes.Clone(args.Bytes()), nil // its buffer has room for the white space
}

// notJSON reports where a text stops being JSON.
func notJSON(data []byte) error {
	var syntax *json.SyntaxError
	begin := output.Clip(string(data[:min(len(data), 400)]), 60)
	err := json.Unmarshal(data, new(json.RawMessage)) // it counts bytes
	switch {
	case strings.IndexByte(`{["-0123456789`, data[0]) < 0:
		return fmt.Errorf("not JSON: %s; a string needs double quotes, in a shell inside single quotes: '\"yes\"'", begin)
	case !errors.As(err, &syntax) || syntax.Offset >= int64(len(data)) && strings.Contains(err.Error(), "unexpected end"):
		return fmt.Errorf("not JSON: unexpected end: %s", begin)
	}
	at := min(max(int(syntax.Offset)-1, 0), len(data)) // the offset is that after the error
	before, after := data[max(0, at-20):at], data[at:min(len(data), at+200)]
	return fmt.Errorf("not JSON at byte %d, after %s: %s",
		at+1, output.OneLine(string(bytes.ToValidUTF8(before, nil))), output.Clip(string(after), 60))
}

// ByteOrderMark is at the start of files of Windows programs.
var ByteOrderMark = []byte("\uFEFF")

// ErrTooLarge is the error of JSON that is too large for a job.
var ErrTooLarge = fmt.Errorf("larger than %d bytes; store large data elsewhere and pass a reference", holdfast.MaxPayload)

// holdsNUL finds the escape \u0000 in the text of JSON, as the library does. A decoder would drop
// all but the last of several fields with one name.
func holdsNUL(data []byte) bool {
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 {
			return false
		}
		if bytes.HasPrefix(data[at:], []byte(`\u0000`)) {
			return true
		}
		data = data[at+2:] // the escaped character may be a backslash
	}
}

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

// MaxLine bounds the memory of one line. White space around the args is allowed, but not without end.
const MaxLine = holdfast.MaxPayload + 64<<10

// CheckJSON checks args as the library does, so that a line of a file can be refused before anything of its batch is stored, and in
// the words of what people have typed. It returns them without white space, and otherwise as they are.
func CheckJSON(data []byte) (json.RawMessage, error) {
	if len(data) > MaxLine {
		return nil, ErrTooLarge // before a look at it: there may be more than was read
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

// notJSON says where a text stops being JSON.
func notJSON(data []byte) error {
	var syntax *json.SyntaxError
	begin := output.Clip(string(data[:min(len(data), 400)]), 60)
	err := json.Unmarshal(data, new(json.RawMessage)) // which counts bytes
	switch {
	case strings.IndexByte(`{["-0123456789`, data[0]) < 0:
		return fmt.Errorf("not JSON: %s; put a string in double quotes inside the shell's quotes: '\"yes\"'", begin)
	case !errors.As(err, &syntax) || syntax.Offset >= int64(len(data)) && strings.Contains(err.Error(), "unexpected end"):
		return fmt.Errorf("not JSON: unexpected end: %s", begin)
	}
	at := min(max(int(syntax.Offset)-1, 0), len(data)) // the offset counts what was read
	before, after := data[max(0, at-20):at], data[at:min(len(data), at+200)]
	return fmt.Errorf("not JSON at byte %d, after %s: %s",
		at+1, output.OneLine(string(bytes.ToValidUTF8(before, nil))), output.Clip(string(after), 60))
}

// ByteOrderMark is what Windows programs begin files with.
var ByteOrderMark = []byte("\uFEFF")

// ErrTooLarge is the error of JSON that is too large to be stored with a job.
var ErrTooLarge = fmt.Errorf("larger than %d bytes; store large data elsewhere and pass a reference", holdfast.MaxPayload)

// holdsNUL finds the escape \u0000 in JSON, as the library does: in what stands there. A decoder drops all but the last of the fields
// that have one name.
func holdsNUL(data []byte) bool {
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 {
			return false
		}
		if bytes.HasPrefix(data[at:], []byte(`\u0000`)) {
			return true
		}
		data = data[at+2:] // what is escaped may be a backslash
	}
}

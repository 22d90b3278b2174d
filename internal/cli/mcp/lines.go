package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is how long a message of the client may be: larger than any body that the API takes in a
// tool, and small enough that a stream without lines does not fill the memory.
const maxLine = 48 << 20

// lines are the messages of a client, each in a line of its own. The library ends a connection at
// the first line that is no message, so these are answered here, and it sees the others only.
type lines struct {
	in   *bufio.Reader
	out  *output
	rest []byte // of the line that is being read
}

func newLines(in io.Reader, out *output) *lines { return &lines{in: bufio.NewReader(in), out: out} }

// inputError is why standard input cannot be read any more, other than that it has ended.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }

func (e *inputError) Unwrap() error { return e.err }

// Read reads of one line at most.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		switch {
		case errors.Is(err, errLong):
			err = l.out.refuse(nil, jsonrpc.CodeParseError, err)
		case err != nil:
		case len(line) == 0:
		case !json.Valid(line):
			err = l.out.refuse(nil, jsonrpc.CodeParseError, errors.New("the line is no JSON; each message is one, in a line of its own"))
		default:
			if id, wrong := check(line); wrong != nil {
				err = l.out.refuse(id, jsonrpc.CodeInvalidRequest, wrong)
			} else {
				line = append(line, '\n')
				l.rest = line
			}
		}
		if err == io.EOF { //nolint:errorlint // a reader returns it as it is
			return 0, io.EOF
		}
		if err != nil {
			return 0, &inputError{err}
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close leaves standard input open, which ends by itself.
func (l *lines) Close() error { return nil }

var errLong = fmt.Errorf("the line has more than %d bytes", maxLine)

// next is the next line, without what is around it. The last one may have no end.
func (l *lines) next() (line []byte, err error) {
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLong
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0: // the end is found again
			return bytes.TrimSpace(line), nil
		default:
			return nil, err
		}
	}
}

// check is why JSON is no message, and its id, if it has one. Of lists, which the library takes as
// several messages, it is found out when they are taken apart.
func check(line []byte) (id json.RawMessage, wrong error) {
	if line[0] == '[' {
		return nil, nil
	}
	_, err := jsonrpc.DecodeMessage(line)
	if err == nil {
		return nil, nil
	}
	var said struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &said) != nil || len(said.ID) == 0 || !bytes.ContainsAny(said.ID[:1], `"-0123456789`) {
		said.ID = nil
	}
	return said.ID, fmt.Errorf("the line is no message of JSON-RPC 2.0: %w", err)
}

// output is standard output, to which answers are written whole. It stays open.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes a line.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// Close leaves it open.
func (o *output) Close() error { return nil }

// refuse answers what is no request. id: it is not known of which.
func (o *output) refuse(id json.RawMessage, code int, why error) error {
	type wrong struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	text, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"` // null: it is not known
		Error   wrong           `json:"error"`
	}{"2.0", id, wrong{code, why.Error()}})
	if err == nil {
		_, err = o.Write(append(text, '\n'))
	}
	return err
}

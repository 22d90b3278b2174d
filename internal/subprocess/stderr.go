package subprocess

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/internal/logs"
)

// The bounds of what is kept of standard error: of a line, and of the end that an error quotes.
const (
	maxErrorLine = 8 << 10
	maxQuote     = 1 << 10
)

// stderr is the standard error of a process. Its lines go to the log of the run that the process
// has, or else to that of the node.
type stderr struct {
	read *os.File
	log  *slog.Logger  // of the node
	done chan struct{} // closed at its end

	mu     sync.Mutex
	run    *slog.Logger // nil: there is no run
	line   []byte       // without an end so far
	quoted []byte       // the end of what was written since the run began
}

func newStderr(read *os.File, log *slog.Logger) *stderr {
	return &stderr{read: read, log: log, done: make(chan struct{})}
}

// begin lets lines go to the log of a run.
func (s *stderr) begin(log *slog.Logger) {
	s.catchUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.run, s.quoted = log, nil
}

// end logs what the process has written to the end of its run, and returns the last of it.
func (s *stderr) end() string {
	s.catchUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.run = nil
	return strings.TrimSpace(text(s.quoted))
}

// took takes what was read. The lock is held.
func (s *stderr) took(p []byte) {
	if over := len(s.quoted) + len(p) - maxQuote; over > 0 {
		kept := min(over, len(s.quoted))
		s.quoted = append(append([]byte(nil), s.quoted[kept:]...), p[max(len(p)-maxQuote, 0):]...)
	} else {
		s.quoted = append(s.quoted, p...)
	}
	for len(p) > 0 {
		at := bytes.IndexByte(p, '\n')
		if at < 0 {
			s.line = append(s.line, p[:min(len(p), maxErrorLine+1-len(s.line))]...)
			return
		}
		s.line = append(s.line, p[:min(at, maxErrorLine+1-len(s.line))]...)
		s.flush()
		p = p[at+1:]
	}
}

// flush logs the line that there is. The lock is held.
func (s *stderr) flush() {
	line := bytes.TrimRight(s.line, "\r")
	s.line = s.line[:0]
	if len(line) == 0 {
		return
	}
	said := text(line[:min(len(line), maxErrorLine)])
	if len(line) > maxErrorLine {
		said += "…"
	}
	if s.run != nil {
		s.run.Info(said) //nolint:sloglint // the process says it
		return
	}
	s.log.Info("a subprocess without a run wrote to standard error", logs.KeyText, said)
}

// text is what may be logged and kept of bytes: a rune that was cut off at the start is left out,
// and other bytes that are no text are replaced.
func text(b []byte) string {
	for i := 0; i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}

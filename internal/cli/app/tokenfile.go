package app

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenFile is a file with a token, which is read again when it has changed: tokens of an identity
// provider last for minutes, and who renews them need not restart a worker.
type tokenFile struct {
	path string

	mu   sync.Mutex
	at   time.Time // of the file that was read
	size int64
	last string
}

// token is that of the file as it is. While it cannot be read, or is empty, as in the middle of a
// write, it is the one of before.
func (f *tokenFile) token() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is, err := os.Stat(f.path)
	if err == nil && f.last != "" && is.ModTime().Equal(f.at) && is.Size() == f.size {
		return f.last, nil
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(f.path)
	}
	token := strings.TrimSpace(string(text))
	switch {
	case err == nil && token != "":
		f.last, f.at, f.size = token, is.ModTime(), is.Size()
	case f.last != "":
	case err != nil:
		return "", err
	default:
		return "", fmt.Errorf("%s is empty", f.path)
	}
	return f.last, nil
}

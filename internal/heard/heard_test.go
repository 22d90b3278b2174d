package heard_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfastdev/holdfast/internal/heard"
)

// breaks is a transport whose connections break so many times.
type breaks struct {
	left int
	got  []string
}

func (b *breaks) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.got = append(b.got, string(body))
	if b.left--; b.left >= 0 {
		return nil, syscall.EPIPE
	}
	return &http.Response{StatusCode: http.StatusRequestEntityTooLarge, Body: http.NoBody}, nil
}

func TestBy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ breaks, sent int }{{0, 1}, {2, 3}, {100, 6}} {
		b := &breaks{left: test.breaks}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1", strings.NewReader("large"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := heard.By(b).RoundTrip(r)
		if err == nil {
			answer.Body.Close()
		}
		if (err == nil) != (test.breaks < 6) || len(b.got) != test.sent || strings.Join(b.got, "") != strings.Repeat("large", test.sent) {
			t.Errorf("after %d breaks: %v, and it has sent %q", test.breaks, err, b.got)
		}
	}
}

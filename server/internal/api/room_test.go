package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// TestDense: a request that is small enough, and has more values than there is room for.
func TestDense(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		strings.Repeat("a", eachRoom/perValue+small): 0, strings.Repeat("[],", eachRoom/perValue): http.StatusTooManyRequests,
		strings.Repeat("[],", eachRoom/perValue/2+small): http.StatusRequestEntityTooLarge,
	} {
		r := room{all: eachRoom, each: eachRoom, perValue: perValue}
		if want == http.StatusTooManyRequests {
			r.taken, text = eachRoom/2, text[:len(text)/3]
		}
		body := roomy{ReadCloser: io.NopCloser(strings.NewReader(text)), room: &r, who: "a", refuse: func() {}}
		_, err := io.ReadAll(&body)
		if p, is := errors.AsType[*problem.Problem](err); is && p.Status != want || !is && (err != nil || want != 0) {
			t.Errorf("%.10s…: %v, want %d", text, err, want)
		}
		body.leave()
		if r.by["a"] != 0 {
			t.Errorf("left: %d", r.by["a"])
		}
	}
}

// TestLeavesWithNothing: a request that turned out to be small.
func TestLeavesWithNothing(t *testing.T) {
	t.Parallel()
	r := room{all: 10, each: 10}
	body := roomy{ReadCloser: io.NopCloser(strings.NewReader("{}")), room: &r, who: "a"}
	if _, err := io.ReadAll(&body); err != nil {
		t.Error(err)
	}
	body.leave()
	if r.taken != 0 || len(r.by) != 0 {
		t.Errorf("left: %d, %v", r.taken, r.by)
	}
}

func TestRoom(t *testing.T) {
	t.Parallel()
	r := room{all: 10, each: 6}
	if !r.take("a", 6) || r.take("a", 1) || r.free("a") != 0 {
		t.Error("one caller has more than its part, or less")
	}
	if r.free("b") != 4 || r.take("b", 5) || !r.take("b", 4) || r.take("c", 1) {
		t.Error("all callers have more than there is, or less")
	}
	r.leave("a", 6)
	r.leave("b", 4)
	if r.taken != 0 || len(r.by) != 0 {
		t.Errorf("left: %d, %v", r.taken, r.by)
	}
}

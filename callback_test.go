package holdfast_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// TestTokens: tokens come from outside; whatever they are, the error says what is wrong with them.
func TestTokens(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		tokens := make(chan string, 2)
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			c, err := run.Callback("payment")
			if err != nil {
				return 0, err
			}
			tokens <- c.Token
			var n int
			return n, c.Wait(run, &n)
		})
		token := <-tokens
		for _, none := range []string{
			"", "x", token + "x", token[:len(token)-1], "hfc_", "hfc_" + strings.Repeat("!", 43), job.ID.String(),
			token + "\n", "\n" + token, token + "\r\n", token[:20] + "\n" + token[20:], token[:len(token)-1] + "\n",
		} {
			for name, err := range answerWith(f, none) {
				if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "not a callback token") {
					t.Errorf("%s of %q: %v", name, none, err)
				}
			}
		}
		// The token of a callback that does not exist: another job's, or one that was never handed
		// out.
		for _, unknown := range []string{otherToken(t, token, 5), otherToken(t, token, len(token)-3)} {
			for name, err := range answerWith(f, unknown) {
				if !errors.Is(err, holdfast.ErrNotFound) && !errors.Is(err, holdfast.ErrConflict) {
					t.Errorf("%s of %q: %v", name, unknown, err)
				}
			}
		}
		if err := f.hf.CompleteCallback(t.Context(), token, make(chan int)); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("completing with what does not encode: %v", err)
		}
		if err := f.hf.CompleteCallback(t.Context(), token, 7); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func answerWith(f *flow, token string) map[string]error {
	return map[string]error{
		"completing":  f.hf.CompleteCallback(f.t.Context(), token, 1),
		"failing":     f.hf.FailCallback(f.t.Context(), token, "no"),
		"a heartbeat": f.hf.HeartbeatCallback(f.t.Context(), token),
	}
}

// otherToken changes one letter of a token.
func otherToken(t *testing.T, token string, at int) string {
	t.Helper()
	letter := "A"
	if token[at] == 'A' {
		letter = "B"
	}
	return token[:at] + letter + token[at+1:]
}

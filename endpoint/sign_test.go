package endpoint_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/store"
)

// TestVector: the signature is the one that the libraries of Standard Webhooks make of the same
// request: HMAC-SHA256 of id, time and body with dots between them, by what the base64 says.
func TestVector(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body := []byte(`{"test": 2432232314}`)
	at := time.Unix(1614265330, 0)
	h := http.Header{}
	if err := endpoint.Sign(h, []string{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body); err != nil {
		t.Fatal(err)
	}
	if got := h.Get("Webhook-Signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("signed %s", got)
	}
	if h.Get("Webhook-Id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || h.Get("Webhook-Timestamp") != "1614265330" {
		t.Errorf("headers %v", h)
	}
	if err := endpoint.Verify(h, []string{secret}, at, body); err != nil {
		t.Error(err)
	}
}

// TestVerify: what was changed, signed by another, or is old does not pass; while two secrets are
// used, either does.
func TestVerify(t *testing.T) {
	t.Parallel()
	old, fresh, other := endpoint.NewSecret(), endpoint.NewSecret(), endpoint.NewSecret()
	at, body := time.Unix(1_800_000_000, 0), []byte("{}")
	h := http.Header{}
	if err := endpoint.Sign(h, []string{fresh, old}, "job-1", at, body); err != nil {
		t.Fatal(err)
	}
	want := func(what string, h http.Header, secrets []string, now time.Time, body string, want error) {
		t.Helper()
		if err := endpoint.Verify(h, secrets, now, []byte(body)); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, s := range []string{old, fresh} {
		want("one of them", h, []string{s}, at, "{}", nil)
	}
	want("at the edge", h, []string{old}, at.Add(endpoint.Tolerance), "{}", nil)
	want("another secret", h, []string{other}, at, "{}", endpoint.ErrSignature)
	want("another body", h, []string{old}, at, "[]", endpoint.ErrSignature)
	want("old", h, []string{old}, at.Add(endpoint.Tolerance+time.Second), "{}", endpoint.ErrSignature)
	want("early", h, []string{old}, at.Add(-endpoint.Tolerance-time.Second), "{}", endpoint.ErrSignature)
	want("no headers", http.Header{}, []string{old}, at, "{}", endpoint.ErrSignature)
	for name, value := range map[string]string{
		endpoint.HeaderID: "job-2", endpoint.HeaderTimestamp: "1800000001",
		endpoint.HeaderSignature: strings.ReplaceAll(h.Get(endpoint.HeaderSignature), "v1,", "v2,"),
	} {
		changed := h.Clone()
		changed.Set(name, value)
		want(name, changed, []string{old}, at, "{}", endpoint.ErrSignature)
	}
	want("no secret", h, []string{"whsec_"}, at, "{}", store.ErrInvalid)
	want("no secret", h, []string{strings.TrimPrefix(old, "whsec_")}, at, "{}", store.ErrInvalid)
}

package endpoint

import (
	"testing"
	"time"
)

// TestSaid: the audit has what is set of an endpoint, without secrets, values of headers, and what
// of a URL may be one.
func TestSaid(t *testing.T) {
	until := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	secrets := []Secret{{Secret: "hush"}, {Secret: "hush", Until: &until}}
	target := Target{
		URL: "https://ada:hush@hooks.example.com:8443/services/hush?key=hush", Headers: map[string]string{"Authorization": "hush"},
		Timeout: time.Second,
	}
	push := sayOf(&Push{Target: target, Callback: time.Hour, Secrets: secrets})
	want := `{"url":"https://hooks.example.com:8443","headers":["Authorization"],"timeout":"1s","callback":"1h0m0s","secrets":2,` +
		`"old_secret_until":"2026-11-02T00:00:00Z"}`
	if push != want {
		t.Errorf("of an endpoint: %s", push)
	}
	hook := sayOf(&Webhook{
		Target: Target{URL: "http://[::1]:80/x"}, Filter: Filter{Kinds: []string{"send"}}, Disabled: "by ada", Secrets: secrets[:1],
	})
	if want := `{"url":"http://[::1]:80","filter":{"kinds":["send"]},"disabled":"by ada","secrets":1}`; hook != want {
		t.Errorf("of a webhook: %s", hook)
	}
}

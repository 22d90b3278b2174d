package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestEndpointVerbs: an endpoint is made, shown without secrets, changed, and deleted.
func TestEndpointVerbs(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("migrate", "up")
	s.expect(s.run("endpoint", "create", "mail"), app.ExitUsage, "the url is missing")
	s.expect(s.run("endpoint", "create", "mail", "--url", "ftp://example.com"), app.ExitUsage, "must be http or https")
	url := "https://example.com"
	s.expect(s.run("endpoint", "create", "mail", "--url", url, "--callback", "0s"), app.ExitUsage, "--callback 0s is not positive")
	secret := s.ok("endpoint", "create", "mail", "--url", "https://example.com/jobs", "--header", "Authorization: Bearer hidden",
		"-o", "table")
	if !strings.HasPrefix(secret, "whsec_") {
		s.Errorf("created %s", secret)
	}
	s.expect(s.run("endpoint", "create", "mail", "--url", "https://example.com"), app.ExitError, "already")
	s.holds(s.ok("endpoint", "list", "-o", "table"), "https://example.com")
	s.ok("endpoint", "update", "mail", "--timeout", "5s", "--callback", "1h")
	s.expect(s.run("endpoint", "update", "mail", "--callback", "-1h"), app.ExitUsage, "--callback -1h0m0s is not positive")
	shown := s.ok("endpoint", "get", "mail", "-o", "table")
	s.holds(shown, "within 1h0m0s")
	s.holds(shown, "Authorization")
	if strings.Contains(shown, "hidden") || strings.Contains(s.ok("endpoint", "get", "mail", "-o", "json"), "whsec_") {
		s.Errorf("secrets are shown: %s", shown)
	}
	if again := s.ok("endpoint", "rotate", "mail", "-o", "table"); again == secret {
		s.Error("the secret is the same")
	}
	s.ok("endpoint", "delete", "mail")
	s.expect(s.run("endpoint", "get", "mail"), app.ExitError, "no such endpoint")
}

// TestWebhookVerbs: the same of webhooks, which need the feed.
func TestWebhookVerbs(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("migrate", "up")
	create := []string{"webhook", "create", "crm", "--url", "https://example.com/hook", "--event", "job.failed", "-o", "table"}
	s.expect(s.run(create...), app.ExitError, "the feed of changes is off")
	s.ok("event", "on")
	if secret := s.ok(create...); !strings.HasPrefix(secret, "whsec_") {
		s.Errorf("created %s", secret)
	}
	s.expect(s.run("webhook", "update", "crm", "--event", "job.gone"), app.ExitUsage, "there is no event")
	s.expect(s.run("webhook", "update", "crm", "--filter", "event."), app.ExitUsage, "--filter: the rule filter, line 1, column 7")
	s.expect(s.run("webhook", "create", "other", "--url", "https://example.com", "--filter", "now()"), app.ExitUsage, "undeclared reference")
	s.holds(s.ok("webhook", "update", "crm", "--filter", "event.data.kind == 'x'", "-o", "table"), "filter    event.data.kind == 'x'")
	s.holds(s.ok("webhook", "get", "crm", "-o", "jsonl"), `"filter":"event.data.kind == 'x'"`)
	s.holds(s.ok("webhook", "update", "crm", "--filter", "*", "-o", "jsonl"), `"filter":null`)
	s.ok("webhook", "update", "crm", "--event", "*", "--kind", "mail", "--enabled=false")
	s.holds(s.ok("webhook", "list", "-o", "table"), "disabled: by")
	enabled := s.ok("webhook", "update", "crm", "--enabled", "-o", "json")
	for _, part := range []string{`"disabled": null`, `"events": []`, `"mail"`} {
		s.holds(enabled, part)
	}
	id := strings.TrimSpace(s.ok("webhook", "test", "crm", "-o", "id"))
	again := strings.TrimSpace(s.ok("webhook", "redeliver", "crm", id, "-o", "id"))
	s.holds(s.ok("webhook", "deliveries", "crm", "--state", "available", "-o", "table"), "webhook.test")
	if all := s.ok("webhook", "deliveries", "crm", "-o", "id"); !strings.Contains(all, id) || !strings.Contains(all, again) {
		s.Errorf("deliveries %s", all)
	}
	s.ok("webhook", "delete", "crm")
	s.expect(s.run("webhook", "test", "crm"), app.ExitError, "no such webhook")
}

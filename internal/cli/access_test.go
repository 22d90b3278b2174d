package cli

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestKeys: a key lets in to what its scopes and its namespace are, until it is revoked, and its
// secret is printed once.
func TestKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		secret := strings.TrimSpace(s.ok("key", "create", "ci", "--role", "viewer", "--in", "shop", "-o", "table", "-q"))
		s.expect(s.run("key", "create", "ci", "--role", "viewer", "-o", "id"), app.ExitUsage, "has no ids")
		if quiet := s.ok("key", "create", "ci", "--role", "viewer", "-q"); !strings.Contains(quiet, "hf_") {
			s.Errorf("the secret is not printed: %s", quiet)
		}
		var made struct{ ID, Secret, Role string }
		s.decode(s.ok("key", "create", "ops", "--role", "admin", "--expires", "90d", "-o", "json"), &made)
		if !strings.HasPrefix(secret, "hf_") || !strings.HasPrefix(made.Secret, "hf_"+made.ID+"_") || made.Role != "admin" {
			s.Fatalf("%q, %+v", secret, made)
		}
		if list := s.ok("key", "list", "-o", "table"); !strings.Contains(list, "ci") || !strings.Contains(list, made.ID) ||
			strings.Contains(list, secret) {
			s.Errorf("%s", list)
		}
		if list := s.ok("key", "list", "--in", "shop", "-o", "json"); strings.Contains(list, made.ID) || !strings.Contains(list, "viewer") {
			s.Errorf("%s", list)
		}
		n := s.start("server", "--listen", "127.0.0.1:0", "--auth", "keys")
		until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
		url := servesOn.FindStringSubmatch(n.stderr.String())[1] + "/api/v1/jobs"
		c := newClient(t)
		for _, test := range []struct {
			what, method, url, token string
			status                   int
		}{
			{"the viewer in its namespace", "GET", url, secret, http.StatusOK},
			{"the viewer in another one", "GET", url + "?namespace=default", secret, http.StatusNotFound},
			{"the viewer, who does not write", "POST", url, secret, http.StatusForbidden},
			{"the admin", "POST", url, made.Secret, http.StatusCreated},
			{"a mistyped secret", "GET", url, secret[:len(secret)-1], http.StatusUnauthorized},
			{"an unknown one", "GET", url, "hf_x", http.StatusUnauthorized},
			{"none", "GET", url, "", http.StatusUnauthorized},
		} {
			body := ""
			if test.method == http.MethodPost {
				body = `{"kind":"mail"}`
			}
			if a := ask(t, c, test.method, test.url, test.token, body); a.status != test.status {
				s.Errorf("%s is answered %d: %s", test.what, a.status, a.text)
			}
		}
		s.expect(s.run("job", "list", "--server", strings.TrimSuffix(url, "/api/v1/jobs")), 1, "wants a token", "$HOLDFAST_TOKEN", "--token-file")
		n.stop(t)
		s.ok("key", "revoke", secret)
		if list := s.ok("key", "list", "-o", "table"); !strings.Contains(list, "revoked") {
			s.Errorf("%s", list)
		}
		n = s.start("server", "--listen", "127.0.0.1:0", "--auth", "keys")
		until(t, "the API again", func() bool { return servesOn.MatchString(n.stderr.String()) })
		url = servesOn.FindStringSubmatch(n.stderr.String())[1] + "/api/v1/jobs"
		if a := ask(t, c, "GET", url, secret, ""); a.status != http.StatusUnauthorized {
			s.Errorf("a revoked key is answered %d", a.status)
		}
		s.expect(s.run("key", "revoke", "nosuchkey"), 1, "there is no API key")
	})
}

// TestKeysThatCannotBe: nothing is made of a wrong command line, not even a database.
func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for words, args := range map[string][]string{
		"needs a role or scopes": {"ci"},
		"there is no role":       {"ci", "--role", "root"},
		"there is no scope":      {"ci", "--scope", "jobs:all"},
		"is in the past":         {"ci", "--role", "viewer", "--expires", "-1h"},
	} {
		s.expect(s.run(append([]string{"key", "create"}, args...)...), app.ExitUsage, words)
	}
	if _, err := os.Stat(s.db); err == nil {
		t.Error("a database was made")
	}
}

// TestNamespaces: a namespace is listed when it was created or is in use, and is deleted when it is
// empty.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, s *shell) {
		s.ok("namespace", "create", "shop", "--note", "ask Ann")
		s.expect(s.run("namespace", "create", "shop"), 1, "already")
		s.ok("job", "enqueue", "mail", "--namespace", "billing")
		if got := s.ok("namespace", "get", "billing", "-o", "table"); !strings.Contains(got, "available  1\n") ||
			!strings.Contains(got, "queues     1\n") {
			s.Errorf("%s", got)
		}
		s.expect(s.run("namespace", "get", "nowhere"), 1, "there is no namespace")
		list := s.ok("namespace", "list", "-o", "table")
		if !strings.Contains(list, "ask Ann") || !strings.Contains(list, "billing") {
			s.Errorf("%s", list)
		}
		s.expect(s.run("namespace", "delete", "billing"), 1, "jobs")
		s.ok("namespace", "delete", "shop")
		s.expect(s.run("namespace", "delete", "shop"), 1, "there is no namespace")
	})
}

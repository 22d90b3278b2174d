package dsn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestNoPartOfAPassword: the error of an invalid address shows no part of its password, whatever
// that contains.
func TestNoPartOfAPassword(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`host=localhost port=abc user=x password='it\'s secret'`,
		`host=localhost port=abc user=x password=it\'s\ secret`,
		`host=localhost sslmode=bogus user=x sslpassword='a secret'  password = 'q\'w secret'`,
		"host=localhost connect_timeout=q password='a`: secret'",
		"postgres://u:p%40secret@localhost:1/db?sslmode=bogus",
		"postgres://u@localhost:1/db?sslmode=bogus&password=secret",
	} {
		source, err := dsn.Parse(text)
		if err == nil {
			_, err = source.Open(t.Context())
		}
		if !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := postgres.URL("postgres://u:secret@h:port/db").Open(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

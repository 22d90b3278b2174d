package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestConnectionErrorsOfServers checks the same with a real server.
func TestConnectionErrorsOfServers(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	for _, c := range []struct {
		url  string
		want []string
	}{
		{cluster.URL("none_such"), []string{` has no database "none_such"; check its name`}},
		{withUser(t, cluster.URL(""), "none_such"), []string{` refused the role "none_such": `, "; check user"}},
		{cluster.URL("") + "&work_mem=much", []string{"refused the connection: ", `"work_mem"`, "; check the options of the address"}},
	} {
		_, err := postgres.URL(c.url).Open(t.Context())
		if !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), "failed to connect") {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		for _, words := range c.want {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s says %v, without %q", c.url, err, words)
			}
		}
	}
	reserved := postgres.Config{URL: cluster.URL(""), SchemaName: "pg_mine"}
	_, err := reserved.Open(t.Context())
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "choose another name for the schema") {
		t.Errorf("a name that PostgreSQL keeps for itself: %v", err)
	}
}

// withUser is a URL with another user.
func withUser(t *testing.T, url, user string) string {
	t.Helper()
	_, behind, found := strings.Cut(url, "@")
	if !found {
		t.Skip("the address of the server is no URL with a user")
	}
	return "postgres://" + user + "@" + behind
}

// TestNameOfADatabase checks how a database is called in errors.
func TestNameOfADatabase(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://u:secret@h/d":                      "postgres://u@h/d",
		"postgres://u@h:5433/d":                        "postgres://u@h:5433/d",
		"postgres://u@[::1]:5433/d":                    "postgres://u@[::1]:5433/d",
		"postgres://u@[::1]/d":                         "postgres://u@[::1]/d",
		"postgres://u@/d?host=/var/run/postgresql":     "postgres://u@/d?host=/var/run/postgresql",
		"host=/tmp user=u port=5433 dbname=d":          "postgres://u@/d?host=/tmp&port=5433",
		"postgres://u:s@h/d?sslmode=bogus&password=se": "postgres:(invalid)",
	} {
		if got := postgres.URL(url).String(); got != want {
			t.Errorf("%s is called %s, want %s", url, got, want)
		}
	}
	if got := (postgres.Config{URL: "postgres://u@/d?host=/tmp", SchemaName: "a/b"}).String(); got != "postgres://u@/d?host=/tmp&schema=a/b" {
		t.Error(got)
	}
}

// TestValidate checks what can be told without a server, and that the environment is named where it
// is to blame.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		variable, value string
		config          postgres.Config
		want            string // "": valid
	}{
		{config: postgres.URL("postgres://u:secret@h/d?sslmode=allow")},
		{config: postgres.URL("postgres://u:secret@h:port/d"), want: "the port must be a number from 1 to 65535"},
		{
			config: postgres.Config{URL: "postgres://h/d", SchemaName: "$user"},
			want:   `the schema name "$user" stands for the name of the role in search paths; choose another`,
		},
		{config: postgres.Config{}, want: "no URL, pool or *sql.DB is given; set one of them"},
		{
			"PGPORT", "secret", postgres.URL("postgres://u@h/d"),
			"the port must be a number from 1 to 65535; it is set in the environment (PGPORT, PGSSLMODE, …)",
		},
		{
			"PGSSLMODE", "secret", postgres.URL("host=h"),
			"sslmode must be disable, allow, prefer, require, verify-ca or verify-full; it is set in the environment (PGPORT, PGSSLMODE, …)",
		},
		{"PGPORT", "secret", postgres.URL("host=h port=1"), ""},
		{
			"PGPORT", "secret", postgres.URL("host=h port=1 sslmode=secret"),
			"sslmode must be disable, allow, prefer, require, verify-ca or verify-full",
		},
	} {
		t.Run("", func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			err := c.config.Validate()
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if want := "holdfast: invalid request: " + c.want; !errors.Is(err, store.ErrInvalid) || err.Error() != want {
				t.Errorf("it says\n     %v\nnot  %s", err, c.want)
			}
		})
	}
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// hintOf is what "dev" says to try, on a database given by a flag or by the environment.
func hintOf(t *testing.T, program, flag, env string, args ...string) string {
	t.Helper()
	var text strings.Builder
	s := newShell(t)
	if env != "" {
		s.env[envDatabase] = env
	}
	a := &app{
		env: s.environment(nil, io.Discard, &text), database: cmp.Or(flag, env, defaultDatabase), byFlag: flag != "",
		namespace: defaultNamespace,
	}
	a.env.Program = program
	if len(args) > 0 {
		a.namespace = args[0]
	}
	name := "sqlite:a.db"
	if strings.Contains(a.database, "://") || strings.Contains(a.database, "host=") {
		name = "postgres://h/app"
	}
	a.hint(name, &serveFlags{allowExec: true})
	return text.String()
}

// TestHintsReachTheDatabase, whatever is set in the other terminal, and never with the password.
func TestHintsReachTheDatabase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		program, flag, env string
		want               []string
		not                []string
	}{
		"nothing given": {
			want: []string{"another terminal, in this directory:", "\n  holdfast job list\n", "\n  holdfast node list\n"},
			not:  []string{"--database", "export"},
		},
		"a file": {
			flag: "/tmp/x y.db", want: []string{"another terminal:", "\n  holdfast job list --database '/tmp/x y.db'\n"}, not: []string{"export"},
		},
		"a relative file": {
			program: "/bin/holdfast", flag: "sqlite:x.db",
			want: []string{"terminal, in this directory:", "\n  /bin/holdfast job list --database sqlite:x.db\n"},
		},
		"a file in the environment": {
			env: "/tmp/x.db", want: []string{"another terminal:\n\n  export HOLDFAST_DATABASE=/tmp/x.db\n  holdfast job", "\n  holdfast job list\n"},
			not: []string{"--database"},
		},
		"a flag beside the environment": {
			flag: "/tmp/x.db", env: "/tmp/y.db", want: []string{"holdfast job list --database /tmp/x.db\n"}, not: []string{"y.db"},
		},
		"the usual file beside the environment": {
			flag: defaultDatabase, env: "/tmp/y.db", want: []string{"holdfast job list --database holdfast.db\n"}, not: []string{"y.db"},
		},
		"run in its directory": {
			program: "go run example.com/holdfast/cmd/holdfast", flag: "/tmp/x.db",
			want: []string{"in this directory:", "\n  go run example.com/holdfast/cmd/holdfast queue list"},
		},
		"a server without a password": {
			flag: "postgres://h/app", want: []string{"another terminal:", "holdfast job list --database postgres://h/app\n"},
		},
		"a password": {
			flag: "postgres://u:hunter2@h:5432/app?sslmode=disable",
			want: []string{
				"with the password in place of PASSWORD:", "\n  holdfast job list\n",
				"\n\n  export HOLDFAST_DATABASE='postgres://u:PASSWORD@h:5432/app?sslmode=disable'\n",
			},
			not: []string{"--database"},
		},
		"keywords": {
			flag: `host=h dbname=app password='it\'s hunter2' user=u`,
			want: []string{"another terminal, with the password", "='host=h dbname=app password=PASSWORD user=u'"},
			not:  []string{"directory", "--database"},
		},
		"keywords without a password": {
			flag: "host=h dbname=app", want: []string{"another terminal:", "holdfast job list --database 'host=h dbname=app'\n"},
		},
		"a password in the environment": {
			env:  "postgres://u:hunter2@h/app",
			want: []string{"another terminal, where HOLDFAST_DATABASE is set as it is here:", "\n  holdfast job list\n"},
			not:  []string{"--database", "export"},
		},
		"run from source": {
			program: "go run ./cmd/holdfast", flag: "/tmp/x.db",
			want: []string{"in this directory:", "\n  go run ./cmd/holdfast queue list --database"},
		},
		"run from a module": {
			program: "go run example.com/holdfast@v1.2.3", flag: "/tmp/x.db",
			want: []string{"terminal:", "\n  go run example.com/holdfast@v1.2.3 queue list"},
		},
		"a relative program": {program: "bin/holdfast", flag: "/tmp/x.db", want: []string{"in this directory:", "\n  bin/holdfast queue list"}},
	} {
		got := hintOf(t, test.program, test.flag, test.env)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in %s", name, want, got)
			}
		}
		for _, not := range append(test.not, "hunter2", `"$`) {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q is in %s", name, not, got)
			}
		}
	}
}

func TestHintsOfANamespace(t *testing.T) {
	t.Parallel()
	got := hintOf(t, "", "/tmp/x.db", "", "it's mine")
	for _, want := range []string{
		`holdfast queue list --database /tmp/x.db --namespace 'it'\''s mine'` + "\n", "holdfast node list --database /tmp/x.db\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

// TestHintsBesideTheEnvironment: a namespace is named that the environment would name otherwise.
func TestHintsBesideTheEnvironment(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	s := newShell(t)
	s.env[envNamespace] = "other"
	a := &app{env: s.environment(nil, io.Discard, &text), database: "/tmp/x.db", byFlag: true, namespace: defaultNamespace}
	a.hint("sqlite:x.db", &serveFlags{})
	if want := "queue list --database /tmp/x.db --namespace default\n"; !strings.Contains(text.String(), want) {
		t.Errorf("%q is not in %s", want, text.String())
	}
}

func TestPasswordsAreFound(t *testing.T) {
	t.Parallel()
	for named, want := range map[string]string{
		"x.db": "", "postgres://h/db": "", "postgres://u@h:1/db": "", "postgres://h:5432/db": "",
		"postgres://u:p@h/db":                       "postgres://u:PASSWORD@h/db",
		"postgres://u:p@ss@h/db?x=a@b":              "postgres://u:PASSWORD@h/db?x=a@b",
		"postgres://u:a/b@h/db":                     "postgres://u:PASSWORD@h/db",
		"postgres://u:PASSWORD@h/db":                "postgres://u:PASSWORD@h/db",
		"postgres://h/db?user=u&password=p&a=1":     "postgres://h/db?user=u&password=PASSWORD&a=1",
		"postgres://u:p@h/db?sslpassword=secret":    "postgres://u:PASSWORD@h/db?sslpassword=PASSWORD",
		"host=h password = hunter2 user=u":          "host=h password = PASSWORD user=u",
		"password='a b' host=h":                     "password=PASSWORD host=h",
		"host=h sslpassword=x":                      "host=h sslpassword=PASSWORD",
		"sqlite:///a:b@c":                           "sqlite:///a:PASSWORD@c",
		"postgresql://u:@h/db":                      "postgresql://u:PASSWORD@h/db",
		"postgres://us%3Aer:p%40q@h:1,h2:2/db?a=b":  "postgres://us%3Aer:PASSWORD@h:1,h2:2/db?a=b",
		"postgres://u:p@[::1]:5432/db?passfile=/pw": "postgres://u:PASSWORD@[::1]:5432/db?passfile=/pw",
	} {
		if holds := want != ""; holdsPassword(named) != holds {
			t.Errorf("%s: %t", named, !holds)
		} else if got := withoutPassword(named); holds && got != want {
			t.Errorf("%s becomes %s, not %s", named, got, want)
		}
	}
}

// TestProgramIsCalledAgain as it was called, and by less where that is enough.
func TestProgramIsCalledAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	installed := filepath.Join(dir, "holdfast")
	if err := os.WriteFile(installed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "holdfast")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inPath := func(string) (string, error) { return installed, nil }
	nowhere := func(string) (string, error) { return "", errors.New("it is not in the path") }
	hash := strings.Repeat("0123456789abcdef", 4)
	run := goRun + packageOf()
	for _, test := range []struct {
		called string
		look   func(string) (string, error)
		want   string
	}{
		{"holdfast", inPath, "holdfast"},
		{installed, inPath, "holdfast"},
		{installed, nowhere, installed},
		{other, inPath, other},
		{"./holdfast", nowhere, "./holdfast"},
		{"/with space/holdfast", nowhere, "'/with space/holdfast'"},
		{"/tmp/go-build808313448/b001/exe/holdfast", nowhere, run},
		{"/home/me/.cache/go-build/3c/" + hash + "-d/holdfast", nowhere, run},
		{"/elsewhere/3c/" + hash + "-d/holdfast", nowhere, run},
	} {
		if got := programOf(test.called, test.look); got != test.want {
			t.Errorf("%s is called %s, not %s", test.called, got, test.want)
		}
	}
}

// TestDevThatCannotJoin says so in one line, which names the database, and gives no hints before.
func TestDevThatCannotJoin(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	role := "reader_" + randomName()
	execute := func(address string, statements ...string) {
		t.Helper()
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				t.Error(err)
			}
		}
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { execute(server.URL(""), "DROP ROLE IF EXISTS "+role) })
	s := newShell(t)
	s.env[envDatabase] = server.Database(t) // dropped before the role, as cleanups go
	s.ok("migrate", "up")
	execute(s.env[envDatabase], "CREATE ROLE "+role+" LOGIN PASSWORD 'hunter2'", "GRANT USAGE ON SCHEMA holdfast TO "+role,
		"GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO "+role)
	u, err := url.Parse(s.env[envDatabase])
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "hunter2")
	s.env[envDatabase] = u.String()
	for _, verb := range []string{"dev", "worker"} {
		got := s.run(verb)
		s.expect(got, 1, "cannot start a node on postgres://", "permission denied")
		if strings.Contains(got.stderr, "hunter2") || strings.Contains(got.stderr, "Try") {
			t.Errorf("%s", got.stderr)
		}
	}
}

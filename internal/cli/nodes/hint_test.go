package nodes

import (
	"cmp"
	"io"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// inEnvironment returns the verbs with environment variables.
func inEnvironment(stderr io.Writer, set map[string]string) verbs {
	return verbs{app.New(app.Env{
		Stdout: io.Discard, Stderr: stderr, Terminal: func(any) bool { return false },
		LookupEnv: func(name string) (string, bool) {
			value, is := set[name]
			return value, is
		},
	})}
}

// hintOf returns the hints of "dev" for a database given by a flag or by the environment.
func hintOf(t *testing.T, program, flag, env string, args ...string) string {
	t.Helper()
	var text strings.Builder
	set := map[string]string{}
	if env != "" {
		set[app.EnvDatabase] = env
	}
	a := inEnvironment(&text, set)
	a.Database, a.ByFlag, a.Namespace = cmp.Or(flag, env, app.DefaultDatabase), flag != "", app.DefaultNamespace
	a.Env.Program = program
	if len(args) > 0 {
		a.Namespace = args[0]
	}
	name := "sqlite:a.db"
	if strings.Contains(a.Database, "://") || strings.Contains(a.Database, "host=") {
		name = "postgres://h/app"
	}
	a.hint(name, &settings{allowExec: true})
	return text.String()
}

// TestHintsReachTheDatabase: whatever is set in the other terminal, and never with the password.
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
			flag: app.DefaultDatabase, env: "/tmp/y.db", want: []string{"holdfast job list --database holdfast.db\n"}, not: []string{"y.db"},
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

// TestHintsOfQueues: the jobs to try are for a queue that the node serves.
func TestHintsOfQueues(t *testing.T) {
	t.Parallel()
	for want, queues := range map[string][]string{
		"' --wait\n":                      nil,
		"' --queue mail --wait\n":         {"mail=10,reports"},
		"' --queue 'my mail' --wait\n":    {" my mail=2", "reports"},
		`"echo","hello"]}' --wait` + "\n": {"mail=3", "reports, default=1"},
	} {
		var text strings.Builder
		a := inEnvironment(&text, nil)
		a.Database, a.Namespace = app.DefaultDatabase, app.DefaultNamespace
		a.hint("sqlite:holdfast.db", &settings{allowExec: true, queues: queues})
		if !strings.Contains(text.String(), want) || !strings.Contains(text.String(), strings.Replace(want, " --wait", " --in 10s", 1)) {
			t.Errorf("%v: %q is not in %s", queues, want, text.String())
		}
	}
}

// TestHintsBesideTheEnvironment: a namespace is named if the environment may name another.
func TestHintsBesideTheEnvironment(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	set := map[string]string{app.EnvNamespace: "other"}
	a := inEnvironment(&text, set)
	a.Database, a.ByFlag, a.Namespace = "/tmp/x.db", true, app.DefaultNamespace
	a.hint("sqlite:x.db", &settings{})
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

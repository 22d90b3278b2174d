package redact_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/joblog"
	"github.com/holdfastdev/holdfast/redact"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestWith: what a handler logs is hidden in the log of the process and in the lines that are kept,
// and its args are as they were enqueued.
func TestWith(t *testing.T) {
	var out bytes.Buffer
	hf, err := holdfast.Open(t.Context(), sqlite.File(filepath.Join(t.TempDir(), "jobs.db")),
		holdfast.WithLogger(slog.New(slog.NewTextHandler(&out, nil))), redact.With(redact.Default()))
	if err != nil {
		t.Fatal(err)
	}
	type login struct {
		Password string `json:"password"`
	}
	kind := holdfast.NewKind[login, string]("login")
	err = kind.Handle(hf, func(run *holdfast.Run, in login) (string, error) {
		run.Logger(nil).Info("logging in", "args", in, "password", in.Password, "user", "ada")
		run.Logger(slog.New(slog.NewTextHandler(&out, nil))).With("token", in.Password).Info("logged in")
		return in.Password, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := hf.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	job, err := kind.Enqueue(t.Context(), hf, login{"hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := job.Wait(t.Context()); err != nil || got != "hunter2" {
		t.Errorf("the handler got %q, %v", got, err)
	}
	page, err := joblog.Read(t.Context(), hf, job.ID, joblog.Query{})
	if err != nil || len(page.Lines) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	if attrs := string(page.Lines[0].Attrs); attrs != `{"args":{"password":"[redacted]"},"password":"[redacted]","user":"ada"}` {
		t.Errorf("kept: %s", attrs)
	}
	if err := hf.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if text := out.String(); strings.Contains(text, "hunter2") || strings.Count(text, redact.Hidden) < 3 || !strings.Contains(text,
		"user=ada") {
		t.Errorf("the log: %s", text)
	}
}

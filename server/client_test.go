package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// served is a handler on a database of its own.
func served(t *testing.T, o server.Options) http.Handler {
	t.Helper()
	source := sqlite.File(filepath.Join(t.TempDir(), "jobs.db"))
	client, err := holdfast.Open(t.Context(), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	handler, err := server.Handler(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

package main

import (
	"context"
	"database/sql"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestNoUserWithoutAMail: each user who was stored has one job, and who was refused has none.
func TestNoUserWithoutAMail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "signup.db")
	hf, err := holdfast.Open(t.Context(), sqlite.File(file))
	if err != nil {
		t.Fatal(err)
	}
	defer hf.Close(context.Background())
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE users (email TEXT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	handler := signUp(hf, db)
	for _, request := range []struct {
		email string
		want  int
	}{
		{"ada@example.org", http.StatusOK},
		{"bob@example.org", http.StatusOK},
		{"ada@example.org", http.StatusConflict},
	} {
		answer := httptest.NewRecorder()
		handler(answer, httptest.NewRequest(http.MethodPost, "/users?email="+request.email, nil))
		if answer.Code != request.want {
			t.Errorf("%s: %d %s, want %d", request.email, answer.Code, answer.Body, request.want)
		}
	}
	page, err := hf.List(t.Context(), store.Filter{Kinds: []string{Welcome.Name()}}, "", 10)
	if err != nil || len(page.Jobs) != 2 {
		t.Errorf("%d jobs (%v), want one for each of two users", len(page.Jobs), err)
	}
}

// TestItStopsInOrder when it is told to.
func TestItStopsInOrder(t *testing.T) {
	log.SetOutput(io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := run(ctx, filepath.Join(t.TempDir(), "signup.db"), "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
}

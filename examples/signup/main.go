// Command signup is a web handler that stores a user and enqueues a welcome mail in one
// transaction: there is no user without a mail, and no mail to a user who was rolled back.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver of the handler's own transactions

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Welcome sends a mail to an address.
var Welcome = holdfast.NewKind[string, struct{}]("mail.welcome")

// signUp answers POST /users?email=…
func signUp(hf *holdfast.Client, db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tx, err := db.BeginTx(r.Context(), nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
		email := r.FormValue("email")
		if _, err := tx.Exec("INSERT INTO users (email) VALUES (?)", email); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		job, err := Welcome.EnqueueTx(r.Context(), hf, sqlite.Tx(tx), email)
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "welcome, %s: your mail is job %s\n", email, job.ID)
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "signup.db", "127.0.0.1:8080"); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends. Then it stops in this order: requests, which enqueue jobs; jobs, which
// use the database; and the database.
func run(ctx context.Context, file, address string) error {
	hf, err := holdfast.Open(ctx, sqlite.File(file))
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err == nil {
		_, err = db.Exec("CREATE TABLE IF NOT EXISTS users (email TEXT PRIMARY KEY)")
	}
	if err != nil {
		return err
	}
	err = Welcome.Handle(hf, func(_ *holdfast.Run, email string) (struct{}, error) {
		log.Println("mail to", email)
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	working := make(chan error, 1)
	go func() { working <- hf.Run(context.WithoutCancel(ctx)) }()

	mux := http.NewServeMux()
	mux.Handle("POST /users", signUp(hf, db))
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute}
	serving := make(chan error, 1)
	go func() { serving <- server.ListenAndServe() }()
	log.Println("try: curl -X POST 'http://" + address + "/users?email=ada@example.org'")
	select {
	case err := <-serving:
		return err
	case <-ctx.Done():
	}
	rest := context.WithoutCancel(ctx)
	return errors.Join(server.Shutdown(rest), hf.Stop(rest), <-working, db.Close(), hf.Close(rest))
}

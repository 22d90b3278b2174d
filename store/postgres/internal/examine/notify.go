package examine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// patience is how long a notification is waited for.
	patience = 3 * time.Second
	// slowNews is how long one should take at the most.
	slowNews = 100 * time.Millisecond
)

// notifications tells whether a notification arrives, and how fast. Behind a pooler that lends a
// connection for one transaction none does.
func notifications(ctx context.Context, db *pg.DB) ([]store.Finding, error) {
	f := store.Finding{Check: "notifications"}
	channel := "holdfast_doctor_" + uuid.NewString()
	conn, err := db.Beside(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing depends on it
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := db.Send(ctx, pg.Statement{Name: "examine_notify", Args: []any{channel}}); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = conn.WaitForNotification(waiting)
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) || waiting.Err() != nil:
		f.Severity = store.Warning
		f.Text = fmt.Sprintf("none has arrived within %v, as behind a pooler in transaction mode; "+
			"nodes look for jobs every second or so instead", patience)
		f.Do = "give nodes an address that leads to the server itself, or a pool in session mode"
	case err != nil:
		return nil, err
	case took > slowNews:
		f.Severity, f.Text = store.Warning, fmt.Sprintf("one took %v from commit to arrival", took.Round(time.Millisecond))
		f.Do = "look at the load of the server, and at transactions that notify much and are long in committing: " +
			"notifications wait for one another"
	default:
		f.Text = fmt.Sprintf("one took %v from commit to arrival", took.Round(10*time.Microsecond))
	}
	return []store.Finding{f}, nil
}

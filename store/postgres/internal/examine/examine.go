package examine

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Server looks at the server of a database.
func Server(ctx context.Context, db *pg.DB) ([]store.Finding, error) {
	var all []store.Finding
	for _, look := range []func(context.Context, *pg.DB) ([]store.Finding, error){server, rights, horizon, tables, notifications} {
		found, err := look(ctx, db)
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// unseen is the finding for what the role may not look at; any other error stays one.
func unseen(check string, err error) (store.Finding, error) {
	if pg.CodeOf(err) != pg.CodeDenied {
		return store.Finding{}, err
	}
	return store.Finding{
		Check: check, Severity: store.Note, Text: "the role may not look: " + err.Error(),
		Do: "look as a role that is a member of pg_monitor",
	}, nil
}

// rounded is a duration for people.
func rounded(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	if d > time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// inBytes is a size for people.
func inBytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d kB", n/1000)
}

package examine

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// fewLeft is from which share of its connections on a server has few left.
const fewLeft = 0.8

// settings are those of a server.
type settings struct {
	standby, fsync, fullPages, vacuums bool
	commit                             string
	connections, used                  int

	waits    bool // commits wait for a standby, if synchronous_commit lets them
	standbys int
}

// server looks at the server's version and settings.
func server(ctx context.Context, db *pg.DB) ([]store.Finding, error) {
	var version string
	err := db.Conns.With(ctx, func(conn *pgx.Conn) error {
		version, _, _ = strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
		return nil
	})
	if err != nil {
		return nil, err
	}
	var s settings
	err = db.Send(ctx, pg.Statement{Name: "examine_server", Each: func(r pg.Row) error {
		return r.Scan(&s.standby, &s.fsync, &s.fullPages, &s.commit, &s.vacuums, &s.connections, &s.used, &s.waits, &s.standbys)
	}})
	if err != nil {
		return nil, err
	}
	f := store.Finding{Check: "server", Text: "PostgreSQL " + version}
	if s.standby {
		f.Severity, f.Text = store.Problem, f.Text+", a standby: nothing can be written"
		f.Do = "give the address of the primary, or target_session_attrs=read-write with all addresses"
	}
	return []store.Finding{f, s.durability(), s.replication(), s.vacuum(), s.room()}, nil
}

// durability tells what a commit survives.
func (s *settings) durability() store.Finding {
	f := store.Finding{Check: "durability", Text: "every commit is on the disk before it is acknowledged"}
	switch {
	case !s.fsync:
		f.Severity, f.Text = store.Problem, "fsync is off: if the machine stops, jobs are lost and the database may be damaged"
		f.Do = "set fsync = on and reload the server"
	case !s.fullPages:
		f.Severity, f.Text = store.Problem, "full_page_writes is off: if the machine stops, the database may be damaged"
		f.Do = "set full_page_writes = on and reload the server, unless the file system writes pages whole"
	case s.commit == "off":
		f.Severity, f.Text = store.Problem, "synchronous_commit is off for this role or database: if the server stops, the last commits are lost"
		f.Do = "set synchronous_commit = on for the role that Holdfast uses"
	}
	return f
}

// replication tells what a commit that was acknowledged survives if a standby takes over.
func (s *settings) replication() store.Finding {
	f := store.Finding{Check: "standbys", Text: "there is none"}
	local := s.commit == "off" || s.commit == "local"
	switch {
	case s.waits && s.standbys == 0 && !local:
		f.Severity, f.Text = store.Problem, "synchronous_standby_names is set, and no standby follows: commits wait for one"
		f.Do = "start the standby, or set synchronous_standby_names = ''"
	case s.standbys == 0:
	case !s.waits:
		f.Severity = store.Warning
		f.Text = fmt.Sprintf("%d, none of them synchronous: if one takes over, what was confirmed last is lost", s.standbys)
		f.Do = "set synchronous_standby_names; docs/databases.md says what is lost without it"
	case local:
		f.Severity = store.Warning
		f.Text = fmt.Sprintf("%d, and synchronous_commit is %s for this role: commits do not wait for them", s.standbys, s.commit)
		f.Do = "set synchronous_commit = on for the role that Holdfast uses"
	default:
		f.Text = fmt.Sprintf("%d, and commits wait as synchronous_standby_names says", s.standbys)
	}
	return f
}

func (s *settings) vacuum() store.Finding {
	f := store.Finding{Check: "autovacuum", Text: "it is on"}
	if !s.vacuums {
		f.Severity, f.Text = store.Problem, "it is off, or track_counts is: dead rows stay, and every claim becomes slower"
		f.Do = "set autovacuum = on and track_counts = on"
	}
	return f
}

func (s *settings) room() store.Finding {
	f := store.Finding{Check: "connections", Text: fmt.Sprintf("%d of %d are used", s.used, s.connections)}
	if float64(s.used) >= fewLeft*float64(s.connections) {
		f.Severity = store.Warning
		f.Do = "raise max_connections, lower the pools of the programs, or put a pooler in front"
	}
	return f
}

// rights tells which the role lacks that nodes need.
func rights(ctx context.Context, db *pg.DB) ([]store.Finding, error) {
	f := store.Finding{Check: "rights", Text: "the role has all that a node needs"}
	var lacks []string
	err := db.Send(ctx, pg.Statement{Name: "examine_rights", Args: []any{db.SchemaName}, Each: func(r pg.Row) error {
		var one string
		err := r.Scan(&one)
		lacks = append(lacks, one)
		return err
	}})
	if err != nil {
		return nil, err
	}
	if n := len(lacks); n > 0 {
		const most = 3
		f.Severity, f.Text = store.Warning, "the role lacks "+strings.Join(lacks[:min(n, most)], ", ")
		if n > most {
			f.Text += fmt.Sprintf(", and %d more", n-most)
		}
		f.Do = "GRANT what is missing, unless the role is only to enqueue: docs/databases.md says what each use needs"
	}
	return []store.Finding{f}, nil
}

package postgres_test

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store/postgres"
)

// keeper makes a schema as good as new, again and again, over a connection of its own, which has
// planned what it asks. It reads no catalog as a whole: there are many schemas, and most tables and
// days of one have not been used.
type keeper struct {
	conn   *pgx.Conn
	schema string

	names                  string // of all that was there when it was new
	ids, tables, sequences []uint32
}

func newKeeper(ctx context.Context, config postgres.Config) (*keeper, error) {
	conn, err := pgx.Connect(ctx, config.URL)
	if err != nil {
		return nil, err
	}
	k := &keeper{conn: conn, schema: config.SchemaName}
	for _, setting := range []string{"jit = off", "enable_hashjoin = off", "enable_mergejoin = off"} {
		if _, err = conn.Exec(ctx, "SET "+setting); err != nil {
			return nil, errors.Join(err, k.close())
		}
	}
	relations, err := k.relations(ctx)
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	k.names = names(relations)
	for _, r := range relations {
		k.ids = append(k.ids, r.ID)
		switch {
		case r.Kind == "r" && r.Name != "migration":
			k.tables = append(k.tables, r.ID)
		case r.Kind == "S":
			k.sequences = append(k.sequences, r.ID)
		}
	}
	return k, nil
}

func (k *keeper) close() error { return k.conn.Close(context.Background()) }

type relation struct {
	ID         uint32
	Name, Kind string
}

// relations are the tables, indexes and sequences of the schema.
func (k *keeper) relations(ctx context.Context) ([]relation, error) {
	rows, err := k.conn.Query(ctx, `WITH members AS MATERIALIZED (
			SELECT objid AS id FROM pg_depend WHERE classid = 'pg_class'::regclass
			AND refclassid = 'pg_namespace'::regclass AND refobjid = $1::text::regnamespace
		), relations AS MATERIALIZED (
			SELECT id FROM members UNION ALL SELECT i.indexrelid FROM members m JOIN pg_index i ON i.indrelid = m.id
		)
		SELECT c.oid, c.relname::text, c.relkind::text FROM relations r JOIN pg_class c ON c.oid = r.id ORDER BY c.oid`, k.schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[relation])
}

func names(relations []relation) string {
	var b strings.Builder
	for _, r := range relations {
		b.WriteString(r.Name + " " + r.Kind + "\n")
	}
	return b.String()
}

// restore empties the schema if it has the relations that it had and nothing is at work in it.
// Connections of the tests that stay open may be idle.
func (k *keeper) restore(ctx context.Context, connected bool) (bool, error) {
	if alone, err := k.alone(ctx, connected); err != nil || !alone {
		return false, err
	}
	if relations, err := k.relations(ctx); err != nil || names(relations) != k.names {
		return false, err
	}
	if err := k.empty(ctx); err != nil {
		return false, err
	}
	return true, nil
}

func (k *keeper) alone(ctx context.Context, connected bool) (alone bool, err error) {
	for range 50 {
		err = k.conn.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'holdfast:' || $1::text AND ($2 IS FALSE OR state <> 'idle'))
			AND NOT EXISTS (SELECT FROM pg_locks WHERE relation = ANY ($3::oid[]) AND pid <> pg_backend_pid())`,
			k.schema, connected, k.ids).Scan(&alone)
		if err != nil || alone {
			return alone, err
		}
		if _, err := k.conn.Exec(ctx, "SELECT pg_sleep(0.005)"); err != nil {
			return false, err
		}
	}
	return false, nil
}

// empty deletes what is in the tables, and lets numbers begin again.
func (k *keeper) empty(ctx context.Context) error {
	rows, err := k.conn.Query(ctx, `SELECT id::regclass::text AS name FROM unnest($1::oid[]) AS t (id)
		WHERE pg_relation_size(id) > 0 ORDER BY t.id DESC`, k.tables) // what was made later may refer to what was there
	if err != nil {
		return err
	}
	used, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, table := range used {
		rest := ""
		if table == k.schema+".meta" {
			rest = " WHERE name <> 'database_id'"
		}
		batch.Queue("DELETE FROM " + table + rest)
	}
	batch.Queue(`SELECT setval(id::regclass, 1, false) FROM unnest($1::oid[]) AS t (id)
		WHERE pg_sequence_last_value(id) IS NOT NULL`, k.sequences)
	return k.conn.SendBatch(ctx, batch).Close()
}

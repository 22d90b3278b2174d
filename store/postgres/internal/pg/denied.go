package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// denied says of an error, if it is that the role may not do something, what it lacks and what
// would give it that: PostgreSQL names the table, and in the server's language. No connection may
// be held.
func (d *DB) denied(ctx context.Context, err error) error {
	if CodeOf(err) != CodeDenied {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	remedy, lookErr := d.lacks(ctx)
	if lookErr != nil { // the first error is the one to tell
		return err
	}
	return fmt.Errorf("%w: %w: %s", store.ErrPermission, err, remedy)
}

// lacks looks up what the role lacks.
func (d *DB) lacks(ctx context.Context) (string, error) {
	var (
		role, database, owner string
		usage                 bool
		rights, tables        []string
	)
	schema := d.SchemaName
	quoted := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	err := d.Conns.With(ctx, func(conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, `SELECT current_user::text, current_database()::text`, pgx.QueryExecModeExec).Scan(&role, &database)
		if err != nil {
			return err
		}
		return conn.QueryRow(ctx, `
SELECT pg_get_userbyid(n.nspowner)::text, has_schema_privilege(n.oid, 'USAGE'), coalesce(l.rights, '{}'), coalesce(l.tables, '{}')
FROM pg_namespace n CROSS JOIN LATERAL (
  SELECT array_agg(DISTINCT p.right_name) AS rights, array_agg(DISTINCT c.relname::text) AS tables
  FROM pg_class c CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (right_name)
  WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT has_table_privilege(c.oid, p.right_name)
) l WHERE n.nspname = $1`, pgx.QueryExecModeExec, schema).Scan(&owner, &usage, &rights, &tables)
	})
	switch {
	case role != "" && errors.Is(err, pgx.ErrNoRows):
		return fmt.Sprintf("the role %q may not create the schema %q; run migrate up as a role that may, or: GRANT CREATE ON DATABASE %s TO %s",
			role, schema, quoted(database), quoted(role)), nil
	case err != nil:
		return "", err
	case usage && len(tables) == 0:
		return fmt.Sprintf("only the owner of the schema %q, %q, or a member of that role may do this; the role is %q", schema, owner, role), nil
	}
	const all = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "
	var lacks, grants []string
	if !usage {
		lacks = append(lacks, fmt.Sprintf("USAGE on the schema %q", schema))
		grants = append(grants, fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", quoted(schema), quoted(role)))
	}
	if len(tables) > 0 {
		lacks = append(lacks, strings.Join(rights, ", ")+" on "+someOf(tables)+" in the schema "+fmt.Sprintf("%q", schema))
		grants = append(grants, all+quoted(schema)+" TO "+quoted(role))
	}
	return fmt.Sprintf("the role %q lacks %s; as the owner %q, run: %s",
		role, strings.Join(lacks, ", and "), owner, strings.Join(grants, "; ")), nil
}

// someOf names the first of many tables.
func someOf(tables []string) string {
	const most = 3
	if len(tables) <= most+1 {
		return strings.Join(tables, ", ")
	}
	return fmt.Sprintf("%s and %d more tables", strings.Join(tables[:most], ", "), len(tables)-most)
}

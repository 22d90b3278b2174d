package remains

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Builds returns the builds of nodes, of those that are known.
func Builds(t *core.Tx, nodes []int64) (map[int64]store.Build, error) {
	builds := map[int64]store.Build{}
	for _, node := range nodes {
		s := t.Stmt("build_of")
		s.BindInt(node)
		found, err := s.Next()
		if err != nil {
			return nil, err
		}
		if found {
			builds[node] = store.Build{Program: s.ReadText(), Engine: s.ReadText()}
			s.Done()
		}
	}
	return builds, nil
}

// NodeBuilds returns them as copies take them.
func NodeBuilds(t *core.Tx, nodes []int64) (list []store.NodeBuild, err error) {
	builds, err := Builds(t, nodes)
	for _, node := range nodes {
		if b, known := builds[node]; known {
			list = append(list, store.NodeBuild{Node: node, Build: b})
		}
	}
	return list, err
}

// KeepBuild keeps the build of a node that has ended, before its row is removed.
func KeepBuild(t *core.Tx, node int64) error {
	s := t.Stmt("build_keep")
	s.BindInt(node)
	return db.Exec(s)
}

// ImportBuilds puts builds of nodes of another database, as of nodes that ended now.
func ImportBuilds(t *core.Tx, builds []store.NodeBuild) error {
	for _, b := range builds {
		s := t.Stmt("build_put")
		s.BindInt(b.Node)
		s.BindInt(t.Now)
		s.BindText(b.Program)
		s.BindText(b.Engine)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// ClearNodes removes all nodes, which have ended, and their builds, before those of another
// database come.
func ClearNodes(t *core.Tx) error {
	if err := db.Exec(t.Stmt("nodes_clear")); err != nil {
		return err
	}
	return db.Exec(t.Stmt("builds_clear"))
}

// ForgetBuilds removes up to limit builds of nodes that ended longer ago than keep, and tells
// whether there are more.
func ForgetBuilds(ctx context.Context, d *core.Database, keep time.Duration, limit int) (removed int, more bool, err error) {
	return forget(ctx, d, "builds_old", "builds_forget", keep, limit)
}

// forget removes what is older than keep, of which the statement old tells whether there is any.
func forget(ctx context.Context, d *core.Database, old, remove string, keep time.Duration, limit int) (removed int, more bool, err error) {
	err = d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			s := t.Stmt(old)
			s.BindInt(t.Now - keep.Microseconds())
			removed = 0
			more, err = db.Exists(s)
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			s := t.Stmt(remove)
			s.BindInt(t.Now - keep.Microseconds())
			s.BindInt(int64(limit))
			n, err := s.Exec()
			removed, more = int(n), int(n) == limit
			return err
		})
	return removed, more, err
}

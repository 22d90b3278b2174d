package remains

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Builds is a statement that reads the builds of nodes, of those that are known. A node may be
// told of twice, in the same words.
func Builds(nodes []int64, each func(store.NodeBuild)) pg.Statement {
	return pg.Statement{Name: "builds_of", Args: []any{nodes}, Each: func(r pg.Row) error {
		var b store.NodeBuild
		err := r.Scan(&b.Node, &b.Program, &b.Engine)
		each(b)
		return err
	}}
}

// Import puts builds of nodes of another database, as of nodes that ended now.
func Import(ctx context.Context, t pg.Runner, builds []store.NodeBuild, now int64) error {
	if len(builds) == 0 {
		return nil
	}
	var nodes []int64
	var programs, engines []string
	for _, b := range builds {
		nodes, programs, engines = append(nodes, b.Node), append(programs, b.Program), append(engines, b.Engine)
	}
	return t.Run(ctx, "builds_put", nil, nodes, programs, engines, now)
}

// ClearNodes removes all nodes, which have ended, and their builds, before those of another
// database come.
func ClearNodes(ctx context.Context, t pg.Runner) error {
	if err := t.Run(ctx, "nodes_clear", nil); err != nil {
		return err
	}
	return t.Run(ctx, "builds_clear", nil)
}

// ForgetBuilds removes up to limit builds of nodes that ended longer ago than keep.
func ForgetBuilds(now time.Time, keep time.Duration, limit int) pg.Statement {
	return pg.Statement{Name: "builds_forget", Args: []any{now.Add(-keep).UnixMicro(), int32(limit)}}
}

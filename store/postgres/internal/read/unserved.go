package read

import (
	"context"
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Busy is that of store.Claims, without the class of its error.
func (s *Store) Busy(ctx context.Context, namespace string) (queues []store.BusyQueue, err error) {
	return queues, s.Read(ctx, pg.Statement{Name: "queues_busy", Args: []any{namespace, s.Micros()}, Each: func(r pg.Row) error {
		var q store.BusyQueue
		err := r.Scan(&q.Name, &q.Kind)
		queues = append(queues, q)
		return err
	}})
}

// Unserved is that of store.Queues, without the class of its error.
func (s *Store) Unserved(ctx context.Context, limit int) ([]store.Unserved, error) {
	kinds, namespaces, queues := []string{}, []string{}, []string{}
	said := map[queueOfKind]bool{} // nodes are mostly alike
	serve := func(namespace, queue, kind string) {
		if key := (queueOfKind{local.QueueName{Namespace: namespace, Name: queue}, kind}); !said[key] {
			said[key] = true
			kinds, namespaces, queues = append(kinds, kind), append(namespaces, namespace), append(queues, queue)
		}
	}
	err := s.Read(ctx, pg.Statement{Name: "node_infos_alive", Each: func(r pg.Row) error {
		var text []byte
		if err := r.Scan(&text); err != nil {
			return err
		}
		info := NodeInfoOf(text)
		if len(info.Queues) == 0 {
			info.Queues = []string{""}
		}
		for _, kind := range info.Kinds {
			for _, queue := range info.Queues {
				serve(info.Namespace, queue, kind)
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	var found []store.Unserved
	args := []any{kinds, namespaces, queues, int32(limit), s.Micros()}
	err = s.Read(ctx, pg.Statement{Name: "unserved", Args: args, Each: func(r pg.Row) error {
		var u store.Unserved
		var due int64
		err := r.Scan(&u.Namespace, &u.Queue, &u.Kind, &due, &u.Known)
		u.Kind, u.Version, _ = strings.Cut(u.Kind, "@")
		u.OldestDue = pg.TimeOf(due)
		found = append(found, u)
		return err
	}})
	return found, err
}

// queueOfKind is a kind in a queue; an empty namespace and an empty queue stand for any.
type queueOfKind struct {
	local.QueueName
	kind string
}

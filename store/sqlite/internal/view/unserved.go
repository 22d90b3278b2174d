package view

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Unserved implements store.Queues. It walks from lane to lane, as a claim does.
func (v Verbs) Unserved(ctx context.Context, limit int) ([]store.Unserved, error) {
	var found []store.Unserved
	err := v.d.Read(ctx, "look for unserved jobs", func(t *core.Tx) (err error) {
		found, err = unserved(t)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b store.Unserved) int {
		return cmp.Or(a.OldestDue.Compare(b.OldestDue), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	return found[:min(limit, len(found))], nil
}

func unserved(t *core.Tx) ([]store.Unserved, error) {
	nodes, err := livingInfos(t)
	if err != nil {
		return nil, err
	}
	paused, err := t.PausedQueues()
	if err != nil {
		return nil, err
	}
	var found []store.Unserved
	place := map[core.LaneName]int{} // without their priorities
	s := t.Stmt("next_head")
	for after := int64(math.MinInt64); ; {
		s.BindInt(after)
		more, err := s.Next()
		if err != nil || !more {
			return found, err
		}
		after = s.ReadInt()
		due := db.ReadTime(s)
		s.Done()
		l, err := t.LaneOf(after)
		if err != nil {
			return nil, err
		}
		claims := func(n store.NodeInfo) bool { return n.Claims(l.Namespace, l.QueueName, l.Claims) }
		if slices.Contains(paused, l.Queue) || slices.ContainsFunc(nodes, claims) {
			continue
		}
		name := l.LaneName
		name.Priority, name.Kind = 0, l.Claims
		i, known := place[name]
		if !known {
			i = len(found)
			place[name] = i
			has := func(n store.NodeInfo) bool { return n.Has(l.Namespace, l.Claims) }
			found = append(found, store.Unserved{
				Namespace: l.Namespace, Queue: l.QueueName, Kind: l.Base, Version: l.Version, Known: slices.ContainsFunc(nodes, has), OldestDue: due,
			})
		}
		if due.Before(found[i].OldestDue) {
			found[i].OldestDue = due
		}
	}
}

// livingInfos is what the living nodes told of themselves, as far as it can be read: a later
// program may say it otherwise.
func livingInfos(t *core.Tx) ([]store.NodeInfo, error) {
	var infos []store.NodeInfo
	s := t.Stmt("node_infos_alive")
	return infos, db.Each(s, func() error {
		var info core.StoredInfo
		_ = json.Unmarshal(s.ReadBlob(), &info) // it goes on behind a value that does not fit
		infos = append(infos, store.NodeInfo(info))
		return nil
	})
}

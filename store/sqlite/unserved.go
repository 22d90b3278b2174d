package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Unserved implements store.Reader. It walks from lane to lane, as a claim does.
func (v viewVerbs) Unserved(ctx context.Context, limit int) ([]store.Unserved, error) {
	var found []store.Unserved
	err := v.d.read(ctx, "look for unserved jobs", func(t *tx) (err error) {
		found, err = t.unserved()
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

func (t *tx) unserved() ([]store.Unserved, error) {
	nodes, err := t.livingInfos()
	if err != nil {
		return nil, err
	}
	paused, err := t.pausedQueues()
	if err != nil {
		return nil, err
	}
	var found []store.Unserved
	place := map[laneName]int{} // without their priorities
	s := t.stmt("next_head")
	for after := int64(math.MinInt64); ; {
		s.bindInt(after)
		more, err := s.next()
		if err != nil || !more {
			return found, err
		}
		after = s.readInt()
		due := readTime(s)
		s.done()
		l, err := t.laneOf(after)
		if err != nil {
			return nil, err
		}
		claims := func(n store.NodeInfo) bool { return n.Claims(l.namespace, l.queueName, l.kind) }
		if slices.Contains(paused, l.queue) || slices.ContainsFunc(nodes, claims) {
			continue
		}
		name := l.laneName
		name.priority = 0
		i, known := place[name]
		if !known {
			i = len(found)
			place[name] = i
			has := func(n store.NodeInfo) bool { return n.Has(l.namespace, l.kind) }
			found = append(found, store.Unserved{
				Namespace: l.namespace, Queue: l.queueName, Kind: l.base, Version: l.version, Known: slices.ContainsFunc(nodes, has), OldestDue: due,
			})
		}
		if due.Before(found[i].OldestDue) {
			found[i].OldestDue = due
		}
	}
}

// livingInfos is what the living nodes told of themselves, as far as it can be read: a later
// program may say it otherwise.
func (t *tx) livingInfos() ([]store.NodeInfo, error) {
	var infos []store.NodeInfo
	s := t.stmt("node_infos_alive")
	return infos, each(s, func() error {
		var info storedInfo
		_ = json.Unmarshal(s.readBlob(), &info) // it goes on behind a value that does not fit
		infos = append(infos, store.NodeInfo(info))
		return nil
	})
}

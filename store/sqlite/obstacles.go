package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Obstacles implements store.Reader.
func (s *Store) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	var o store.Obstacles
	err := s.read(ctx, "look up what blocks job "+id.String(), func(t *tx) error {
		o = store.Obstacles{}
		b, found, err := t.body(id)
		if err != nil {
			return err
		}
		if !found || namespace != "" && b.Namespace != namespace {
			return store.NoJob(id)
		}
		st := t.stmt("queue_paused")
		st.bindInt(b.lane.queue)
		if found, err = st.next(); err != nil {
			return err
		}
		if found {
			o.QueuePausedAt, o.QueuePausedBy = readOptTime(st), readOptText(st)
			st.done()
		}
		if b.OrderingKey == "" {
			return nil
		}
		holder, held, err := t.keyHolder(keyName{b.lane.queue, b.OrderingKey})
		if held && holder != id {
			o.Turn = holder
		}
		return err
	})
	return o, err
}

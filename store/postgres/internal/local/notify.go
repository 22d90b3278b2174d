package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Notifier sends notifications, each in a statement of its own after the commit that it tells of.
// Its one goroutine runs only while there is something to send.
type Notifier struct {
	store *Store
	ctx   context.Context // ends when the store is closed
	end   context.CancelFunc

	mu      sync.Mutex // guards what follows
	pending map[topic]store.Wake
	late    []Late
	sent    map[topic]time.Time // when a topic was sent last, of the last few milliseconds
	running bool
	done    sync.WaitGroup
}

// topic is what wake-ups are merged by.
type topic struct {
	origin           string
	kind             store.WakeKind
	namespace, queue string
	node             int64
}

// message is a wake-up on the wire. Origin is the store that wrote what it is about, or empty if
// all are to be told.
type message struct {
	Origin    string     `json:"o,omitempty"`
	Probe     string     `json:"p,omitempty"`
	Kind      uint8      `json:"k"`
	Namespace string     `json:"n,omitempty"`
	Queue     string     `json:"q,omitempty"`
	Due       int64      `json:"d,omitempty"`
	Maker     uint16     `json:"m,omitempty"`
	Jobs      []store.ID `json:"j,omitempty"`
	Node      int64      `json:"w,omitempty"`
	Late      []Late     `json:"l,omitempty"`
}

// Late is a place in a lane at which jobs were put that claims may have passed: the lane and the
// run time.
type Late [2]int64

const (
	// notifyEvery is the least time between two notifications of one queue: the first goes out at
	// once, those in between become one at the end of the time. NOTIFY takes a lock that all
	// commits with a NOTIFY share.
	notifyEvery = 5 * time.Millisecond
	// notifyTimeout bounds how long one notification may take. It may be lost.
	notifyTimeout = 2 * time.Second
	// maxPayload is a little less than PostgreSQL takes.
	maxPayload = 7800
	// MaxWakeJobs is how many jobs one notification names, so that it fits.
	MaxWakeJobs = 100
)

const (
	// MaxLates is how many such places one notification tells of.
	MaxLates = 100
	// isLate is from when on a run time that has passed is worth telling of.
	isLate = nearBy / 2
)

// kindLate is the kind of messages that tell of late places and are no wake-ups.
const kindLate = 100

// EncodeWake turns a wake-up into a payload. One that is too long becomes a WakeAll, which is
// always right.
func EncodeWake(w store.Wake, origin string) string {
	m := message{
		Origin: origin, Kind: uint8(w.Kind), Namespace: w.Namespace, Queue: w.Queue, Maker: uint16(w.Maker), Jobs: w.Jobs, Node: w.Node,
	}
	if !w.Due.IsZero() {
		m.Due = w.Due.UnixMicro()
	}
	text, err := json.Marshal(m)
	if err != nil || len(text) > maxPayload || !pg.IsText(string(text)) {
		text, _ = json.Marshal(message{Origin: origin, Kind: uint8(store.WakeAll)}) //nolint:errchkjson // plain fields cannot fail
	}
	return string(text)
}

func (m message) wake() store.Wake {
	w := store.Wake{
		Kind: store.WakeKind(m.Kind), Namespace: m.Namespace, Queue: m.Queue, Maker: store.Maker(m.Maker), Jobs: m.Jobs, Node: m.Node,
	}
	if m.Due != 0 {
		w.Due = pg.TimeOf(m.Due)
	}
	return w
}

// newOrigin makes a name for a store.
func newOrigin() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Origin is what the store calls itself in notifications, whose own it does not hear.
func (s *Store) Origin() string { return s.origin }

// Channel is what the stores of this schema notify each other on.
func (s *Store) Channel() string { return "holdfast:" + s.SchemaName }

// Notify is that of store.Store. Wake-ups of the same queue within 5 ms become one. They are sent
// without session features too, since NOTIFY needs none, and others may listen.
func (s *Store) Notify(wakes ...store.Wake) {
	for _, w := range wakes {
		if w.Kind != store.WakeReady { // what was put there is known already
			s.HearWake(w)
		}
	}
	s.Notifier.Tell(s.origin, wakes)
}

// HearWake lets claims know what a wake-up says of where there may be work.
func (s *Store) HearWake(w store.Wake) {
	switch w.Kind {
	case store.WakeAll:
		s.Cursors.forget()
	case store.WakeReady, store.WakeQueue:
		s.Cursors.hintQueue(w.Namespace, w.Queue, &s.Lanes)
	default:
	}
}

// Hint tells claims, in this process and, if they are far back, in others, where jobs were put into
// ready.
func (s *Store) Hint(places map[int32]int64) {
	if len(places) == 0 {
		return
	}
	var far []Late
	past := s.Micros() - isLate.Microseconds()
	for lane, runAt := range places {
		s.Cursors.hint(lane, runAt, &s.Lanes)
		if l, ok := s.Lanes.Get(lane); ok {
			s.noteLane(&l)
		}
		if runAt < past && len(far) < MaxLates {
			far = append(far, Late{int64(lane), runAt})
		}
	}
	if far != nil {
		s.Notifier.tellLate(far)
	}
}

// NoteKeys notes that there is a job, if it counts in a limit per key or has a fair key.
func (s *Store) NoteKeys(job *store.Job) {
	if job.Options.Limit != "" {
		s.Gates.Note(job.Namespace, true)
	}
	if job.Options.FairKey != "" {
		s.Fair.Note(job.Namespace, true)
	}
}

// noteLane is NoteKeys for a job of a lane.
func (s *Store) noteLane(l *Lane) {
	if l.Limit() != "" {
		s.Gates.Note(l.Namespace, true)
	}
	if l.isFair() {
		s.Fair.Note(l.Namespace, true)
	}
}

// hear takes in what another process says of late places.
func (s *Store) hear(places []Late) {
	for _, l := range places {
		s.Cursors.hint(int32(l[0]), l[1], &s.Lanes)
	}
}

// EncodeLate turns late places into a payload.
func EncodeLate(places []Late, origin string) string {
	text, _ := json.Marshal(message{Origin: origin, Kind: kindLate, Late: places}) //nolint:errchkjson // plain numbers cannot fail
	return string(text)
}

func (n *Notifier) init(s *Store) {
	n.store, n.pending, n.sent = s, map[topic]store.Wake{}, map[topic]time.Time{}
	n.ctx, n.end = context.WithCancel(context.Background())
}

// Tell notes wake-ups and sees to it that they are sent.
func (n *Notifier) Tell(origin string, wakes []store.Wake) {
	if len(wakes) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return
	}
	for _, w := range wakes {
		t := topic{origin, w.Kind, w.Namespace, w.Queue, w.Node}
		if before, ok := n.pending[t]; ok {
			w = merge(before, w)
		}
		n.pending[t] = w
	}
	if !n.running {
		n.running = true
		n.done.Go(n.work)
	}
}

// tellLate notes late places to be sent. What is too much is found by the looks of the others.
func (n *Notifier) tellLate(places []Late) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil || len(n.late) >= MaxLates {
		return
	}
	n.late = append(n.late, places...)
	if !n.running {
		n.running = true
		n.done.Go(n.work)
	}
}

// merge joins two wake-ups of one topic: the earlier time and all jobs, or what stands for all if
// they are too many.
func merge(a, b store.Wake) store.Wake {
	switch {
	case a.Due.IsZero():
	case b.Due.IsZero():
		b.Due, b.Maker = a.Due, a.Maker
	default:
		if a.Due.Before(b.Due) {
			b.Due = a.Due
		}
		if a.Maker != b.Maker {
			b.Maker = 0
		}
	}
	if (b.Kind == store.WakeNews || b.Kind == store.WakeDetail || b.Kind == store.WakeCancel) && (len(a.Jobs) == 0 || len(b.Jobs) == 0) {
		return store.Wake{Kind: b.Kind} // of any job
	}
	if len(a.Jobs) > 0 {
		b.Jobs = slices.Concat(a.Jobs, b.Jobs)
	}
	if len(b.Jobs) <= maxMerged[b.Kind] {
		return b
	}
	switch b.Kind {
	case store.WakeNews, store.WakeDetail, store.WakeCancel:
		return store.Wake{Kind: b.Kind}
	case store.WakeWatched:
		b.Jobs = b.Jobs[:maxMerged[b.Kind]] // who watches the others polls
		return b
	case store.WakeWanted, store.WakeStillWanted:
		return store.Wake{Kind: b.Kind, Due: time.UnixMicro(1)}
	default:
		return store.Wake{Kind: store.WakeAll}
	}
}

// maxMerged is how many jobs one wake-up names before it stands for all: more is better looked for
// than told.
var maxMerged = map[store.WakeKind]int{
	store.WakeCancel: 10 * MaxWakeJobs, store.WakeNews: 50 * MaxWakeJobs, store.WakeWanted: 200 * MaxWakeJobs,
	store.WakeStillWanted: 200 * MaxWakeJobs, store.WakeWatched: 200 * MaxWakeJobs, store.WakeDetail: 50 * MaxWakeJobs,
}

// work is run for a goroutine of its own. A panic loses the wake-ups that were being sent, as a
// failed send does, and not the process; who tells something next begins again.
func (n *Notifier) work() {
	defer func() {
		if recover() != nil {
			n.mu.Lock()
			n.running = false
			n.mu.Unlock()
		}
	}()
	n.run()
}

// run sends what is pending until there is nothing left, and ends.
func (n *Notifier) run() {
	for {
		payloads, wait, more := n.take(time.Now())
		if !more {
			return
		}
		if len(payloads) > 0 {
			n.send(payloads)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-n.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// take returns the payloads of the topics whose time has come, how long to wait for the next one,
// and whether there is anything to do at all.
func (n *Notifier) take(now time.Time) (payloads []string, wait time.Duration, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for t, at := range n.sent {
		if now.Sub(at) >= notifyEvery {
			delete(n.sent, t)
		}
	}
	if len(n.pending)+len(n.late) == 0 || n.ctx.Err() != nil {
		n.running = false
		return nil, 0, false
	}
	for lates := range slices.Chunk(n.late, MaxLates) {
		payloads = append(payloads, EncodeLate(lates, n.store.origin))
	}
	n.late = nil
	wait = notifyEvery
	for t, w := range n.pending {
		if at, ok := n.sent[t]; ok {
			wait = min(wait, notifyEvery-now.Sub(at))
			continue
		}
		for jobs := w.Jobs; ; {
			part := w
			part.Jobs = jobs[:min(len(jobs), MaxWakeJobs)]
			payloads = append(payloads, EncodeWake(part, t.origin))
			if jobs = jobs[len(part.Jobs):]; len(jobs) == 0 {
				break
			}
		}
		delete(n.pending, t)
		n.sent[t] = now
	}
	return payloads, wait, true
}

// send sends payloads. What cannot be sent is lost, which costs latency and nothing else. What is
// on its way when the store is closed gets there: a program that enqueues one job and ends should
// not leave it to the poll.
func (n *Notifier) send(payloads []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), notifyTimeout)
	defer cancel()
	_ = n.store.sendNotifications(ctx, payloads)
}

func (s *Store) sendNotifications(ctx context.Context, payloads []string) error {
	return s.Conns.With(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, s.Text("notify_alone"), s.Channel(), payloads)
		return err
	})
}

// stop ends the goroutine when it has sent what it was sending. What is pending gets one short
// chance.
func (n *Notifier) stop() {
	n.mu.Lock()
	var payloads []string
	for t, w := range n.pending {
		if len(w.Jobs) <= MaxWakeJobs {
			payloads = append(payloads, EncodeWake(w, t.origin))
		}
	}
	n.pending = map[topic]store.Wake{}
	n.mu.Unlock()
	n.end()
	n.done.Wait()
	if len(payloads) > 0 && n.store.Conns != nil {
		ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout/4)
		defer cancel()
		_ = n.store.sendNotifications(ctx, payloads)
	}
}

package lists

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// DeadPart is what one lane has of a group of dead letters.
type DeadPart struct {
	Lane        int64
	Kind, Queue string
	Fingerprint int64
	Job         store.ID // the last one that failed
	LastSeen    time.Time
}

// DeadCount is what is counted of a part.
type DeadCount struct {
	N         int // up to DeadParams.Most and one more
	FirstSeen time.Time
	Reason    store.Reason // of the last job
	Error     string
}

// DeadParts brings the parts of groups together.
type DeadParts struct {
	params *store.DeadParams
	after  *deadPlace // nil: from the beginning
	groups map[deadKey]*deadGroup
}

type deadKey struct {
	kind        string
	fingerprint int64
}

type deadGroup struct {
	store.DeadGroup

	parts []DeadPart
}

// BeginDead begins a page, or reports why there is none, an ErrInvalid.
func BeginDead(params *store.DeadParams) (*DeadParts, error) {
	if err := params.Check(); err != nil {
		return nil, err
	}
	after, err := parseDead(params.After)
	return &DeadParts{params, after, map[deadKey]*deadGroup{}}, err
}

// Add takes in a part, if the filter selects its fingerprint. The lane is one that it selects.
func (d *DeadParts) Add(p DeadPart) {
	if only := d.params.Filter.Fingerprints; len(only) > 0 && !slices.Contains(only, p.Fingerprint) {
		return
	}
	key := deadKey{p.Kind, p.Fingerprint}
	g := d.groups[key]
	if g == nil {
		g = &deadGroup{DeadGroup: store.DeadGroup{Kind: p.Kind, Fingerprint: p.Fingerprint}}
		d.groups[key] = g
	}
	g.parts = append(g.parts, p)
	if g.LastSeen.Before(p.LastSeen) || g.LastSeen.Equal(p.LastSeen) && bytes.Compare(g.Job[:], p.Job[:]) < 0 {
		g.LastSeen, g.Job = p.LastSeen, p.Job
	}
	if !slices.Contains(g.Queues, p.Queue) {
		g.Queues = append(g.Queues, p.Queue)
		slices.Sort(g.Queues)
	}
}

// Page is the page; more tells that not all groups were looked at. count counts those parts that
// are on it, in the order given.
func (d *DeadParts) Page(more bool, count func(parts []DeadPart) ([]DeadCount, error)) (store.DeadPage, error) {
	page := store.DeadPage{More: more}
	groups := make([]*deadGroup, 0, len(d.groups))
	for _, g := range d.groups {
		if d.after == nil || d.after.compare(placeOfDead(&g.DeadGroup)) < 0 {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b *deadGroup) int { return placeOfDead(&a.DeadGroup).compare(placeOfDead(&b.DeadGroup)) })
	if limit := d.params.Limit; len(groups) > limit {
		groups = groups[:limit]
		page.Next = placeOfDead(&groups[limit-1].DeadGroup).cursor()
	}
	var parts []DeadPart
	for _, g := range groups {
		parts = append(parts, g.parts...)
	}
	if len(parts) == 0 {
		return page, nil
	}
	counts, err := count(parts)
	if err != nil {
		return store.DeadPage{}, err
	}
	for _, g := range groups {
		for _, p := range g.parts {
			g.add(p, counts[0])
			counts = counts[1:]
		}
		g.Count = store.Count{N: min(g.Count.N, d.params.Most), More: g.Count.N > d.params.Most}
		page.Groups = append(page.Groups, g.DeadGroup)
	}
	return page, nil
}

func (g *deadGroup) add(p DeadPart, c DeadCount) {
	g.Count.N += c.N
	if g.FirstSeen.IsZero() || c.FirstSeen.Before(g.FirstSeen) {
		g.FirstSeen = c.FirstSeen
	}
	if p.Job == g.Job {
		g.Reason, g.Error = c.Reason, c.Error
	}
}

// deadPlace is where a group is among the others: those that failed last come first.
type deadPlace struct {
	at          int64
	fingerprint int64
	kind        string
}

func placeOfDead(g *store.DeadGroup) deadPlace {
	return deadPlace{g.LastSeen.UnixMicro(), g.Fingerprint, g.Kind}
}

func (p deadPlace) compare(q deadPlace) int {
	return cmp.Or(cmp.Compare(q.at, p.at), cmp.Compare(p.fingerprint, q.fingerprint), cmp.Compare(p.kind, q.kind))
}

func (p deadPlace) cursor() string {
	data := binary.BigEndian.AppendUint64(nil, uint64(p.at))
	data = binary.BigEndian.AppendUint64(data, uint64(p.fingerprint))
	return base64.RawURLEncoding.EncodeToString(append(data, p.kind...))
}

// parseDead reads a cursor; "" is before all.
func parseDead(cursor string) (*deadPlace, error) {
	if cursor == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < 16 || !utf8.Valid(data[16:]) || bytes.IndexByte(data[16:], 0) >= 0 {
		return nil, refusal.BadCursor(cursor)
	}
	p := &deadPlace{int64(binary.BigEndian.Uint64(data)), int64(binary.BigEndian.Uint64(data[8:])), string(data[16:])}
	if p.cursor() != cursor { // base64 may be written in several ways
		return nil, refusal.BadCursor(cursor)
	}
	return p, nil
}

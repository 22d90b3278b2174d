package sealed

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// plainEntries are the kinds of entries whose data are none of the user's: what a run has waited
// for, chosen and begun. A person without the keys needs them to let a job go on. All other kinds
// are sealed, those that are not known yet among them.
var plainEntries = []store.EntryKind{
	store.EntryTimer, store.EntryTimeout, store.EntryReceived, store.EntryChild, store.EntryCallback, store.EntrySelected,
	store.EntryPatched, store.EntryClosing, store.EntryContinued, store.EntryRegistered, store.EntryAwaited,
}

// isPlain reports whether the data of an entry are not sealed.
func isPlain(kind store.EntryKind) bool { return slices.Contains(plainEntries, kind) }

// append lets an append be sealed.
func (s *sealing) append(a *store.Append) {
	if len(a.Entries) > 0 {
		was := a.Entries
		a.Entries = slices.Clone(was)
		s.undo = append(s.undo, func() { a.Entries = was })
		for i := range a.Entries {
			if e := &a.Entries[i]; !isPlain(e.Kind) {
				s.add(store.PurposeEntry, a.Namespace, &e.Data, &e.Codec)
			}
		}
	}
	if len(a.Answers) > 0 {
		was := a.Answers
		a.Answers = slices.Clone(was)
		s.undo = append(s.undo, func() { a.Answers = was })
		for i := range a.Answers {
			s.add(store.PurposeAnswer, a.Namespace, &a.Answers[i].Data, &a.Answers[i].Codec)
		}
	}
	if len(a.Enqueues) > 0 {
		was := a.Enqueues
		a.Enqueues = s.enqueues(was)
		s.undo = append(s.undo, func() { a.Enqueues = was })
	}
}

func (o *opening) entries(namespace string, entries []store.Entry) {
	for i := range entries {
		o.add(store.PurposeEntry, namespace, &entries[i].Data, &entries[i].Codec)
	}
}

func (o *opening) messages(namespace string, messages []store.Message) {
	for i := range messages {
		m := &messages[i]
		o.add(purposeOf(m.Kind), namespace, &m.Data, &m.Codec)
	}
}

// purposeOf is what the data of a message are. The result of a child is copied by the store into
// the message to its parent.
func purposeOf(kind store.MessageKind) store.Purpose {
	switch kind {
	case store.MessageChild:
		return store.PurposeResult
	case store.MessageUpdate:
		return store.PurposeUpdate
	default:
		return store.PurposeMessage
	}
}

func (o *opening) update(namespace string, u *store.Update) {
	o.add(store.PurposeUpdate, namespace, &u.Data, &u.Codec)
	if u.Answer != nil {
		o.add(store.PurposeAnswer, namespace, &u.Answer.Data, &u.Answer.Codec)
	}
}

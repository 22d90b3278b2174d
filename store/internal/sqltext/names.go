package sqltext

import (
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Codes are the names of what package store numbers, for Options.Names, together with those of a
// store.
//
// States have the names that users see: {running}. {finished} is the first of the final ones, which
// are the last.
func Codes(more map[string]int64) map[string]string {
	names := map[string]string{
		"finished":      number(store.Completed),
		"failed_states": list(store.Failed, store.Cancelled),
		"claim_slots":   number(store.MaxClaimSlots),

		"abandon_child":   number(store.AbandonChild),
		"terminate_child": number(store.TerminateChild),

		"entry_received":  number(store.EntryReceived),
		"entry_callback":  number(store.EntryCallback),
		"entry_published": number(store.EntryPublished),
		"entry_streamed":  number(store.EntryStreamed),
		"entry_continued": number(store.EntryContinued),
		"entry_closing":   number(store.EntryClosing),
		"entry_ended":     number(store.EntryEnded),
		"entry_updated":   number(store.EntryUpdated),
		"kept_entries":    list(store.EntryPublished, store.EntryStreamed),                      // when a job continues as new
		"named_entries":   list(store.EntryCallback, store.EntryPublished, store.EntryStreamed), // that have an index by name

		"message_signal":    number(store.MessageSignal),
		"message_child":     number(store.MessageChild),
		"message_update":    number(store.MessageUpdate),
		"update_refused":    number(store.UpdateRefused),
		"node_drains":       number(store.NodeDrains),
		"node_left":         number(store.NodeLeft),
		"node_died":         number(store.NodeDied),
		"callback_messages": list(store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat),
		"callback_answers":  list(store.MessageCallback, store.MessageCallbackFailed),
		"answer_messages":   list(store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat, store.MessageChild),
	}
	for _, s := range store.States {
		names[s.String()] = number(s)
		names["bit_"+s.String()] = number(store.SetOf(s))
	}
	for name, n := range more {
		names[name] = number(n)
	}
	return names
}

func number[T ~int | ~int64 | ~uint8 | ~uint16](n T) string { return strconv.FormatInt(int64(n), 10) }

func list[T ~uint8](codes ...T) string {
	texts := make([]string, len(codes))
	for i, c := range codes {
		texts[i] = number(c)
	}
	return strings.Join(texts, ", ")
}

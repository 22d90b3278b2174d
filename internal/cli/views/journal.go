package views

import (
	"iter"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// JournalLine is one line of a journal that is followed: an entry or a message.
type JournalLine struct {
	Entry   *holdfast.JournalEntry   `json:"entry"`
	Message *holdfast.JournalMessage `json:"message"`
}

// JournalColumns are the columns of the table, with widths for a journal that is followed.
var JournalColumns = []output.Column{
	{Name: "SEQ", Width: 5},
	{Name: "WHEN", Width: 24},
	{Name: "KIND", Width: 15},
	{Name: "PATH", Width: 6},
	{Name: "NAME", Width: 20},
	{Name: "DATA"},
}

// InTurn returns entries and messages in the order of their times. At the same time messages come
// first, because entries receive them.
func InTurn(entries []holdfast.JournalEntry, messages []holdfast.JournalMessage) iter.Seq[JournalLine] {
	return func(yield func(JournalLine) bool) {
		for len(entries) > 0 || len(messages) > 0 {
			var line JournalLine
			if len(messages) > 0 && (len(entries) == 0 || !messages[0].At.After(entries[0].At)) {
				line.Message, messages = &messages[0], messages[1:]
			} else {
				line.Entry, entries = &entries[0], entries[1:]
			}
			if !yield(line) {
				return
			}
		}
	}
}

const maxCell = 80

// Row formats a line for a table. whole also marks messages that no entry has received.
func (l JournalLine) Row(whole bool) []string {
	if e := l.Entry; e != nil {
		data := output.Clip(OnOneLine(e.Data, 0), maxCell)
		if e.Message != 0 { // otherwise only why it does not decode
			data = output.Clip(strings.TrimSpace("message m"+strconv.FormatInt(e.Message, 10)+" "+OnOneLine(e.Data, 0)), maxCell)
		}
		return []string{strconv.FormatInt(e.Seq, 10), output.Clock(e.At), e.Kind, e.Path, e.Name, data}
	}
	m := l.Message
	name, data := m.Name, OnOneLine(m.Data, 0)
	if m.From != (holdfast.ID{}) {
		name = m.From.String()
	}
	if m.Error != "" {
		data = m.Error
	}
	if m.State != 0 {
		data = m.State.String() + " " + data
	}
	switch {
	case m.Unread && whole:
		data = "(unread) " + data
	case m.Problem != "":
		data = "(does not decode) " + data
	}
	return []string{"m" + strconv.FormatInt(m.Seq, 10), output.Clock(m.At), "sent " + m.Kind, "", name, output.Clip(data, maxCell)}
}

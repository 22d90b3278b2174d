package events

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Place is how far a job was watched; the zero value is its beginning. Its text (String) can be
// kept and parsed (ParsePlace).
//
// That of a Detail has more than the two numbers, so that Watch notices when they are used again.
// One that is made of numbers is taken at its word: if there are an entry and a message with them,
// they are those that were read.
type Place struct { //nolint:recvcheck // only what moves it, or reads its text, takes a pointer
	Entry   int64 // the last entry
	Message int64 // the last message

	entryMark, messageMark uint64 // of these two; 0: not known
}

// String returns the text of the place: "ENTRY-MESSAGE", and "-MARK-MARK" if these are known.
func (p Place) String() string {
	text := strconv.FormatInt(p.Entry, 10) + "-" + strconv.FormatInt(p.Message, 10)
	if p.entryMark != 0 || p.messageMark != 0 {
		text += "-" + strconv.FormatUint(p.entryMark, 36) + "-" + strconv.FormatUint(p.messageMark, 36)
	}
	return text
}

// MarshalText makes the place its text in JSON.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text of a place.
func (p *Place) UnmarshalText(text []byte) error {
	parsed, err := ParsePlace(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// ParsePlace is the inverse of Place.String; "" is the beginning too. The error is ErrInvalid.
func ParsePlace(text string) (p Place, err error) {
	if text == "" {
		return p, nil
	}
	// What is no number is found by the comparison: it is not what is made of the number.
	parts := strings.SplitN(text, "-", 5)
	if len(parts) == 2 || len(parts) == 4 {
		p.Entry, _ = strconv.ParseInt(parts[0], 10, 64)
		p.Message, _ = strconv.ParseInt(parts[1], 10, 64)
	}
	if len(parts) == 4 {
		p.entryMark, _ = strconv.ParseUint(parts[2], 36, 64)
		p.messageMark, _ = strconv.ParseUint(parts[3], 36, 64)
	}
	if p.Entry < 0 || p.Message < 0 || p.String() != text {
		return Place{}, fmt.Errorf("%w: %q is no place in what a job has done, which looks like 12-3", store.ErrInvalid, text)
	}
	return p, nil
}

// toEntry and toMessage move the place behind what a mark is of; the zero mark: to the beginning.
func (p *Place) toEntry(m mark)   { p.Entry, p.entryMark = m.seq, m.sum() }
func (p *Place) toMessage(m mark) { p.Message, p.messageMark = m.seq, m.sum() }

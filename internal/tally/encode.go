package tally

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// version is the first byte of a set that is encoded. A program that reads another one says so.
const version = 1

// maxName bounds the name of a queue or kind, in bytes.
const maxName = 1 << 10

// ErrFormat is the error of bytes that are no set, or one of a later program.
var ErrFormat = errors.New("these are no counts that this program can read")

// Encode returns a set as bytes, the same for sets that are the same:
//
//	version, number of entries, and of each, in the order of their names:
//	queue, kind      with their lengths
//	how many counts, counts
//	wait, run        N; and if it is not 0: sum, max, number of buckets that have something,
//	                 and of each how much further it is than the last one, and what it has
//
// All numbers are varints.
func (s *Set) Encode() []byte {
	b := []byte{version}
	b = binary.AppendUvarint(b, uint64(len(s.entries)))
	for _, name := range s.Names() {
		e := s.entries[name]
		b = appendText(b, name.Queue)
		b = appendText(b, name.Kind)
		b = binary.AppendUvarint(b, Things)
		for _, n := range e.Counts {
			b = binary.AppendUvarint(b, n)
		}
		b = e.Wait.append(b)
		b = e.Run.append(b)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func (h *Hist) append(b []byte) []byte {
	b = binary.AppendUvarint(b, h.N)
	if h.N == 0 {
		return b
	}
	b = binary.AppendUvarint(b, h.Sum)
	b = binary.AppendUvarint(b, h.Max)
	used := uint64(0)
	for _, n := range h.buckets {
		if n > 0 {
			used++
		}
	}
	b = binary.AppendUvarint(b, used)
	last := 0
	for i, n := range h.buckets {
		if n > 0 {
			b = binary.AppendUvarint(b, uint64(i-last))
			b = binary.AppendUvarint(b, n)
			last = i
		}
	}
	return b
}

// Decode returns the set that was encoded, or ErrFormat.
func Decode(b []byte) (*Set, error) {
	if len(b) == 0 || b[0] != version {
		return nil, fmt.Errorf("%w: they begin with %.1x", ErrFormat, b)
	}
	r := &reader{left: b[1:]}
	s := &Set{entries: map[Name]*Entry{}}
	entries := r.upTo(MaxEntries)
	for range entries {
		name := Name{r.text(), r.text()}
		e := &Entry{}
		for i := range r.upTo(64) {
			if n := r.number(); i < Things {
				e.Counts[i] = n
			}
		}
		r.hist(&e.Wait)
		r.hist(&e.Run)
		if r.failed || s.entries[name] != nil {
			return nil, fmt.Errorf("%w: the entry of %.100q", ErrFormat, name)
		}
		s.entries[name] = e
	}
	if r.failed || len(r.left) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrFormat, len(r.left))
	}
	return s, nil
}

// reader reads what Encode wrote. When it fails once, all that follows is 0.
type reader struct {
	left   []byte
	failed bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.left)
	if size <= 0 {
		r.failed, r.left = true, nil
		return 0
	}
	r.left = r.left[size:]
	return n
}

// upTo is a number that may not be larger.
func (r *reader) upTo(most uint64) int {
	n := r.number()
	if n > most {
		r.failed, r.left = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	size := r.upTo(maxName)
	if size > len(r.left) {
		r.failed, r.left = true, nil
		return ""
	}
	text := string(r.left[:size])
	r.left = r.left[size:]
	return text
}

func (r *reader) hist(h *Hist) {
	if h.N = r.number(); h.N == 0 {
		return
	}
	h.Sum, h.Max = r.number(), r.number()
	at, all := 0, uint64(0)
	for i := range r.upTo(buckets) {
		further := r.upTo(buckets)
		if at += further; r.failed || at >= buckets || i > 0 && further == 0 {
			r.failed = true
			return
		}
		n := r.number()
		h.put(at, n)
		all = sum(all, n)
		r.failed = r.failed || n == 0
	}
	r.failed = r.failed || all != h.N
}

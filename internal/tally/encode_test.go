package tally

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// sample is a set with something of everything.
func sample() *Set {
	var s Set
	e := s.Of(Name{"mail", "send"})
	for thing := range e.Counts {
		e.Counts[thing] = uint64(thing) + 126
	}
	for _, ms := range []int{0, 1, 1, 20, 300} {
		e.Wait.Add(time.Duration(ms) * time.Millisecond)
	}
	e.Run.Add(time.Hour)
	s.Of(Name{}).Counts[Lost] = 1
	return &s
}

// golden is sample as programs of version 1 write it. It never changes.
const golden = "0102" + "0000" + "08" + "0000000000000001" + "00" + "00" +
	"046d61696c" + "0473656e64" + "08" + "7e7f8001810182018301840185" + "01" +
	"05" + "d0d313" + "e0a712" + "04" + "0001" + "6f02" + "4401" + "3f01" +
	"01" + "80c8ceb40d" + "80c8ceb40d" + "01" + "ca0301"

// TestFormat: what was written stays readable.
func TestFormat(t *testing.T) {
	t.Parallel()
	b := sample().Encode()
	if got := hex.EncodeToString(b); got != golden {
		t.Errorf("a set is encoded as\n%s, want\n%s", got, golden)
	}
	old, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(old)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Encode(), b) {
		t.Error("it is not read as it was")
	}
}

// TestFormatRefused: bytes that are no set, or of another version, are an ErrFormat.
func TestFormatRefused(t *testing.T) {
	t.Parallel()
	good := sample().Encode()
	for what, b := range map[string][]byte{
		"none": nil, "version 2": append([]byte{2}, good[1:]...), "cut": good[:len(good)-1], "more": append(bytes.Clone(good), 0),
		"too many": {version, 0xff, 0xff, 3}, "twice": {version, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a count that does not fit": {version, 1, 0, 0, 0, 2, 1, 1, 1, 1, 1, 0},
	} {
		if _, err := Decode(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Things that a later program counts are left out.
	later := []byte{version, 1, 1, 'q', 1, 'k', Things + 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0}
	if s, err := Decode(later); err != nil || s.Of(Name{"q", "k"}).Counts[Lost] != 8 {
		t.Errorf("%v", err)
	}
}

// TestBound: queues and kinds beyond the bound count together, and nothing is lost.
func TestBound(t *testing.T) {
	t.Parallel()
	var s, twice Set
	for i := range MaxEntries + 500 {
		s.Of(Name{fmt.Sprint("q", i), strings.Repeat("k", 100)}).Counts[Started]++
	}
	if s.Len() != MaxEntries || s.Of(Name{}).Counts[Started] != 501 {
		t.Errorf("%d entries, and %d of others", s.Len(), s.Of(Name{}).Counts[Started])
	}
	twice.Merge(&s)
	twice.Merge(&s)
	all := uint64(0)
	for _, name := range twice.Names() {
		all += twice.Of(name).Counts[Started]
	}
	if twice.Len() != MaxEntries || all != 2*(MaxEntries+500) {
		t.Errorf("merged: %d entries, %d starts", twice.Len(), all)
	}
	if read, err := Decode(s.Encode()); err != nil || read.Len() != MaxEntries {
		t.Errorf("%v", err)
	}
}

// FuzzDecode: no bytes are too strange, and what can be read is written as it was read.
func FuzzDecode(f *testing.F) {
	f.Add(sample().Encode())
	f.Add([]byte{version, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		once := s.Encode()
		again, err := Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Encode(), once) {
			t.Fatalf("%x is read as %x, and then as %x", b, once, again.Encode())
		}
		again.Merge(s)
	})
}

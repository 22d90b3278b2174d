package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestEnvelope: an envelope is read as it was written, in each of its forms, and nothing else is
// taken for one.
func TestEnvelope(t *testing.T) {
	for _, e := range []store.Envelope{
		{Body: []byte("body")},
		{Key: "k1", Namespace: "shop", Body: []byte{0, 0xFF}},
		{Key: "k1", Args: bytes.Repeat([]byte{7}, 16), Body: []byte("b")},
	} {
		data := e.Bytes()
		for n := range len(data) - len(e.Body) {
			if _, ok := store.ParseEnvelope(data[:n]); ok {
				t.Errorf("%d bytes of %x are an envelope", n, data)
			}
		}
		got, ok := store.ParseEnvelope(data)
		if !ok || got.Key != e.Key || got.Namespace != e.Namespace || !bytes.Equal(got.Args, e.Args) || !bytes.Equal(got.Body, e.Body) {
			t.Errorf("%+v became %+v, %t", e, got, ok)
		}
		if back, codec, ok := store.OpenSealedJSON(store.SealedJSON(data)); !ok || codec != store.SealedCodec || !bytes.Equal(back, data) {
			t.Errorf("as JSON: %x, %d, %t", back, codec, ok)
		}
		damaged := store.Damaged(store.SealedJSON(data))
		if _, codec, ok := store.OpenSealedJSON(damaged); !ok || codec != store.DamagedCodec || !json.Valid(damaged) {
			t.Errorf("damaged: %s", damaged)
		}
		if back := store.Undamaged(damaged); !bytes.Equal(back, store.SealedJSON(data)) {
			t.Errorf("undamaged: %s", back)
		}
		if back, ok := store.OpenSealedText(store.SealedText(data)); !ok || !bytes.Equal(back, data) {
			t.Errorf("as text: %x, %t", back, ok)
		}
	}
	for _, text := range []string{
		`{"holdfast_sealed":"AAAA"}`, `{"holdfast_sealed":1}`, `{"holdfast_sealed":"","a":1}`,
		`"holdfast_sealed"`, `{}`,
	} {
		if _, _, ok := store.OpenSealedJSON([]byte(text)); ok {
			t.Errorf("%s is an envelope", text)
		}
		if err := store.SealErrorJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSealError: the number of a payload says why it cannot be read.
func TestSealError(t *testing.T) {
	e := store.Envelope{Key: "k1", Body: []byte("b")}
	var missing *store.MissingKeyError
	var damaged *store.DamagedError
	if err := store.SealError(e.Bytes(), store.SealedCodec); !errors.As(err, &missing) || missing.Key != "k1" {
		t.Errorf("sealed: %v", err)
	}
	if err := store.SealError(e.Bytes(), store.DamagedCodec); !errors.As(err, &damaged) || damaged.Key != "k1" {
		t.Errorf("damaged: %v", err)
	}
	if err := store.SealError([]byte("x"), store.SealedCodec); !errors.As(err, &damaged) {
		t.Errorf("no envelope: %v", err)
	}
	if err := store.SealError(e.Bytes(), 1); err != nil {
		t.Errorf("not sealed: %v", err)
	}
	for codec, want := range map[int]string{
		0: "", store.SealedCodec: `encrypted with key "k1"`, store.DamagedCodec: `encrypted with key "k1", and damaged`,
	} {
		if got := store.SealedNote(e.Bytes(), codec); got != want {
			t.Errorf("%d: %q, want %q", codec, got, want)
		}
	}
}

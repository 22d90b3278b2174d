package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/store"
)

// TestBinding: a value is opened for the purpose and the namespace for which it was sealed, by the
// key of that name, and if no bit of it has changed; for nothing else.
func TestBinding(t *testing.T) {
	k := keysOf(t, "k1")[0]
	same := k
	same.ID = "k2"
	c := aes(t, k, same)
	sealed := store.Payload{Purpose: store.PurposeArgs, Namespace: "shop", Plain: []byte("plain")}
	handle(t, c.Encode(t.Context(), []*store.Payload{&sealed}))
	open := func(change func(*store.Payload)) ([]byte, error) {
		p := store.Payload{Purpose: sealed.Purpose, Namespace: sealed.Namespace, Key: sealed.Key, Stored: bytes.Clone(sealed.Stored)}
		change(&p)
		handle(t, c.Decode(t.Context(), []*store.Payload{&p}))
		return p.Plain, p.Err
	}
	if plain, err := open(func(*store.Payload) {}); err != nil || string(plain) != "plain" || sealed.Key != "k1" {
		t.Errorf("%q, %v, key %q", plain, err, sealed.Key)
	}
	changes := map[string]func(*store.Payload){
		"purpose":   func(p *store.Payload) { p.Purpose = store.PurposeResult },
		"namespace": func(p *store.Payload) { p.Namespace = "other" },
		"moved":     func(p *store.Payload) { p.Purpose, p.Namespace = "argss", "hop" },
		"key":       func(p *store.Payload) { p.Key = "k2" },
		"empty":     func(p *store.Payload) { p.Stored = nil },
		"short":     func(p *store.Payload) { p.Stored = p.Stored[:39] },
	}
	for i := range sealed.Stored {
		changes[fmt.Sprint("byte ", i)] = func(p *store.Payload) { p.Stored[i] ^= 1 }
	}
	for name, change := range changes {
		var damaged *store.DamagedError
		if _, err := open(change); !errors.As(err, &damaged) || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	var missing *store.MissingKeyError
	if _, err := open(func(p *store.Payload) { p.Key = "k3" }); !errors.As(err, &missing) || missing.Key != "k3" {
		t.Errorf("a key that is not there: %v", err)
	}
	again := store.Payload{Purpose: sealed.Purpose, Namespace: sealed.Namespace, Plain: sealed.Plain}
	handle(t, c.Encode(t.Context(), []*store.Payload{&again}))
	if bytes.Equal(again.Stored, sealed.Stored) {
		t.Error("a value is sealed twice in the same way")
	}
}

// TestKeys: what a file of keys may say. No error tells a secret.
func TestKeys(t *testing.T) {
	k := keysOf(t, "k1")[0]
	parsed, err := codec.ParseKeys("# keys\n\n  " + k.Line() + "\r\n" + strings.Replace(k.Line(), "k1", "2026/a_b.c-d", 1))
	if err != nil || len(parsed) != 2 || parsed[0] != k || parsed[1].ID != "2026/a_b.c-d" {
		t.Errorf("%v, %v", parsed, err)
	}
	secret := strings.TrimPrefix(k.Line(), "k1:")
	for _, text := range []string{
		"", "#", "k1", secret, ":" + secret, "a b:" + secret,
		strings.Repeat("k", 65) + ":" + secret, "k1:" + secret[1:], "k1:" + secret + "AAAA", "ä:" + secret,
	} {
		if _, err := codec.ParseKeys(text); !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), secret[4:20]) {
			t.Errorf("%.10q…: %v", text, err)
		}
	}
	if _, err := codec.AES(); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("no key: %v", err)
	}
	if _, err := codec.AES(k, k); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a key twice: %v", err)
	}
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%+v", k), fmt.Sprintf("%#v", k), fmt.Sprintf("%v", []codec.Key{k})} {
		if text != "codec key k1" && text != "[codec key k1]" {
			t.Errorf("printed: %s", text)
		}
	}
}

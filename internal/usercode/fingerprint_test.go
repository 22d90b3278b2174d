package usercode_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(text string) int64 { return usercode.Fingerprint("mail", store.ReasonError, text) }
	base := of("order 17: dial tcp 10.0.0.7:443: connection refused\nand more")
	for _, alike := range []string{
		"order 4711: dial tcp 10.0.0.8:443: connection refused", "order 1: dial tcp 192.168.1.1:80: connection refused\nor less",
	} {
		if of(alike) != base {
			t.Errorf("%q is taken for another failure", alike)
		}
	}
	one, another := "user 01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64 at 0xc000a1", "user 0193aaaa-7c2a-7b51-9a0e-3f1d5c8e2b65 at 0xc000b2"
	if of(one) != of(another) {
		t.Error("ids and addresses make another failure")
	}
	for what, other := range map[string]int64{
		"another text":   of("order 17: dial tcp 10.0.0.7:443: no such host"),
		"another kind":   usercode.Fingerprint("push", store.ReasonError, "order 17: dial tcp 10.0.0.7:443: connection refused"),
		"another reason": usercode.Fingerprint("mail", store.ReasonTimeout, "order 17: dial tcp 10.0.0.7:443: connection refused"),
		"no text":        of(""),
	} {
		if other == base || other == 0 {
			t.Errorf("%s: %d", what, other)
		}
	}
}

// TestFingerprintStays: what other processes, and later versions, have to find.
func TestFingerprintStays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"order 17: dial tcp 10.0.0.7:443: connection refused": "5b3453c731669487",
		"": "5ca21d9a475b6a8e",
	} {
		if got := store.FingerprintText(usercode.Fingerprint("mail", store.ReasonError, text)); got != want {
			t.Errorf("%q is %s, not %s", text, got, want)
		}
	}
}

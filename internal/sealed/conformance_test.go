package sealed_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/store"
)

// aesOf is a codec with new keys of those names.
func aesOf(tb testing.TB, ids ...string) store.Codec {
	tb.Helper()
	var keys []codec.Key
	for _, id := range ids {
		k, err := codec.NewKey(id)
		if err != nil {
			tb.Fatal(err)
		}
		keys = append(keys, k)
	}
	c, err := codec.AES(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

package faulttest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// commits counts the commits in what a client sends: queries of one word, and bindings of the
// prepared statement, which has the name that pgx gives to it. Its text is sent only as it is
// prepared, once a connection.
func commits(sent []byte) int {
	digest := sha256.Sum256([]byte("COMMIT"))
	prepared := fmt.Sprintf("\x00stmtcache_%x\x00", digest[:24])
	n := bytes.Count(sent, []byte(prepared))
	for _, word := range []string{"commit", "COMMIT"} {
		n += bytes.Count(sent, []byte("Q\x00\x00\x00\x0b"+word+"\x00"))
	}
	return n
}

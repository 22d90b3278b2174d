//go:build soak

package cli

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"
)

// TestCertificateExpires: a certificate that expires under a server is told of, as it will be
// renewed too late if at all.
func TestCertificateExpires(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	a := newAuthority(t)
	cert, key := a.issue(s.dir, time.Now().Add(10*time.Second))
	n, url := startSecure(s, "--tls-cert", cert, "--tls-key", key)
	handshake := func() {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close() // nothing was sent
	}
	until(t, "the word of it", func() bool {
		handshake()
		return strings.Contains(n.stderr.String(), "certificate has expired")
	})
	for range 3 {
		handshake()
	}
	if told := strings.Count(n.stderr.String(), "certificate has expired"); told != 1 {
		t.Errorf("it is told %d times: %s", told, n.stderr)
	}
}

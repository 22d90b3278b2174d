package cli

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/nodes"
)

// authority makes certificates for 127.0.0.1 and localhost.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	made int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// file writes the certificate of the authority.
func (a *authority) file(dir string) string {
	a.t.Helper()
	return writePEM(a.t, filepath.Join(dir, "authority.pem"), "CERTIFICATE", a.cert.Raw)
}

// issue writes a new certificate, valid until a time, and its key.
func (a *authority) issue(dir string, until time.Time) (cert, key string) {
	a.t.Helper()
	a.made++
	own := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(100 + a.made), Subject: pkix.Name{CommonName: "a server"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		a.t.Fatal(err)
	}
	cert = writePEM(a.t, filepath.Join(dir, "cert.pem"), "CERTIFICATE", der)
	return cert, writePEM(a.t, filepath.Join(dir, "key.pem"), "PRIVATE KEY", keyDER)
}

func writePEM(t *testing.T, path, kind string, der []byte) string {
	t.Helper()
	writeText(t, path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	return path
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refused is why a client gets no answer; "": it does.
func (a *authority) refused(most uint16, url string) string {
	answer, err := a.trusting(most).Get(url + "/healthz")
	if err != nil {
		return err.Error()
	}
	answer.Body.Close()
	return ""
}

// trusting is a client that trusts an authority, and speaks no later version of TLS; 0: any.
func (a *authority) trusting(most uint16) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	c := newClient(a.t)
	c.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: most, MaxVersion: most}, ForceAttemptHTTP2: true}
	return c
}

var servesSecurely = regexp.MustCompile(`on (https://127\.0\.0\.1:\d+)\.`)

// startSecure starts a server with TLS, and returns its URL.
func startSecure(s *shell, args ...string) (n *node, url string) {
	s.Helper()
	s.env[nodes.EnvToken] = longToken
	n = s.start(append([]string{"server", "--listen", "127.0.0.1:0"}, args...)...)
	until(s.T, "the API", func() bool { return servesSecurely.MatchString(n.stderr.String()) })
	return n, servesSecurely.FindStringSubmatch(n.stderr.String())[1]
}

// serial is the number of the certificate that a server shows.
func (a *authority) serial(url string) int64 {
	a.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	d := tls.Dialer{Config: &tls.Config{RootCAs: roots}}
	c, err := d.DialContext(a.t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	secure, ok := c.(*tls.Conn)
	if !ok {
		a.t.Fatalf("a connection is a %T", c)
	}
	return secure.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestServerWithTLS: what there is by HTTP is there by TLS, also in streams of HTTP/2; the command
// and workers come in with the file of the authority, and not without it.
func TestServerWithTLS(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	a := newAuthority(t)
	cert, key := a.issue(s.dir, time.Now().Add(time.Hour))
	n, url := startSecure(s, "--tls-cert", cert, "--tls-key", key)
	c := a.trusting(0)
	if got := ask(t, c, "GET", url+"/api/v1/jobs", longToken, ""); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.text)
	}
	r := &shell{T: t, dir: s.dir, now: s.now, env: map[string]string{app.EnvServer: url, app.EnvToken: longToken}}
	r.expect(r.run("job", "list"), 1, "unknown authority", "--tls-ca")
	r.env[app.EnvTLSCA] = a.file(s.dir)
	w := r.start("worker", "--allow-exec", "--slots", "2")
	r.holds(r.ok("job", "enqueue", "exec", "--args", scriptArgs("echo hello"), "--wait", "--wait-timeout", "60s"), "hello")
	r.holds(r.ok("health", "-o", "json"), `"healthy": true`, url)
	other := newAuthority(t)
	wrong := writePEM(t, filepath.Join(s.dir, "other.pem"), "CERTIFICATE", other.cert.Raw)
	r.expect(r.run("job", "list", "--tls-ca", wrong), 1, "unknown authority")
	r.expect(r.run("job", "list", "--server", strings.Replace(url, "https", "http", 1)), 1, "use https://")
	testSecureStream(t, c, url)
	testCookieIsSecure(t, a, url)
	w.stop(t)
	n.stop(t)
}

// testSecureStream: a stream of events is one of HTTP/2 to who speaks that, as browsers do.
func testSecureStream(t *testing.T, c *http.Client, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+longToken)
	answer, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	if answer.ProtoMajor != 2 || answer.StatusCode != http.StatusOK || err != nil {
		t.Errorf("a stream of HTTP/%d is answered %d %q, %v", answer.ProtoMajor, answer.StatusCode, line, err)
	}
}

// testCookieIsSecure: the cookie of a browser is sent by TLS alone.
func testCookieIsSecure(t *testing.T, a *authority, url string) {
	t.Helper()
	c := a.trusting(0)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/?token="+longToken, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Cookies(); len(got) != 1 || !got[0].Secure || !got[0].HttpOnly {
		t.Errorf("the answer is %d with the cookies %v", answer.StatusCode, got)
	}
}

// TestCertificateIsRenewed: the next handshake shows a certificate that was renewed; one that
// cannot be read is not, and the one of before stays.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	a := newAuthority(t)
	cert, key := a.issue(s.dir, time.Now().Add(time.Hour))
	n, url := startSecure(s, "--tls-cert", cert, "--tls-key", key)
	first := a.serial(url)
	later := func(file string, by time.Duration) { // as if it had been written then
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(by)); err != nil {
			t.Fatal(err)
		}
	}
	a.issue(s.dir, time.Now().Add(time.Hour))
	later(cert, time.Minute)
	second := a.serial(url)
	if second != first+1 {
		t.Errorf("the certificate is %d after %d", second, first)
	}
	whole, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, cert, "half")
	later(cert, 2*time.Minute)
	for range 3 {
		if got := a.serial(url); got != second {
			t.Errorf("the certificate is %d and not %d", got, second)
		}
	}
	if told := strings.Count(n.stderr.String(), "cannot be read again"); told != 1 {
		t.Errorf("it is told %d times: %s", told, n.stderr)
	}
	writeText(t, cert, string(whole))
	a.issue(s.dir, time.Now().Add(-time.Minute)) // which clients do not take
	later(cert, 3*time.Minute)
	if why := a.refused(0, url); !strings.Contains(why, "expired") {
		t.Errorf("a certificate that has expired: %s", why)
	}
	until(t, "the word of it", func() bool { return strings.Contains(n.stderr.String(), "certificate has expired") })
	a.issue(s.dir, time.Now().Add(time.Hour))
	later(cert, 4*time.Minute)
	if got := a.serial(url); got != second+2 {
		t.Errorf("the certificate is %d", got)
	}
	if why := a.refused(tls.VersionTLS11, url); !strings.Contains(why, "protocol version") {
		t.Errorf("TLS 1.1: %s", why)
	}
}

// TestBadCertificates: files that are none are refused at the start, with what to do.
func TestBadCertificates(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[nodes.EnvToken] = longToken
	a := newAuthority(t)
	cert, key := a.issue(s.dir, time.Now().Add(time.Hour))
	in := func(name, text string) string {
		path := filepath.Join(s.dir, name)
		writeText(t, path, text)
		return path
	}
	encrypted := writePEM(t, filepath.Join(s.dir, "encrypted.pem"), "ENCRYPTED PRIVATE KEY", []byte("x"))
	elsewhere := t.TempDir()
	_, anothers := a.issue(elsewhere, time.Now().Add(time.Hour))
	for _, test := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--tls-cert", cert}, []string{"--tls-cert needs --tls-key"}},
		{[]string{"--tls-key", key}, []string{"--tls-key needs --tls-cert"}},
		{[]string{"--tls-cert", "none.pem", "--tls-key", key}, []string{"none.pem", "no such file"}},
		{[]string{"--tls-cert", cert, "--tls-key", "none.pem"}, []string{"the key of the certificate", "none.pem"}},
		{[]string{"--tls-cert", key, "--tls-key", cert}, []string{"the wrong way round"}},
		{[]string{"--tls-cert", in("text", "hello"), "--tls-key", key}, []string{"is not PEM", "openssl x509"}},
		{[]string{"--tls-cert", cert, "--tls-key", in("text", "hello")}, []string{"has no key"}},
		{[]string{"--tls-cert", cert, "--tls-key", encrypted}, []string{"is encrypted", "openssl pkey"}},
		{[]string{"--tls-cert", cert, "--tls-key", anothers}, []string{"private key does not match"}},
	} {
		s.expect(s.run(append([]string{"server", "--listen", "127.0.0.1:0"}, test.args...)...), app.ExitUsage, test.words...)
	}
	s.env[nodes.EnvTLSCert] = cert
	s.expect(s.run("server"), app.ExitUsage, "HOLDFAST_TLS_CERT needs --tls-key")
	delete(s.env, app.EnvDatabase)
	s.expect(s.run("job", "list", "--tls-ca", cert), app.ExitUsage, "--tls-ca is for --server")
	s.expect(s.run("job", "list", "--server", "http://127.0.0.1:1", "--tls-ca", cert), app.ExitUsage, "--tls-ca is for --server")
	s.expect(s.run("job", "list", "--server", "https://127.0.0.1:1", "--tls-ca", key), app.ExitUsage, "has no certificate in PEM")
	s.expect(s.run("job", "list", "--server", "https://127.0.0.1:1", "--tls-ca", "none"), app.ExitUsage, "--tls-ca", "no such file")
}

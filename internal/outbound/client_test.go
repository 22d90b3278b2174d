package outbound_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast/internal/outbound"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, public := range map[string]bool{
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "0.0.0.0": false, "::": false, "169.254.169.254": false, "fe80::1": false,
		"10.0.0.1": false, "172.16.9.9": false, "192.168.1.1": false, "100.64.0.1": false, "fd00::1": false, "::ffff:127.0.0.1": false,
		"::ffff:169.254.169.254": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false,
		"4000::1": false, "::ffff:0:7f00:1": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "198.18.0.1": false, "fd00:ec2::254": false, "fe80::1%eth0": false,
		"8.8.8.8": true, "2606:4700:4700::1111": true, "172.32.0.1": true, "::ffff:8.8.8.8": true,
	} {
		if got := outbound.IsPublic(netip.MustParseAddr(text)); got != public {
			t.Errorf("%s is public: %v", text, got)
		}
	}
	if outbound.IsPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for text, allowed := range map[string]bool{"127.0.0.1": true, "::ffff:127.0.0.1": true, "127.0.0.2": false, "8.8.8.8": true} {
		if got := outbound.IsAllowed(netip.MustParseAddr(text), allow); got != allowed {
			t.Errorf("%s is allowed: %v", text, got)
		}
	}
}

// get returns the status of an answer.
func get(t *testing.T, c *http.Client, url string) (status int, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	response, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func wantRefused(t *testing.T, what string, err error) {
	t.Helper()
	if _, refused := errors.AsType[*outbound.RefusedError](err); !refused {
		t.Errorf("%s: %v", what, err)
	}
}

// TestRefused: what is not public is not reached, however it is written, and whatever the
// environment says of proxies.
func TestRefused(t *testing.T) {
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	t.Setenv("HTTP_PROXY", server.URL)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.1.2.3", "[fd00:ec2::254]",
	} {
		_, err := get(t, outbound.Client(outbound.Config{}), "http://"+host+port)
		wantRefused(t, host, err)
	}
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if _, err := get(t, outbound.Client(outbound.Config{Allow: allow}), server.URL); err != nil || reached.Load() != 1 {
		t.Errorf("an allowed one: %v; reached %d times", err, reached.Load())
	}
}

// TestRedirect: none is followed.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inner.Close()
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	defer outer.Close()
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	status, err := get(t, outbound.Client(outbound.Config{Allow: allow}), outer.URL)
	if err != nil || status != http.StatusTemporaryRedirect || reached.Load() != 0 {
		t.Errorf("%v, %d; reached %d times", err, status, reached.Load())
	}
}

// names is a resolver whose names have one address when they are asked for the first time, and
// another one later.
func names(t *testing.T, first, later [4]byte) *net.Resolver {
	t.Helper()
	var asked atomic.Int64
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go answer(far, func() [4]byte {
			if asked.Add(1) == 1 {
				return first
			}
			return later
		})
		return near, nil
	}}
}

// answer answers one question, in the form of a stream: two bytes of its length come first. A
// question about another type than A has no answer.
func answer(c net.Conn, address func() [4]byte) {
	defer c.Close()
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return
	}
	m := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, m); err != nil {
		return
	}
	end := 12 // of the head
	for m[end] != 0 {
		end += 1 + int(m[end])
	}
	end += 5 // the last label, the type and the class
	isA := binary.BigEndian.Uint16(m[end-4:]) == 1
	m = m[:end]
	binary.BigEndian.PutUint16(m[2:], 0x8180) // an answer without an error
	copy(m[6:12], make([]byte, 6))            // the counts of the other parts
	if isA {
		m[7] = 1
		to := address()
		m = slices.Concat(m, []byte{0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4}, to[:]) // the name of the question, A, IN, for no time
	}
	_, _ = c.Write(binary.BigEndian.AppendUint16(nil, uint16(len(m)))) // the resolver may have gone
	_, _ = c.Write(m)
}

// TestRebinding: what counts is the address of the connection. A name whose first address may be
// reached does not let the second one be.
func TestRebinding(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	c := outbound.Client(outbound.Config{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: names(t, [4]byte{127, 0, 0, 1}, [4]byte{127, 0, 0, 2}),
	})
	if _, err := get(t, c, "http://rebind.example"+port); err != nil {
		t.Errorf("the first time: %v", err)
	}
	_, err := get(t, c, "http://rebind.example"+port)
	wantRefused(t, "the second time", err)
}

package outbound

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second
	// perHost is how many idle connections to a host are kept: jobs often go to one, many at once.
	perHost = 32
	// headerBytes is how much an answer may say before its body.
	headerBytes = 64 << 10
)

// RefusedError says that an address is none that may be reached.
type RefusedError struct{ Address netip.Addr }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is no public address, and this server does not allow it (--push-allow)", e.Address)
}

// Config configures a client.
type Config struct {
	// Allow are the addresses that may be reached beside public ones.
	Allow []netip.Prefix
	// Resolver resolves names. Default: that of the system.
	Resolver *net.Resolver
}

// Client returns a client whose requests reach only what they may.
func Client(c Config) *http.Client {
	check := func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if !IsAllowed(to.Addr(), c.Allow) {
			return &RefusedError{to.Addr().Unmap()}
		}
		return nil
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: c.Resolver, ControlContext: check}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTimeout,
			MaxIdleConnsPerHost: perHost, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: headerBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

package pg

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	codePassword    = "28P01"
	codeNoDatabase  = "3D000"
	codeTooMany     = "53300"
	codeCannotYet   = "57P03"
	codeWrongOption = "22023"
	codeNoOption    = "42704"
)

// connectError is why there is no connection, in one sentence that says what to do. pgx tells what
// became of every attempt, and one of several is without TLS.
type connectError struct {
	text string
	err  error // of the attempt that tells most
}

func (e *connectError) Error() string { return e.text }

func (e *connectError) Unwrap() error { return e.err }

// connecting returns the sentence for an error of pgx's if it is that there is no connection.
func connecting(err error) (*connectError, bool) {
	failed, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return nil, false
	}
	at := serverName(failed.Config)
	cause := tellingMost(failed.Unwrap())
	if pgErr, ok := errors.AsType[*pgconn.PgError](cause); ok {
		return &connectError{"PostgreSQL at " + at + " " + refusedBy(pgErr, failed.Config), pgErr}, true
	}
	return &connectError{"cannot connect to PostgreSQL at " + at + ": " + unreachable(cause), cause}, true
}

// serverName is where the servers are that were tried.
func serverName(config *pgconn.Config) string {
	var names []string
	add := func(host string, port uint16) {
		network, name := pgconn.NetworkAddress(host, port)
		if network != "unix" {
			name = net.JoinHostPort(host, strconv.Itoa(int(port)))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(config.Host, config.Port)
	for _, f := range config.Fallbacks {
		add(f.Host, f.Port)
	}
	return strings.Join(names, " or ")
}

// tellingMost chooses among the errors of several attempts: what a server says tells more than that
// another one cannot be reached, and that it has no TLS is no reason where it may do without.
func tellingMost(err error) error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return err
	}
	best, most := err, -1
	for _, attempt := range joined.Unwrap() {
		if w := weight(attempt); w > most {
			best, most = attempt, w
		}
	}
	return best
}

func weight(err error) int {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		if pgErr.Code == "28000" { // perhaps only without TLS, or only with it
			return 4
		}
		return 5
	}
	switch {
	case refusesTLS(err):
		return 0
	case isDial(err):
		return 1
	case strings.Contains(err.Error(), "tls error"):
		return 3
	}
	return 2
}

func refusesTLS(err error) bool {
	return strings.Contains(err.Error(), "server refused TLS connection")
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// refusedBy says why a server refuses a connection.
func refusedBy(pgErr *pgconn.PgError, config *pgconn.Config) string {
	database := config.Database
	if database == "" {
		database = config.User
	}
	role := fmt.Sprintf("refused the role %q: ", config.User)
	switch code := pgErr.Code; {
	case code == codePassword && config.Password == "":
		return role + "no password is given; add it to the address, or set PGPASSWORD"
	case code == codePassword:
		return role + "wrong password, or no such role; check user and password"
	case strings.HasPrefix(code, "28"):
		return role + pgErr.Message + "; check user, database and sslmode, and the server's pg_hba.conf"
	case code == codeNoDatabase:
		return fmt.Sprintf("has no database %q; check its name, or create it with createdb or CREATE DATABASE", database)
	case code == CodeDenied:
		quoted := func(name string) string { return pgx.Identifier{name}.Sanitize() }
		return role + fmt.Sprintf("it may not connect to the database %q; run: GRANT CONNECT ON DATABASE %s TO %s",
			database, quoted(database), quoted(config.User))
	case code == codeTooMany:
		return "refused the connection: " + pgErr.Message + "; check its max_connections, or set pool_max_conns lower"
	case code == codeCannotYet:
		return "refused the connection: " + pgErr.Message + "; try again later"
	case code == codeWrongOption, code == codeNoOption:
		return "refused the connection: " + pgErr.Message + "; check the options of the address"
	}
	return fmt.Sprintf("refused the connection: %s (SQLSTATE %s)", pgErr.Message, pgErr.Code)
}

// unreachable says why a server does not answer.
func unreachable(err error) string {
	const check = "; check host and port, and that the server is running"
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case refusesTLS(err):
		return "the server has no TLS; check host and port, or set sslmode=disable"
	case isCertificate(err):
		return certificate(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused" + check
	case isDial(err) && errors.Is(err, fs.ErrNotExist):
		return "there is no such socket" + check
	case isDial(err) && errors.Is(err, fs.ErrPermission):
		return "this user may not use the socket; check host and port"
	case isLookup(err):
		return lookup(err)
	case isNet && timeout.Timeout():
		return "no answer in time" + check
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed; check that PostgreSQL listens there"
	case strings.Contains(err.Error(), "tls error"):
		return "the TLS handshake failed; check host, port and sslmode"
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok { // no route to the host, and the like
		return number.Error() + check
	}
	if _, ok := errors.AsType[*pgconn.NotPreferredError](err); ok {
		return "no server is as target_session_attrs wants it"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}

func isLookup(err error) bool {
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

func lookup(err error) string {
	if failed, _ := errors.AsType[*net.DNSError](err); failed.IsNotFound {
		return "the host is not found; check its name"
	}
	return "the name of the host cannot be looked up; check the network"
}

func isCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok || strings.Contains(err.Error(), "x509: ")
}

func certificate(err error) string {
	const check = "; check sslrootcert and sslmode"
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by an unknown authority" + check
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "its certificate is for another host; check host and sslmode"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "its certificate has expired or is not valid yet; check the clock, or renew the certificate"
	}
	return "its certificate is not accepted" + check
}

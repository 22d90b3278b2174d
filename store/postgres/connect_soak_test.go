//go:build soak

package postgres_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// refuser is a server without TLS that refuses everybody with errors of PostgreSQL, or hangs up if
// there is none. It returns its address.
func refuser(t *testing.T, refusal *pgproto3.ErrorResponse) string {
	t.Helper()
	return answerer(t, func(conn net.Conn) {
		backend := pgproto3.NewBackend(conn, conn)
		for {
			message, err := backend.ReceiveStartupMessage()
			if err != nil || refusal == nil {
				return
			}
			if _, ok := message.(*pgproto3.SSLRequest); ok {
				if _, err := conn.Write([]byte("N")); err != nil {
					return
				}
				continue
			}
			backend.Send(refusal)
			_ = backend.Flush() // the client sees
			return
		}
	})
}

// answerer is a server that does the same with every connection, and closes it.
func answerer(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				answer(conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// tlsServer is a server with a certificate that nobody signed.
func tlsServer(t *testing.T) string {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // makes the certificate
	config := web.TLS.Clone()
	web.Close()
	return answerer(t, func(conn net.Conn) {
		backend := pgproto3.NewBackend(conn, conn)
		if _, err := backend.ReceiveStartupMessage(); err == nil {
			if _, err := conn.Write([]byte("S")); err == nil {
				_ = tls.Server(conn, config).Handshake() // the client sees
			}
		}
	})
}

// TestConnectionErrors checks that one sentence says why no connection could be made and what to
// do, without the words of pgx, and without what its other attempts came to.
func TestConnectionErrors(t *testing.T) {
	t.Parallel()
	refusal := func(code, message string) string {
		return refuser(t, &pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
	}
	badPassword := refusal("28P01", `password authentication failed for user "u"`)
	noTLS := badPassword
	full, starting := refusal("53300", "sorry, too many clients already"), refusal("57P03", "the database system is starting up")
	noEntry := refusal("28000", `no pg_hba.conf entry for host "::1", user "u", database "d", no encryption`)
	missing, denied := refusal("3D000", `database "d" does not exist`), refusal("42501", `permission denied for database "d"`)
	silent, unsigned := refuser(t, nil), tlsServer(t)
	hanging := answerer(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	socket := t.TempDir()
	for _, c := range []struct {
		url   string
		class error
		want  string
	}{
		{
			"postgres://u:secret@" + badPassword + "/d", store.ErrInvalid,
			`PostgreSQL at ` + badPassword + ` refused the role "u": wrong password, or no such role; check user and password`,
		},
		{
			"postgres://u@" + badPassword + "/d?passfile=/none", store.ErrInvalid,
			`PostgreSQL at ` + badPassword + ` refused the role "u": no password is given; add it to the address, or set PGPASSWORD`,
		},
		{
			"postgres://u:secret@" + noEntry + "/d", store.ErrInvalid,
			`PostgreSQL at ` + noEntry + ` refused the role "u": no pg_hba.conf entry for host "::1", user "u", database "d", no encryption; ` +
				"check user, database and sslmode, and the server's pg_hba.conf",
		},
		{
			"postgres://u:secret@" + missing + "/d", store.ErrInvalid,
			`PostgreSQL at ` + missing + ` has no database "d"; check its name, or create it with createdb or CREATE DATABASE`,
		},
		{
			"postgres://u:secret@" + denied + "/d", store.ErrPermission,
			`PostgreSQL at ` + denied + ` refused the role "u": it may not connect to the database "d"; run: GRANT CONNECT ON DATABASE "d" TO "u"`,
		},
		{
			"postgres://u:secret@" + full + "/d", store.ErrUnavailable,
			`PostgreSQL at ` + full + ` refused the connection: sorry, too many clients already; ` +
				"check its max_connections, or set pool_max_conns lower",
		},
		{
			"postgres://u:secret@" + starting + "/d", store.ErrUnavailable,
			`PostgreSQL at ` + starting + ` refused the connection: the database system is starting up; try again later`,
		},
		{
			"postgres://u:secret@" + noTLS + "/d?sslmode=require", store.ErrUnavailable,
			`cannot connect to PostgreSQL at ` + noTLS + `: the server has no TLS; check host and port, or set sslmode=disable`,
		},
		{
			"postgres://u:secret@" + unsigned + "/d?sslmode=verify-full", store.ErrUnavailable,
			`cannot connect to PostgreSQL at ` + unsigned + `: its certificate is signed by an unknown authority; check sslrootcert and sslmode`,
		},
		{
			"postgres://u:secret@" + silent + "/d?sslmode=disable", store.ErrUnavailable,
			`cannot connect to PostgreSQL at ` + silent + `: the connection was closed; check that PostgreSQL listens there`,
		},
		{
			"postgres://u:secret@" + hanging + "/d?sslmode=disable&connect_timeout=1", store.ErrUnavailable,
			`cannot connect to PostgreSQL at ` + hanging + `: no answer in time; check host and port, and that the server is running`,
		},
		{
			"postgres://u:secret@127.0.0.1:1/d", store.ErrUnavailable,
			"cannot connect to PostgreSQL at 127.0.0.1:1: connection refused; check host and port, and that the server is running",
		},
		{
			"postgres://u:secret@127.0.0.1:1,127.0.0.1:2/d", store.ErrUnavailable,
			"cannot connect to PostgreSQL at 127.0.0.1:1 or 127.0.0.1:2: connection refused; check host and port, and that the server is running",
		},
		{
			"postgres://u:secret@none.invalid:1/d", store.ErrUnavailable,
			"cannot connect to PostgreSQL at none.invalid:1: the host is not found; check its name",
		},
		{
			"postgres://u:secret@/d?host=" + socket, store.ErrUnavailable,
			"cannot connect to PostgreSQL at " + socket + "/.s.PGSQL.5432: there is no such socket; " +
				"check host and port, and that the server is running",
		},
	} {
		_, err := postgres.URL(c.url).Open(t.Context())
		if want := c.class.Error() + ": " + c.want; !errors.Is(err, c.class) || err.Error() != want {
			t.Errorf("%s says\n     %v\nnot  %s", c.url, err, want)
		}
		if _, err := postgres.URL(c.url).Schema(t.Context()); !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Schema of %s says\n     %v\nnot  …%s", c.url, err, c.want)
		}
	}
}

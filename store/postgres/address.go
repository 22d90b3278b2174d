package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
)

// Validate finds what is wrong with the configuration without a connection, such as a port that is
// no number. Open does the same first. The errors are store.ErrInvalid.
func (c Config) Validate() error {
	c, err := c.withDefaults()
	if err != nil || c.URL == "" {
		return err
	}
	_, err = c.parse()
	return err
}

// parse reads the URL. The errors of pgx quote it, and values in it, with what they take for the
// password blotted out: one with a quote in it shows a part. So they are told in words of ours.
func (c Config) parse() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(c.URL)
	if err == nil {
		return config, nil
	}
	problem := wrongAddress(err)
	if _, err := pgxpool.ParseConfig("host=localhost"); err != nil && wrongAddress(err) == problem {
		problem += "; it is set in the environment (PGPORT, PGSSLMODE, …)"
	}
	return nil, fmt.Errorf("%w: %s", store.ErrInvalid, problem)
}

// wrongAddresses are pgx's words for what is wrong, up to the values, and ours.
var wrongAddresses = []struct{ theirs, ours string }{
	{"failed to parse as URL", "the URL is not valid; percent-encode special characters in the user and the password: %40 for @, " +
		"%2F for /, %3F for ?, %23 for #, %3A for :, %25 for %"},
	{"failed to parse as keyword/value", "the connection string is not valid; write it as \"host=db user=app dbname=app\""},
	{"failed to read service", "the service is not in the service file, or there is none"},
	{"invalid port", "the port must be a number from 1 to 65535"},
	{"could not match", "there must be one port, or as many ports as hosts"},
	{"invalid connect_timeout", "connect_timeout must be a number of seconds"},
	{"failed to configure TLS (sslmode is invalid", "sslmode must be disable, allow, prefer, require, verify-ca or verify-full"},
	{"failed to configure TLS (both", "sslcert and sslkey must be given together"},
	{"failed to configure TLS (unable to read CA file", "the file of sslrootcert cannot be read"},
	{"failed to configure TLS (unable to add CA", "the file of sslrootcert contains no certificate"},
	{"failed to configure TLS (unable to read sslkey", "the file of sslkey cannot be read"},
	{"failed to configure TLS (failed to decode sslkey", "the file of sslkey contains no key"},
	{"failed to configure TLS (unable to find sslpassword", "the key of sslkey is encrypted; set sslpassword"},
	{"failed to configure TLS (unable to decrypt key", "sslpassword does not decrypt the key of sslkey"},
	{"failed to configure TLS (unable to read cert", "the file of sslcert cannot be read"},
	{"failed to configure TLS (unable to load cert", "the certificate of sslcert and the key of sslkey do not fit"},
}

// wrongOptions are those that pgx names at the beginning of what it says.
var wrongOptions = strings.Fields(`
channel_binding default_query_exec_mode description_cache_capacity max_protocol_version min_protocol_version
pool_health_check_period pool_max_conn_idle_time pool_max_conn_lifetime_jitter pool_max_conn_lifetime
pool_max_conns pool_min_conns pool_min_idle_conns pool_ping_timeout require_auth sslcertmode
statement_cache_capacity target_session_attrs
`)

// wrongAddress says what is wrong with an address, without its values.
func wrongAddress(err error) string {
	text := err.Error()
	if quoted := strings.LastIndex(text, "`: "); quoted >= 0 {
		text = text[quoted+len("`: "):]
	}
	for _, w := range wrongAddresses {
		if !strings.HasPrefix(text, w.theirs) {
			continue
		}
		if file, ok := errors.AsType[*fs.PathError](err); ok {
			return w.ours + ": " + file.Err.Error()
		}
		return w.ours
	}
	for _, name := range wrongOptions {
		for _, verb := range []string{"", "invalid ", "unknown ", "cannot parse "} {
			if strings.HasPrefix(text, verb+name) {
				return name + " is invalid"
			}
		}
	}
	return "the address is not valid"
}

// String implements store.Source. database/sql does not tell where its database is.
func (c Config) String() string {
	if c.DB != nil {
		return c.ofDB()
	}
	config, err := c.connConfig()
	if err != nil {
		return "postgres:(invalid)"
	}
	u := url.URL{Scheme: "postgres", Host: config.Host, Path: "/" + config.Database}
	query := url.Values{}
	if config.User != "" {
		u.User = url.User(config.User)
	}
	port := ""
	if config.Port != 0 && config.Port != 5432 {
		port = strconv.Itoa(int(config.Port))
	}
	switch {
	case isSocket(config.Host):
		u.Host = ""
		query.Set("host", config.Host)
		if port != "" {
			query.Set("port", port)
		}
	case port != "":
		u.Host = net.JoinHostPort(config.Host, port)
	case strings.Contains(config.Host, ":"):
		u.Host = "[" + config.Host + "]"
	}
	if c.SchemaName != "" {
		query.Set("schema", c.SchemaName)
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%2F", "/")
	return u.String()
}

// ofDB is what there is to say of a *sql.DB.
func (c Config) ofDB() string {
	if c.SchemaName == "" {
		return "postgres:(*sql.DB)"
	}
	return "postgres:(*sql.DB)?" + url.Values{"schema": {c.SchemaName}}.Encode()
}

// connConfig returns the settings of connections, without ours.
func (c Config) connConfig() (*pgx.ConnConfig, error) {
	if c.Pool != nil {
		return c.Pool.Config().ConnConfig, nil
	}
	config, err := c.parse()
	if err != nil {
		return nil, err
	}
	return config.ConnConfig, nil
}

// isSocket reports whether a host is the folder of a Unix socket.
func isSocket(host string) bool { return strings.HasPrefix(host, "/") }

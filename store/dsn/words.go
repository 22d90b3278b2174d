package dsn

import (
	"fmt"
	"slices"
	"strings"
)

// keywords are the keywords of libpq, pgx and Holdfast. A text that starts with one is no file.
var keywords = strings.Fields(`
application_name channel_binding connect_timeout database dbname host krbspn krbsrvname max_protocol_version
migrate min_protocol_version options passfile password port require_auth schema service servicefile session
sslcert sslcertmode sslkey sslmode sslnegotiation sslpassword sslrootcert sslsni target_session_attrs user

default_query_exec_mode description_cache_capacity statement_cache_capacity
pool_health_check_period pool_max_conn_idle_time pool_max_conn_lifetime pool_max_conn_lifetime_jitter
pool_max_conns pool_min_conns pool_min_idle_conns pool_ping_timeout
`)

// serverSettings are common settings of the server, which pgx passes on. libpq knows none of them;
// all others can be set with the keyword options.
var serverSettings = strings.Fields(`
bytea_output client_connection_check_interval client_encoding client_min_messages datestyle
default_tablespace default_transaction_deferrable default_transaction_isolation default_transaction_read_only
extra_float_digits idle_in_transaction_session_timeout idle_session_timeout intervalstyle jit lc_messages
lc_monetary lc_numeric lc_time lock_timeout log_min_duration_statement log_min_messages log_statement
maintenance_work_mem max_parallel_workers_per_gather plan_cache_mode role row_security search_path
session_replication_role standard_conforming_strings statement_timeout synchronous_commit
tcp_keepalives_count tcp_keepalives_idle tcp_keepalives_interval tcp_user_timeout temp_buffers
temp_tablespaces timezone transaction_timeout work_mem
`)

// libpqOnly are keywords of libpq that pgx does not know: it would pass them to the server, perhaps
// not the one that was meant, which would refuse them.
var libpqOnly = strings.Fields(`
fallback_application_name gssdelegation gssencmode gsslib hostaddr keepalives keepalives_count
keepalives_idle keepalives_interval load_balance_hosts oauth_client_id oauth_client_secret oauth_issuer
oauth_scope replication requirepeer requiressl scram_client_key scram_server_key ssl_max_protocol_version
ssl_min_protocol_version sslcompression sslcrl sslcrldir sslkeylogfile
`)

// sqliteOnly are the options of SQLite.
var sqliteOnly = []string{"poll", "readers", "synchronous"}

// othersWords are the names of keywords in other programs.
var othersWords = map[string]string{
	"addr": "host", "address": "host", "data source": "host", "db": "dbname", "hostname": "host", "initial catalog": "dbname",
	"login": "user", "name": "dbname", "pass": "password", "passwd": "password", "passphrase": "password", "pw": "password",
	"pwd": "password", "secret": "password", "server": "host", "ssl": "sslmode", "timeout": "connect_timeout", "tls": "sslmode",
	"uid": "user", "user id": "user", "userid": "user", "username": "user", "usr": "user",
}

// isKeyword reports whether a word is a keyword of PostgreSQL connection strings, even one without
// effect.
func isKeyword(word string) bool {
	word = strings.ToLower(word)
	return slices.Contains(keywords, word) || slices.Contains(libpqOnly, word)
}

// works reports whether an option of a PostgreSQL connection string has an effect. A name with a
// dot is a setting of an extension or a custom one.
func works(name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains(keywords, name) || slices.Contains(serverSettings, lower) || strings.Contains(strings.Trim(name, "."), ".")
}

// meant returns the keyword that a word is probably a misspelling of, or "".
func meant(word string) string {
	word = strings.ToLower(word)
	if known, ok := othersWords[word]; ok {
		return known
	}
	best, least := "", 3
	if len(word) < 6 {
		least = 2
	}
	for _, known := range keywords {
		if d := distance(word, known); d < least && len(known) > 2*d {
			best, least = known, d
		}
	}
	return best
}

// distance is the edit distance of two words: how many characters must be added, removed, changed
// or swapped.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

// named is an option, in the order of the text. A hidden one may be part of a password that
// contains a space or a &.
type named struct {
	name   string
	hidden bool
}

// checkPostgres finds options that are repeated, unknown, or without effect. advice says what to do
// about a password that was split into options.
func checkPostgres(given []named, advice string) error {
	count := map[string]int{}
	for _, g := range given {
		name := g.name
		if name == "database" { // pgx accepts it as well
			name = "dbname"
		}
		count[name]++
		switch {
		case works(g.name) && count[name] > 1:
			return invalid("option %s: given more than once", name)
		case works(g.name):
		case slices.Contains(libpqOnly, g.name):
			return invalid("%q is an option of libpq that Holdfast cannot use; remove it", g.name)
		case slices.Contains(sqliteOnly, g.name):
			return invalid("PostgreSQL has no option %q; it is one of SQLite", g.name)
		default:
			return unknown(g, advice)
		}
	}
	return nil
}

func unknown(g named, advice string) error {
	what, remedy := "an option is unknown, and not shown because it may be part of a password", advice
	if !g.hidden {
		what, remedy = fmt.Sprintf("PostgreSQL has no option %q", g.name), "set one of the server as options='-c NAME=VALUE'"
	}
	if known := meant(g.name); known != "" {
		remedy = "did you mean " + known + "?"
	}
	return invalid("%s; %s", what, remedy)
}

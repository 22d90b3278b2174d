// Package dsn opens the database of a connection string (DSN), for programs whose users choose it
// in a flag, a configuration file or an environment variable. It links SQLite and PostgreSQL; a
// program that knows its database imports only the package of that one.
//
//	holdfast.db                         a SQLite file; any path will do
//	sqlite:PATH                         the same, for a path that could be taken for something else
//	postgres://user@host:5432/app       a PostgreSQL URL, as libpq and pgx know it; postgresql:// is the same
//	host=db user=app dbname=app         the same in libpq's keywords
//
// A text that may contain a password, such as user:password@host without postgres://, is neither
// taken for a file nor shown in errors. The same applies to a text that resembles a connection
// string: one with a keyword, even a misspelt one, or with two pairs of word=value. Write such a
// path as sqlite:PATH, or begin it with ./ or /. White space around the text is ignored.
//
// # Options
//
// Options follow a question mark, as in a URL: holdfast.db?synchronous=normal&readers=8, or are
// among the keywords: dbname=app schema=jobs. An unknown or repeated option is an error.
//
//	migrate      on (default), or off: the schema is neither created nor brought up to date
//
// Options of SQLite:
//
//	synchronous  full (default), or normal: a power loss may take the last commits
//	poll         how often to look for what other processes wrote, such as 20ms; off: never
//	readers      how many reads may run at once
//
// Options of PostgreSQL, besides those of pgx, such as sslmode, connect_timeout and pool_max_conns,
// and common settings of the server, such as search_path and statement_timeout; set others with
// options='-c NAME=VALUE':
//
//	schema       the schema that holds the tables; default holdfast
//	session      on (default), or off: for poolers in transaction mode
//
// A path ends at its first question mark; a file with one in its name is opened with sqlite.File.
//
// # Imports
//
// This package imports store and both databases.
package dsn

package alike

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// rule says what stands in a text instead of what it finds.
type rule struct {
	name    string
	needs   string // whatever it finds has one of these characters
	find    string // a regular expression
	becomes string // "": what was found stays as it is, and no later rule sees it
	only    func(found string) bool
}

const digits = "0123456789"

// rules are in the order in which they are applied. What a rule puts in is less of digits, quotes,
// slashes and the like than what it replaces, so applying them all again and again ends.
var rules = []rule{
	// What tells one failure from another, though it has digits or quotes.
	{
		name: "code", needs: digits,
		find: `\b(?i:SQLSTATE|status(?: code)?|exit(?: status| code)?|code|errno|SMTP|HTTP(?:/[0-9.]+)?)(?: |: |=| = )\(?[0-9]{1,5}\b`,
	},
	{name: "mysql", needs: digits, find: `\bError 1[0-9]{3}\b`},
	{name: "oracle", needs: digits, find: `\bORA-[0-9]{5}\b`},
	{name: "sqlstate", needs: digits, find: `\b(?i:SQLSTATE)[ =:]\(?[0-9A-Z]{5}\b`},
	{
		name: "word", needs: digits,
		find: `\b(?i:x509|sha(?:1|2|3|256|384|512)|md5|crc32c?|utf-?8|utf-?16|http[23]|h2c?|ipv[46]|tls1\.[0-3]|tlsv1|base(?:32|64)|` +
			`u?int(?:8|16|32|64)|float(?:32|64)|complex(?:64|128)|ed25519|p(?:256|384|521)|pkcs[0-9]{1,2}|s3|ec2|k8s|oauth2|gzip|` +
			`zlib|utf8mb4|iso-?8859(?:-1)?|rfc[0-9]{3,4}|i18n|l10n|log4j|neo4j|oauth1|pgx5?|sqlite3|python3|java8)\b`,
	},
	{
		name: "named", needs: "\"'`",
		find: `\b(?i:constraint|relation|column|table|index|function|type|role|database|schema|field|sequence|parameter|` +
			`method|queue|kind|step|header|option|property|key) (?:"[A-Za-z_][A-Za-z_.-]*"|'[A-Za-z_][A-Za-z_.-]*'|` + "`[A-Za-z_][A-Za-z_.-]*`)",
	},

	// What is quoted, from one quote to the next of its kind.
	{name: "quoted", needs: "\"", find: `"(?:[^"\\]|\\.)*"`, becomes: "<text>"},
	{name: "backquoted", needs: "`", find: "`[^`]*`", becomes: "<text>"},
	{name: "single", needs: "'", find: `\B'(?:[^'\\]|\\.)*'\B`, becomes: "<text>"},
	{name: "curly", needs: "“‘«", find: `“[^”]*”|‘[^’]*’|«[^»]*»`, becomes: "<text>"},
	{name: "value", needs: "=", find: `\)=\([^()]*\)`, becomes: ")=(<text>)"},

	// Where something is.
	{name: "url", needs: "/", find: `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]*[^\s"'<>` + "`" + `.,:;()]`, becomes: "<url>"},
	{name: "email", needs: "@", find: `\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\b`, becomes: "<email>"},
	{name: "windows path", needs: "\\", find: `\b[A-Za-z]:\\[^\s"'<>|:*?]+(?::[0-9]+){0,2}`, becomes: "<path>"},
	{name: "path", needs: "/", find: `\B(?:~|\.{1,2})?(?:/[A-Za-z0-9._@%+=~-]+){2,}/?(?::[0-9]+){0,2}`, becomes: "<path>"},
	{
		name: "file", needs: ":",
		find: `\b(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+\.[A-Za-z]{1,5}(?::[0-9]+){1,2}\b`, becomes: "<path>", only: isFile,
	},
	{name: "relative path", needs: "/", find: `\b[A-Za-z0-9._-]+(?:/[A-Za-z0-9._@%+=~-]+){2,}`, becomes: "<path>", only: hasDigitAndLetter},
	{name: "uuid", needs: "-", find: `\b[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\b`, becomes: "<id>"},
	{name: "pointer", needs: "xX", find: `\+?\b0[xX][0-9A-Fa-f]+\b`, becomes: "<hex>"},
	{
		name: "ipv6", needs: ":",
		find: `\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%[A-Za-z0-9]+)?\](?::[0-9]+)?|\b(?:[0-9A-Fa-f]{1,4}:){3,7}:?[0-9A-Fa-f]{1,4}\b|` +
			`\b(?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4})+\b`, becomes: "<address>", only: isIPv6,
	},
	{name: "ipv4", needs: ".", find: `\b[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?:/[0-9]{1,2})?(?::[0-9]+)?\b`, becomes: "<address>"},

	// When it was, and how long it took.
	{name: "timestamp", needs: "-/", find: `\b[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?` +
		`(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\b)*)?(?: m=[+-][0-9.]+)?`, becomes: "<time>"},
	{name: "day", needs: "/.", find: `\b[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{4}\b`, becomes: "<time>"},
	{
		name: "date", needs: ":",
		find: `\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:[0-9]{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*` +
			`(?: {1,2}[0-9]{1,2},?)?(?: [0-9]{4})? [0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?: [0-9]{4})?` +
			`(?: (?:UTC|GMT|[+-][0-9]{4})\b)?(?: [0-9]{4}\b)?`,
		becomes: "<time>",
	},
	{name: "clock", needs: ":", find: `\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?: ?[AaPp][Mm])?\b`, becomes: "<time>"},
	{name: "duration", needs: digits, find: `(?:\B[-+])?\b(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|μs|ms|s|m|h|d))+\b`, becomes: "<duration>"},
	{
		name: "long", needs: digits,
		find: `\b[0-9]+(?:\.[0-9]+)? ?(?:nanoseconds?|microseconds?|milliseconds?|millis|` +
			`seconds?|secs?|minutes?|mins?|hours?|days?)\b`,
		becomes: "<duration>",
	},

	// Hosts with a port, and those that are looked up.
	{
		name: "host", needs: ":",
		find: `\b[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]*[A-Za-z0-9])*:[0-9]{2,5}\b`, becomes: "<address>", only: isHost,
	},
	{name: "lookup", needs: ".", find: `\blookup [A-Za-z0-9-]*\.[A-Za-z0-9.-]*`, becomes: "lookup <host>"},

	// Names that machines give.
	{name: "hex", needs: digits, find: `\b[0-9A-Fa-f]{8,}\b`, becomes: "<hex>", only: hasDigitAndLetter},
	{name: "token", needs: digits, find: `\b[A-Za-z0-9_]{16,}\b`, becomes: "<id>", only: hasManyDigits},
	{name: "hash", needs: "_", find: `\b[A-Za-z]{2,8}_[A-Za-z0-9]{8,}\b`, becomes: "<id>", only: isMixed},
	{name: "number", needs: digits, find: `(?:\B[-+])?\b[0-9]+(?:[.,_][0-9]+)*(?:[eE][-+]?[0-9]+)?\b|[0-9]+`, becomes: "<n>"},
}

// patterns are those of the rules, compiled when the first error is looked at: of the programs that
// link this most never see one.
var patterns = sync.OnceValue(func() []*regexp.Regexp {
	patterns := make([]*regexp.Regexp, len(rules))
	for i, r := range rules {
		patterns[i] = regexp.MustCompile(r.find)
	}
	return patterns
})

func hasDigitAndLetter(found string) bool {
	return strings.ContainsAny(found, digits) && strings.ContainsFunc(found, unicode.IsLetter)
}

// isIPv6 tells an address from a range, such as [:5].
func isIPv6(found string) bool {
	address, _, _ := strings.Cut(found, "]")
	return strings.Count(address, ":") >= 2 && (strings.Contains(found, "::") || countDigits(found) > 0)
}

func countDigits(found string) (n int) {
	for _, r := range found {
		if '0' <= r && r <= '9' {
			n++
		}
	}
	return n
}

// hasManyDigits tells ids that some machine gave from long names, which have few digits.
func hasManyDigits(found string) bool {
	return countDigits(found) >= 4 && strings.ContainsFunc(found, unicode.IsLetter)
}

// isMixed tells random letters and digits behind a prefix, as in ch_1MqLiJLkdIwHu7, from names.
func isMixed(found string) bool {
	_, id, _ := strings.Cut(found, "_")
	return countDigits(id) >= 2 && strings.ContainsFunc(id, unicode.IsUpper) && strings.ContainsFunc(id, unicode.IsLower)
}

// isHost tells a host from a word before a number, as in attempt:12: it has a dot or a digit, or
// is the one that all have.
func isHost(found string) bool {
	host, _, _ := strings.Cut(found, ":")
	return host == "localhost" || strings.Contains(host, ".") && strings.ContainsFunc(host, unicode.IsLetter) ||
		strings.Contains(host, "-") && strings.ContainsFunc(host, unicode.IsLetter)
}

// isFile tells a file from a host, whose last part is none of these.
func isFile(found string) bool {
	name, _, _ := strings.Cut(found, ":")
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "go", "py", "js", "ts", "tsx", "jsx", "rb", "rs", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "php", "sql", "json", "yaml",
		"yml", "toml", "xml", "html", "csv", "txt", "proto", "sh", "ex", "exs", "erl", "scala", "swift", "tmpl", "md", "ini", "conf", "env", "s":
		return true
	}
	return false
}

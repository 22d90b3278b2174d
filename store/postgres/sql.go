package postgres

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the texts of the sql directory by the names in their "-- name:" lines, as inSchema takes them.
var statements = mustParse(sqlFiles)

func mustParse(files fs.FS) map[string]string {
	texts := map[string]string{}
	paths, err := fs.Glob(files, "sql/*.sql")
	if err != nil {
		panic(err)
	}
	for _, path := range paths {
		content, err := fs.ReadFile(files, path)
		if err != nil {
			panic(err)
		}
		name := ""
		for line := range strings.Lines(string(content)) {
			switch {
			case strings.HasPrefix(line, "-- name: "):
				name = strings.TrimSpace(strings.TrimPrefix(line, "-- name: "))
				if _, twice := texts[name]; twice {
					panic("postgres: two statements are named " + name)
				}
			case strings.HasPrefix(line, "--"), name == "":
			default:
				texts[name] += line
			}
		}
	}
	for name, text := range texts {
		texts[name] = strings.TrimSuffix(strings.TrimSpace(text), ";")
	}
	return texts
}

// statementsIn returns the statements for a schema.
func statementsIn(schema string) map[string]string {
	texts := make(map[string]string, len(statements))
	for name, text := range statements {
		texts[name] = inSchema(text, schema)
	}
	return texts
}

// inSchema puts the quoted name of a schema where a text says {schema}, and the name as a text where it says {schema_name}. They are the
// only things that are ever put into one, and never between dollars, which a name may have. {fence} is the
// number of the advisory lock of the journals of node t.id, made of both names: all who take it have to mean the same, so it is written
// here.
func inSchema(text, schema string) string {
	name := "'" + strings.ReplaceAll(schema, "'", "''") + "'"
	fence := "hashint8extended(t.id, hashtextextended(" + name + ", 0))"
	return strings.NewReplacer("{schema}", pgx.Identifier{schema}.Sanitize(), "{schema_name}", name, "{fence}", fence).Replace(text)
}

// text returns a statement. An unknown name is a mistake in this package.
func (s *Store) text(name string) string {
	text, ok := s.texts[name]
	if !ok {
		panic(fmt.Sprintf("postgres: no statement is named %q", name))
	}
	return text
}

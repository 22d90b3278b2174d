package dsn

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Memory names a SQLite database in memory, which is private to its store.
const Memory = sqlite.Memory

func parseSQLite(text string, s settings) (store.Source, error) {
	path, query, _ := strings.Cut(text, "?")
	if path == "" {
		return nil, invalid("the path is empty")
	}
	config := sqlite.File(path)
	o := parseOptions(query)
	config.NoMigrate = o.noMigrate(s)
	config.Synchronous = choose(o, "synchronous", sqlite.Full,
		map[string]sqlite.Synchronous{"full": sqlite.Full, "normal": sqlite.Normal})
	if text, given := o.take("poll"); given {
		if config.Poll = -1; text != "off" {
			var err error
			if config.Poll, err = time.ParseDuration(text); err != nil || config.Poll <= 0 {
				o.failf("poll", "must be off, or a positive duration such as 20ms")
			}
		}
	}
	if text, given := o.take("readers"); given {
		var err error
		if config.Readers, err = strconv.Atoi(text); err != nil || config.Readers < 1 {
			o.failf("readers", "must be a positive number")
		}
	}
	return config, o.end("SQLite")
}

package measure

import (
	"runtime"
	"runtime/debug"
)

// told are the modules whose versions decide about figures.
var told = map[string]bool{
	"github.com/jackc/pgx/v5": true, "github.com/riverqueue/river": true,
	"github.com/riverqueue/river/riverdriver/riverpgxv5": true, "github.com/riverqueue/river/riverdriver/riversqlite": true,
	"modernc.org/sqlite": true, "zombiezen.com/go/sqlite": true,
}

func versions() map[string]string {
	list := map[string]string{"go": runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return list
	}
	for _, module := range info.Deps {
		if !told[module.Path] {
			continue
		}
		list[module.Path] = module.Version
		if module.Replace != nil {
			list[module.Path] = module.Replace.Version
		}
	}
	return list
}

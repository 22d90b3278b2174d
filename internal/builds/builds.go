// Package builds finds out which program this is, from what the linker has put into it. It imports
// nothing of Holdfast.
package builds

import (
	"runtime/debug"
)

// module is the one of Holdfast.
const module = "github.com/holdfastdev/holdfast"

// Program is the version of the program's main module, such as v1.2.3, with the commit if it was
// built between versions. Where there is none, as of a program that was built without its module,
// it is the commit; "" if that is not known either.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return program(info)
}

// Engine is the version of Holdfast in this program; "" if it is not known.
func Engine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return engine(info)
}

// develop is what stands for a version where there is none.
const develop = "(devel)"

func program(info *debug.BuildInfo) string {
	if version := info.Main.Version; version != "" && version != develop {
		return version
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+dirty"
		}
	}
	if commit == "" {
		return info.Main.Version
	}
	return commit + changed
}

func engine(info *debug.BuildInfo) string {
	if info.Main.Path == module {
		return program(info)
	}
	for _, dep := range info.Deps {
		if dep.Path != module {
			continue
		}
		if dep.Replace != nil && (dep.Replace.Version == "" || dep.Replace.Path != module) {
			return dep.Version + " replaced by " + dep.Replace.Path + suffix(dep.Replace.Version)
		}
		if dep.Replace != nil {
			return dep.Replace.Version
		}
		return dep.Version
	}
	return ""
}

func suffix(version string) string {
	if version == "" {
		return ""
	}
	return "@" + version
}

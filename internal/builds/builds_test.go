package builds

import (
	"runtime/debug"
	"testing"
)

func TestProgram(t *testing.T) {
	settings := func(commit, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "-buildmode", Value: "exe"},
			{Key: "vcs.revision", Value: commit},
			{Key: "vcs.modified", Value: modified},
		}
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", nil, "v1.2.3"},
		{"v1.2.4-0.20261127000000-0123456789ab+dirty", settings(commit, "true"), "v1.2.4-0.20261127000000-0123456789ab+dirty"},
		{"(devel)", settings(commit, "false"), "0123456789ab"},
		{"", settings(commit, "true"), "0123456789ab+dirty"},
		{"", settings("abc", "false"), "abc"},
		{"(devel)", nil, "(devel)"},
		{"", nil, ""},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Path: "example.com/shop", Version: c.version}, Settings: c.settings}
		if got := program(info); got != c.want {
			t.Errorf("program(%q, %v) is %q, want %q", c.version, c.settings, got, c.want)
		}
	}
}

func TestEngine(t *testing.T) {
	other := &debug.Module{Path: "example.com/other", Version: "v3.0.0"}
	for _, c := range []struct {
		dep  *debug.Module
		want string
	}{
		{&debug.Module{Path: module, Version: "v0.9.1"}, "v0.9.1"},
		{&debug.Module{Path: module, Version: "v0.9.1", Replace: &debug.Module{Path: module, Version: "v0.9.2"}}, "v0.9.2"},
		{
			&debug.Module{Path: module, Version: "v0.9.1", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.0"}},
			"v0.9.1 replaced by example.com/fork@v1.0.0",
		},
		{&debug.Module{Path: module, Version: "v0.9.1", Replace: &debug.Module{Path: "../holdfast"}}, "v0.9.1 replaced by ../holdfast"},
		{&debug.Module{Path: "example.com/none", Version: "v1.0.0"}, ""},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Path: "example.com/shop", Version: "v7.0.0"}, Deps: []*debug.Module{other, c.dep}}
		if got := engine(info); got != c.want {
			t.Errorf("engine of %+v is %q, want %q", c.dep, got, c.want)
		}
	}
	if got := engine(&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.0.0"}}); got != "v1.0.0" {
		t.Errorf("engine of Holdfast's own program is %q", got)
	}
}

package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Context is where commands go, under a name.
type Context struct {
	Name             string
	Database         string
	DatabaseVariable string // of the environment: it has the database
	Server           string
	Namespace        string
	TokenFile        string
	TokenVariable    string
	TLSCA            string
	Production       bool // who changes something is asked
}

// Contexts are those of a file.
type Contexts struct {
	Path    string
	Current string // "": none
	List    []Context

	text string
}

// field is a setting of a context.
type field struct {
	key string
	of  func(*Context) *string
}

// fields are all settings of a context that are texts.
var fields = []field{
	{"database", func(c *Context) *string { return &c.Database }},
	{"database-variable", func(c *Context) *string { return &c.DatabaseVariable }},
	{"server", func(c *Context) *string { return &c.Server }},
	{"namespace", func(c *Context) *string { return &c.Namespace }},
	{"token-file", func(c *Context) *string { return &c.TokenFile }},
	{"token-variable", func(c *Context) *string { return &c.TokenVariable }},
	{"tls-ca", func(c *Context) *string { return &c.TLSCA }},
}

const (
	keyCurrent    = "current"
	keyProduction = "production"
	tableContext  = "context."
)

// Path is where the file of contexts is, by the environment; "": there is no place for it.
func Path(lookup func(string) (string, bool)) string {
	for _, place := range []struct{ variable, below string }{
		{"XDG_CONFIG_HOME", ""}, {"HOME", ".config"}, {"AppData", ""},
	} {
		if dir, _ := lookup(place.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, place.below, "holdfast", "config.toml")
		}
	}
	return ""
}

// Read reads the contexts of a file; there are none where there is no file.
func Read(path string) (*Contexts, error) {
	c := &Contexts{Path: path}
	if path == "" {
		return c, nil
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, err
	}
	if err := c.parse(string(data)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// parse reads the text of the file.
func (c *Contexts) parse(text string) error {
	f, err := Parse(text)
	if err != nil {
		return err
	}
	c.text, c.Current, c.List = text, "", nil
	for _, t := range f.Tables {
		name, is := strings.CutPrefix(t.Name, tableContext)
		if !is || CheckName(name) != nil {
			return At(t.Line, "[%s] is not known here; a context is [context.NAME]", t.Name)
		}
		c.List = append(c.List, Context{Name: name})
	}
	for i := range f.Entries {
		if err := c.take(&f.Entries[i]); err != nil {
			return err
		}
	}
	for i := range c.List {
		at := slices.IndexFunc(f.Tables, func(t Table) bool { return t.Name == tableContext+c.List[i].Name })
		if err := c.List[i].Check(); err != nil {
			return At(f.Tables[at].Line, "%v", err)
		}
	}
	if e := f.Find("", keyCurrent); e != nil && c.Find(c.Current) == nil {
		return At(e.Line, "there is no context %q", c.Current)
	}
	return nil
}

// take takes a setting.
func (c *Contexts) take(e *Entry) error {
	if e.Table == "" {
		if e.Key != keyCurrent || e.Kind != Text {
			return At(e.Line, "%s is not known here; there are %s = \"NAME\" and tables [context.NAME]", e.Key, keyCurrent)
		}
		c.Current = e.Values[0]
		return nil
	}
	in := c.Find(strings.TrimPrefix(e.Table, tableContext))
	if e.Key == keyProduction {
		if e.Kind != Bool {
			return At(e.Line, "%s is true or false", e.Key)
		}
		in.Production = e.Values[0] == "true"
		return nil
	}
	at := slices.IndexFunc(fields, func(f field) bool { return f.key == e.Key })
	switch {
	case at < 0:
		return At(e.Line, "%s is not known here; a context has %s and %s", e.Key, Keys(), keyProduction)
	case e.Kind != Text || strings.TrimSpace(e.Values[0]) == "":
		return At(e.Line, "%s needs a text in quotes", e.Key)
	}
	*fields[at].of(in) = e.Values[0]
	return nil
}

// Keys are the settings of a context that are texts, for people.
func Keys() string {
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	return strings.Join(keys, ", ")
}

// Find returns a context; nil: there is none.
func (c *Contexts) Find(name string) *Context {
	for i := range c.List {
		if c.List[i].Name == name {
			return &c.List[i]
		}
	}
	return nil
}

// Names are those of all contexts, sorted.
func (c *Contexts) Names() []string {
	var names []string
	for i := range c.List {
		names = append(names, c.List[i].Name)
	}
	slices.Sort(names)
	return names
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$`)

// CheckName is why a context cannot have a name.
func CheckName(name string) error {
	if !contextName.MatchString(name) {
		return fmt.Errorf("%q is no name of a context: up to 50 letters from A to Z, digits, - and _", name)
	}
	return nil
}

// Check is why a context leads nowhere.
func (c *Context) Check() error {
	targets := 0
	for _, target := range []string{c.Database, c.DatabaseVariable, c.Server} {
		if target != "" {
			targets++
		}
	}
	switch {
	case targets != 1:
		return fmt.Errorf("the context %s needs one of database, database-variable and server, and has %d of them", c.Name, targets)
	case c.Server == "" && cmp.Or(c.TokenFile, c.TokenVariable, c.TLSCA) != "":
		return fmt.Errorf("the context %s has no server, and token-file, token-variable and tls-ca are for one", c.Name)
	case c.TokenFile != "" && c.TokenVariable != "":
		return fmt.Errorf("the context %s has token-file and token-variable; one of them has to go", c.Name)
	}
	return nil
}

// Put adds a context, or replaces the one of its name.
func (c *Contexts) Put(n Context) error {
	if err := errors.Join(CheckName(n.Name), n.Check()); err != nil {
		return err
	}
	var err error
	text, table := c.text, tableContext+n.Name
	for _, f := range fields {
		if value := *f.of(&n); value != "" {
			text, err = Set(text, table, f.key, Quote(value))
		} else {
			text, err = Unset(text, table, f.key)
		}
		if err != nil {
			return err
		}
	}
	if n.Production {
		text, err = Set(text, table, keyProduction, strconv.FormatBool(true))
	} else {
		text, err = Unset(text, table, keyProduction)
	}
	if err != nil {
		return err
	}
	return c.parse(text)
}

// Use makes a context the current one; "": there is none then.
func (c *Contexts) Use(name string) (err error) {
	text := c.text
	if name == "" {
		text, err = Unset(text, "", keyCurrent)
	} else {
		text, err = Set(text, "", keyCurrent, Quote(name))
	}
	if err != nil {
		return err
	}
	return c.parse(text)
}

// Delete removes a context. If it is the current one there is none then.
func (c *Contexts) Delete(name string) error {
	text, err := Remove(c.text, tableContext+name)
	if err == nil && c.Current == name {
		text, err = Unset(text, "", keyCurrent)
	}
	if err != nil {
		return err
	}
	return c.parse(text)
}

// Write writes the file, which the user alone can read. Where it is a link, what it leads to is
// written.
func (c *Contexts) Write() (err error) {
	path := c.Path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".config-*") // which others cannot read
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp.Name())
		}
	}()
	_, err = temp.WriteString(c.text)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

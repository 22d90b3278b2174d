package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Options say what the pages look like, and where they are.
type Options struct {
	// BasePath is the path below which the server's handler is mounted, with a slash at both ends,
	// such as /jobs/. Default: /.
	BasePath string
	// Title is what the pages are called, such as the name of what is run here. Default: Holdfast.
	Title string
	// Accent is a colour of one's own, by which people tell instances apart: #rgb or #rrggbb.
	// Default: that of the design.
	Accent string
	// Logo is a picture beside the title, SVG or PNG, at most 64 KiB. Default: that of Holdfast.
	Logo []byte
	// Version is shown at the foot of the pages.
	Version string
}

// ErrOptions is what errors of Handler are.
var ErrOptions = errors.New("options of the dashboard cannot be")

//go:embed dist/app.js.gz dist/app.css.gz page.html
var files embed.FS

// maxLogo is how large a picture may be, and maxTitle how long a title, in bytes.
const (
	maxLogo  = 64 << 10
	maxTitle = 100
)

var colour = regexp.MustCompile(`^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`)

// policy lets a page use what comes from its own server, and nothing else. No script and no style
// stands in a page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

// asset is a file that pages load. Its name has a hash of what it holds, so that browsers keep it.
type asset struct {
	kind    string
	content []byte
	zipped  []byte // nil: it is not compressed
}

// Handler returns the pages and what they load. Each path without an extension is a page. The
// errors are ErrOptions.
func Handler(o Options) (http.Handler, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.BasePath, o.Title = cmp.Or(o.BasePath, "/"), cmp.Or(o.Title, "Holdfast")
	h := &handler{assets: map[string]*asset{}}
	script, err := h.addZipped("app.js")
	if err != nil {
		return nil, err
	}
	style, err := h.addZipped("app.css")
	if err != nil {
		return nil, err
	}
	logo := h.addLogo(o.Logo)
	h.page, err = fill(map[string]string{
		"BASE": o.BasePath, "TITLE": o.Title, "ACCENT": o.Accent, "LOGO": logo, "VERSION": o.Version,
		"SCRIPT": script, "STYLE": style, "ICON": cmp.Or(logo, h.addIcon(o.Accent)),
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Check returns what Handler would refuse.
func (o *Options) Check() error {
	base := cmp.Or(o.BasePath, "/")
	switch {
	case base != "/" && (!strings.HasPrefix(base, "/") || path.Clean(base)+"/" != base):
		return fmt.Errorf("%w: the path %q is not one with a slash at both ends, such as /jobs/", ErrOptions, base)
	case len(o.Title) > maxTitle:
		return fmt.Errorf("%w: the title has %d bytes, more than %d", ErrOptions, len(o.Title), maxTitle)
	case o.Accent != "" && !colour.MatchString(o.Accent):
		return fmt.Errorf("%w: %q is no colour, such as #0a7 or #00aa77", ErrOptions, o.Accent)
	case len(o.Logo) > maxLogo:
		return fmt.Errorf("%w: the logo has %d bytes, more than %d", ErrOptions, len(o.Logo), maxLogo)
	case o.Logo != nil && kindOfLogo(o.Logo) == "":
		return fmt.Errorf("%w: the logo is neither SVG nor PNG", ErrOptions)
	}
	return nil
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// fill returns the page with texts in the places that it has for them: {{NAME}}, in attributes and
// between tags. The package for templates would make each program larger by six megabytes, since
// with it the linker keeps all methods.
func fill(texts map[string]string) ([]byte, error) {
	page, err := files.ReadFile("page.html")
	if err != nil {
		return nil, err
	}
	var pairs []string
	for name, text := range texts {
		pairs = append(pairs, "{{"+name+"}}", escaped.Replace(text))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(page))), nil
}

// kindOfLogo is the media type of a picture; "": it is none.
func kindOfLogo(logo []byte) string {
	head := logo[:min(len(logo), 1024)]
	switch {
	case bytes.HasPrefix(logo, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.Contains(head, []byte("<svg")):
		return "image/svg+xml"
	}
	return ""
}

type handler struct {
	page   []byte
	assets map[string]*asset // by their paths
}

// add adds a file, and returns its path without the slash before it.
func (h *handler) add(name string, a *asset) string {
	sum := sha256.Sum256(a.content)
	to := "assets/" + hex.EncodeToString(sum[:8]) + "/" + name
	h.assets["/"+to] = a
	return to
}

// addZipped adds a file of dist.
func (h *handler) addZipped(name string) (string, error) {
	zipped, err := files.ReadFile("dist/" + name + ".gz")
	if err != nil {
		return "", err
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	return h.add(name, &asset{kind: mime.TypeByExtension(path.Ext(name)), content: content, zipped: zipped}), err
}

func (h *handler) addLogo(logo []byte) string {
	if logo == nil {
		return ""
	}
	name := "logo.svg"
	if kindOfLogo(logo) == "image/png" {
		name = "logo.png"
	}
	return h.add(name, &asset{kind: kindOfLogo(logo), content: logo})
}

// addIcon adds the icon of tabs: our logo, in the colour of the server, by which people tell tabs
// of several servers apart.
func (h *handler) addIcon(accent string) string {
	svg := strings.ReplaceAll(icon, "currentColor", cmp.Or(accent, "#0b5cad"))
	return h.add("icon.svg", &asset{kind: "image/svg+xml", content: []byte(svg)})
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g stroke="currentColor" stroke-width="3">` +
	`<circle cx="12" cy="12" r="9" fill="none"/><path d="M12 3v7M12 14v7"/></g><circle cx="12" cy="12" r="2" fill="currentColor"/></svg>`

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the dashboard has only GET", http.StatusMethodNotAllowed)
		return
	}
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Content-Security-Policy", policy)
	if a := h.assets[r.URL.Path]; a != nil {
		h.serve(w, r, a)
		return
	}
	head.Set("Cache-Control", "no-store")
	if path.Ext(r.URL.Path) != "" && strings.HasPrefix(r.URL.Path, "/assets/") || r.URL.Path == "/favicon.ico" {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	head.Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.page))
}

// serve serves a file, which never changes.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, a *asset) {
	head := w.Header()
	head.Set("Content-Type", a.kind)
	head.Set("Cache-Control", "public, max-age=31536000, immutable")
	if a.kind == "image/svg+xml" { // opened by itself it runs nothing
		head.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	}
	content := a.content
	if a.zipped != nil {
		head.Set("Vary", "Accept-Encoding")
		if takesGzip(r) {
			head.Set("Content-Encoding", "gzip")
			content = a.zipped
		}
	}
	head.Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // the browser may have gone
	}
}

func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if (name == "gzip" || name == "*") && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

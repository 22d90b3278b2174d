// Build makes web/dist of web/src, and the types of the API of server/openapi.json. With -check it
// writes nothing, and fails if what is there is not what it would write. With -tests DIR it bundles
// the tests of web/test into DIR, for node --test.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/evanw/esbuild/pkg/api"
)

// vendored are the packages in web/vendor.
var vendored = map[string]string{
	"preact": "preact.mjs", "preact/hooks": "hooks.mjs", "preact/jsx-runtime": "jsx-runtime.mjs",
	"@preact/signals": "signals.mjs", "@preact/signals-core": "signals-core.mjs",
}

var (
	errStale  = errors.New("out of date: run go generate ./web")
	errSource = errors.New("the source has errors")
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if something is out of date")
	tests := flag.String("tests", "", "bundle the tests into this `directory`, and do nothing else")
	flag.Parse()
	if err := run("..", *check, *tests); err != nil {
		fmt.Fprintln(os.Stderr, "web/build:", err)
		os.Exit(1)
	}
}

func run(web string, check bool, tests string) error {
	if tests != "" {
		return bundleTests(web, tests)
	}
	document, err := os.ReadFile(filepath.Join(web, "..", "server", "openapi.json"))
	if err != nil {
		return err
	}
	types, err := typesOf(document)
	if err != nil {
		return err
	}
	to := filepath.Join(web, "src", "api", "schema.ts")
	if err := put(to, types, types, check); err != nil {
		return err
	}
	for _, entry := range []string{"app.tsx", "app.css"} {
		content, err := bundle(web, entry)
		if err != nil {
			return err
		}
		name := map[string]string{"app.tsx": "app.js.gz", "app.css": "app.css.gz"}[entry]
		zipped, err := zip(content)
		if err != nil {
			return err
		}
		if err := put(filepath.Join(web, "dist", name), zipped, content, check); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: %d bytes, %d compressed\n", name, len(content), len(zipped))
	}
	return nil
}

// put writes a file, or checks it. Another version of Go may compress otherwise, so what counts is
// what the file holds.
func put(path string, data, holds []byte, check bool) error {
	is, err := os.ReadFile(path)
	if filepath.Ext(path) == ".gz" && err == nil {
		is = unzip(is)
	}
	if err == nil && bytes.Equal(is, holds) {
		return nil
	}
	if check {
		return fmt.Errorf("%s: %w", path, errStale)
	}
	return os.WriteFile(path, data, 0o644) //nolint:gosec // a file of the source, which all may read
}

func zip(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(content)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func unzip(data []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	content, _ := io.ReadAll(r)
	return content
}

func options(web string) api.BuildOptions {
	alias := map[string]string{}
	for name, file := range vendored {
		alias[name] = "./vendor/" + file
	}
	dir, _ := filepath.Abs(web)
	return api.BuildOptions{
		AbsWorkingDir: dir, Bundle: true, Alias: alias, Target: api.ES2022, Charset: api.CharsetUTF8, LogLevel: api.LogLevelInfo,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", LegalComments: api.LegalCommentsNone, TsconfigRaw: "{}",
	}
}

func bundle(web, entry string) ([]byte, error) {
	o := options(web)
	o.EntryPoints = []string{"src/" + entry}
	o.MinifyWhitespace, o.MinifyIdentifiers, o.MinifySyntax = true, true, true
	o.Format = api.FormatIIFE
	if filepath.Ext(entry) == ".css" {
		o.Format = api.FormatDefault
	}
	result := api.Build(o)
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("%s: %w", entry, errSource)
	}
	return result.OutputFiles[0].Contents, nil
}

func bundleTests(web, to string) error {
	all, err := filepath.Glob(filepath.Join(web, "test", "*.test.ts*"))
	if err != nil {
		return err
	}
	slices.Sort(all)
	o := options(web)
	for _, test := range all {
		o.EntryPoints = append(o.EntryPoints, "test/"+filepath.Base(test))
	}
	o.Platform, o.Format, o.Outdir, o.Write = api.PlatformNode, api.FormatESModule, to, true
	o.OutExtension = map[string]string{".js": ".mjs"}
	if result := api.Build(o); len(result.Errors) > 0 {
		return fmt.Errorf("the tests: %w", errSource)
	}
	return nil
}

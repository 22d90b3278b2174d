package api

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed examples.txt
var examples string

// Example is one call of an operation, as examples.txt has it.
type Example struct {
	Op     string            // the id of the operation
	Params map[string]string // of the path, the query and the headers
	Body   string            // JSON; "": none
	Status int
	Keep   map[string]string // where in the answer what is kept is, by its name
}

// Examples are the calls of examples.txt, in their order.
func Examples() (all []Example, err error) {
	for number, line := range strings.Split(examples, "\n") {
		text, inside := strings.CutPrefix(line, "\t")
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
			continue
		case !inside:
			words := strings.Fields(line)
			e := Example{Op: words[0]}
			e.Params, err = pairs(words[1:])
			all = append(all, e)
		case len(all) == 0:
			err = errNoStep
		case text[0] == '{':
			all[len(all)-1].Body = text
		default:
			words := strings.Fields(text)
			last := &all[len(all)-1]
			if last.Status, err = strconv.Atoi(words[0]); err == nil {
				last.Keep, err = pairs(words[1:])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of examples.txt: %w", number+1, err)
		}
	}
	return all, nil
}

var errNoStep = errors.New("it belongs to no operation")

func pairs(words []string) (map[string]string, error) {
	values := map[string]string{}
	for _, word := range words {
		name, value, found := strings.Cut(word, "=")
		if !found {
			return nil, fmt.Errorf("%q is no NAME=VALUE", word)
		}
		values[name] = value
	}
	return values, nil
}

// samples stand in the document for what a call before has answered.
var samples = strings.NewReplacer("$lease", "eyJhbGciOi", "$job", "0198c0de-7b1c-7d3a-9f00-0123456789ab")

// addExamples gives the operations of a document that have a body the first of their examples.
func addExamples(document map[string]any) error {
	all, err := Examples()
	if err != nil {
		return err
	}
	paths, _ := document["paths"].(map[string]any)
	for _, path := range paths {
		methods, _ := path.(map[string]any)
		for _, method := range methods {
			op, _ := method.(map[string]any)
			request, _ := op["requestBody"].(map[string]any)
			content, _ := request["content"].(map[string]any)
			body, is := content["application/json"].(map[string]any)
			i := slices.IndexFunc(all, func(e Example) bool { return e.Op == op["operationId"] && e.Body != "" })
			if is && i >= 0 {
				body["example"] = json.RawMessage(samples.Replace(all[i].Body))
			}
		}
	}
	return nil
}

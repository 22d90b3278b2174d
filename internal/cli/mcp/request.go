package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// request is the request of the operation with the arguments of a call, at the URL of a server. The
// namespace is that of a call that names none; "": it is left to the server.
func (o *operation) request(ctx context.Context, server, namespace string, arguments json.RawMessage) (*http.Request, error) {
	given, err := parse(arguments)
	if err != nil {
		return nil, err
	}
	path, query, header := o.path, url.Values{}, http.Header{}
	if namespace != "" {
		query.Set("namespace", namespace)
	}
	for _, p := range o.Parameters {
		values, err := p.values(given)
		if err != nil {
			return nil, err
		}
		if len(values) == 0 {
			continue
		}
		switch p.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(values[0]))
		case "header":
			header.Set(p.Name, values[0])
		default:
			query[p.Name] = values
			if !p.Explode {
				query[p.Name] = []string{strings.Join(values, ",")}
			}
		}
	}
	body := given[bodyArgument]
	if o.Body == nil {
		body = nil
	} else if delete(given, bodyArgument); o.Body.Required && body == nil {
		return nil, errors.New(`the argument "body" is missing`)
	}
	for name := range given {
		return nil, fmt.Errorf("there is no argument %q", name)
	}
	r, err := http.NewRequestWithContext(ctx, o.method, strings.TrimSuffix(server, "/")+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	if o.method != http.MethodGet { // the API wants it of all that changes something, so that no form of a web page can
		r.Header.Set("Content-Type", mediaJSON)
	}
	return r, nil
}

// parse reads the arguments of a call. null is an argument that is not given.
func parse(arguments json.RawMessage) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if len(arguments) == 0 {
		return given, nil
	}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, fmt.Errorf("the arguments are no object: %w", err)
	}
	for name, value := range given {
		if string(value) == "null" {
			delete(given, name)
		}
	}
	return given, nil
}

// values takes the values of a parameter from the arguments.
func (p *parameter) values(given map[string]json.RawMessage) ([]string, error) {
	value, there := given[p.Name]
	delete(given, p.Name)
	if !there {
		if p.Required {
			return nil, fmt.Errorf("the argument %q is missing", p.Name)
		}
		return nil, nil
	}
	var list []json.RawMessage
	if value[0] != '[' || p.In != "query" {
		list = []json.RawMessage{value}
	} else if err := json.Unmarshal(value, &list); err != nil {
		return nil, err
	}
	values := make([]string, len(list))
	for i, one := range list {
		switch one[0] {
		case '"':
			if err := json.Unmarshal(one, &values[i]); err != nil {
				return nil, err
			}
		case '{', '[':
			return nil, fmt.Errorf("the argument %q must be a text, a number, true or false", p.Name)
		default:
			values[i] = string(one)
		}
		if p.In == "path" && (values[i] == "" || values[i] == "." || values[i] == "..") {
			return nil, fmt.Errorf("the argument %q must not be %q", p.Name, values[i])
		}
		if p.In == "header" && strings.ContainsAny(values[i], "\r\n\x00") {
			return nil, fmt.Errorf("the argument %q has a character that it must not have", p.Name)
		}
	}
	return values, nil
}

package oidc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
)

// Rule gives the members of a group a role.
type Rule struct {
	// Group is what the claim of the groups contains; "*": all who have a valid token.
	Group string
	Role  apikey.Role
	// Namespace is where they have the role; "": in all namespaces.
	Namespace string
}

// ParseRule reads a rule from GROUP=ROLE or GROUP=ROLE:NAMESPACE. The name of the group may contain
// "=", as names of directories do. The error is ErrInvalid.
func ParseRule(text string) (Rule, error) {
	at := strings.LastIndex(text, "=")
	if at < 0 {
		return Rule{}, fmt.Errorf("%w: the rule %.100q must be GROUP=ROLE or GROUP=ROLE:NAMESPACE, such as shop-ops=viewer:shop",
			store.ErrInvalid, text)
	}
	role, namespace, named := strings.Cut(strings.TrimSpace(text[at+1:]), ":")
	r := Rule{Group: strings.TrimSpace(text[:at]), Role: apikey.Role(role), Namespace: strings.TrimSpace(namespace)}
	if named && r.Namespace == "" {
		return Rule{}, fmt.Errorf("%w: the rule %.100q has a colon and no namespace behind it", store.ErrInvalid, text)
	}
	return r, r.check()
}

func (r *Rule) check() error {
	for _, role := range apikey.Roles {
		if strings.Contains(r.Group, "="+string(role)+",") || strings.Contains(r.Namespace, ",") {
			return fmt.Errorf("%w: the rule for the group %.100q looks like several; there are semicolons between rules, "+
				"and each has one namespace", store.ErrInvalid, r.Group)
		}
	}
	if r.Group == "" {
		return fmt.Errorf("%w: a rule needs a group; * is all who have a valid token", store.ErrInvalid)
	}
	if !slices.Contains(apikey.Roles, r.Role) {
		return fmt.Errorf("%w: the rule for the group %.100q has the role %.100q; there are %s, %s and %s",
			store.ErrInvalid, r.Group, r.Role, apikey.Viewer, apikey.Operator, apikey.Admin)
	}
	return nil
}

// grant adds to a principal what rules give to the members of groups, and reports whether they give
// anything.
func grant(p *access.Principal, rules []Rule, groups []string) bool {
	p.Namespaces = []string{}
	for i := range rules {
		r := &rules[i]
		switch {
		case r.Group != "*" && !slices.Contains(groups, r.Group):
		case r.Namespace == "":
			p.Namespaces = nil
			p.Scopes = union(p.Scopes, r.Role.Scopes())
		default:
			if p.Only == nil {
				p.Only = map[string][]access.Scope{}
			}
			p.Only[r.Namespace] = union(p.Only[r.Namespace], r.Role.Scopes())
		}
	}
	for namespace, scopes := range p.Only { // who has something everywhere has it there, too
		if p.Namespaces == nil && len(union(p.Scopes, scopes)) == len(p.Scopes) {
			delete(p.Only, namespace)
		}
	}
	if p.Namespaces != nil {
		for namespace := range p.Only {
			p.Namespaces = append(p.Namespaces, namespace)
		}
		slices.Sort(p.Namespaces)
	}
	return p.Namespaces == nil || len(p.Namespaces) > 0
}

// union is in the order of all scopes.
func union(a, b []access.Scope) (both []access.Scope) {
	for _, s := range access.Scopes {
		if slices.Contains(a, s) || slices.Contains(b, s) {
			both = append(both, s)
		}
	}
	return both
}

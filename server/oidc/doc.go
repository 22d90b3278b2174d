// Package oidc lets callers of a server in by the tokens of an identity provider: JSON Web Tokens
// (RFC 7519) that an OpenID Connect provider has signed, sent as "Authorization: Bearer TOKEN".
//
//	v, err := oidc.New(oidc.Config{
//		Issuer:   "https://login.example.com/realms/main",
//		Audience: "holdfast",
//		Roles:    []oidc.Rule{{Group: "ops", Role: apikey.Admin}, {Group: "shop", Role: apikey.Operator, Namespace: "shop"}},
//	})
//	handler, err := server.Handler(client, server.Options{Authenticate: v.Authenticate})
//
// # What is checked
//
// The signature, by a key that the issuer publishes, of an asymmetric algorithm; the issuer; that
// the audience contains the one that was configured; and the time (exp, nbf). What the caller may
// do follows from the groups in the token and the rules, which give groups a role, in one namespace
// or in all. A token whose groups have no role is refused.
//
// # Keys
//
// The keys of the issuer (JWKS) are read when the first token comes, at its jwks_uri, again after
// an hour, and when a token names one that is not known: at most once in ten seconds, so that
// forged tokens are not passed on to the provider as requests. A key that the provider has
// withdrawn is therefore good for up to an hour more, and a token for as long as it says: the
// provider is not asked whether it was revoked, so tokens should be short-lived.
//
// # Failures
//
// While the provider does not answer, tokens whose keys are known are checked with those; others
// are an error that is not access.ErrUnauthenticated, since nothing is known of the caller.
//
// # Imports
//
// Of ours, apikey, server/access and store.
package oidc

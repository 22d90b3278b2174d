package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
)

// Config is what a Verifier needs to know.
type Config struct {
	// Issuer is the URL of the provider, as its tokens have it in iss. It must be https, or be on a
	// loopback address.
	Issuer string
	// Audience is what aud of a token must contain: the client id, or the name of the API, with
	// which the provider knows this server.
	Audience string
	// Keys is the URL of the keys (JWKS). Default: jwks_uri of what Issuer has at
	// /.well-known/openid-configuration.
	Keys string
	// GroupsClaim is the claim with the groups of a caller, a list or one text; dots lead into
	// objects: realm_access.roles. Default: groups.
	GroupsClaim string
	// NameClaim is the claim with the name that is recorded with what the caller changes. Default:
	// email, if the provider has verified it, and else sub.
	NameClaim string
	// Roles give groups their rights. At least one is needed.
	Roles []Rule
	// HTTP reads the keys. Default: http.DefaultClient.
	HTTP *http.Client
	// Now is the time. Default: time.Now.
	Now func() time.Time
	// Log is told when the keys cannot be read. Default: nothing is.
	Log *slog.Logger
}

// Verifier lets callers in by tokens. It is safe for use by several goroutines.
type Verifier struct {
	config   Config
	verifier *oidc.IDTokenVerifier
}

// New returns a Verifier. It asks the provider nothing yet. The error is ErrInvalid.
func New(c Config) (*Verifier, error) {
	if err := checkURL(c.Issuer); err != nil {
		return nil, fmt.Errorf("%w: the issuer %.200q %w", store.ErrInvalid, c.Issuer, err)
	}
	if c.Keys != "" {
		if err := checkURL(c.Keys); err != nil {
			return nil, fmt.Errorf("%w: the URL of the keys %.200q %w", store.ErrInvalid, c.Keys, err)
		}
	}
	if c.Audience == "" {
		return nil, fmt.Errorf("%w: an audience is needed: tokens for other programs would let their holders in", store.ErrInvalid)
	}
	if len(c.Roles) == 0 {
		return nil, fmt.Errorf("%w: a rule is needed that gives a group a role: nobody could do anything", store.ErrInvalid)
	}
	for i := range c.Roles {
		if err := c.Roles[i].check(); err != nil {
			return nil, err
		}
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = "groups"
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	keys := &issuerKeys{issuer: c.Issuer, url: c.Keys, client: c.HTTP, now: c.Now, log: c.Log}
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = string(a)
	}
	return &Verifier{c, oidc.NewVerifier(c.Issuer, keys, &oidc.Config{ClientID: c.Audience, SupportedSigningAlgs: names, Now: c.Now})}, nil
}

var (
	errNoHTTPS = errors.New("must be an https URL; http is for loopback addresses")
	errNoPlain = errors.New("must have no user, query or fragment")
)

// checkURL refuses the URL of a provider on the way to which others could answer in its place.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return errNoHTTPS
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errNoPlain
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// maxName is how long a name of a caller may be that is recorded, in bytes.
const maxName = 100

// Authenticate is an access.Authenticator. A token that is not valid is access.ErrUnauthenticated,
// which says why; not so if the keys of the provider cannot be read.
func (v *Verifier) Authenticate(r *http.Request) (access.Principal, error) {
	token := access.Bearer(r)
	if !Is(token) {
		return access.Principal{}, access.ErrUnauthenticated
	}
	var noKeys error
	verified, err := v.verifier.Verify(context.WithValue(r.Context(), noKeysKey{}, &noKeys), token)
	switch old, is := errors.AsType[*oidc.TokenExpiredError](err); {
	case noKeys != nil:
		return access.Principal{}, fmt.Errorf("%w: %w", store.ErrUnavailable, errNoKeys) // the log says why
	case is:
		return access.Principal{}, fmt.Errorf("%w: the token has expired at %s", access.ErrUnauthenticated, old.Expiry.UTC().Format(time.RFC3339))
	case err != nil:
		return access.Principal{}, fmt.Errorf("%w: the token is not valid: %w", access.ErrUnauthenticated, err)
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return access.Principal{}, fmt.Errorf("%w: the claims of the token are no JSON object", access.ErrUnauthenticated)
	}
	name := v.nameIn(claims)
	if name == "" {
		return access.Principal{}, fmt.Errorf("%w: the token has no claim that names the caller", access.ErrUnauthenticated)
	}
	p := access.Principal{Name: "oidc " + access.Quote(name)}
	if !grant(&p, v.config.Roles, textsAt(claims, v.config.GroupsClaim)) {
		return access.Principal{}, fmt.Errorf("%w: the token is valid, but no group in its claim %s has a role here",
			access.ErrUnauthenticated, v.config.GroupsClaim)
	}
	return p, nil
}

// Is reports whether a credential looks like a token of an identity provider, which is not checked:
// three parts with dots between them.
func Is(credential string) bool { return strings.Count(credential, ".") == 2 }

// nameIn is the name of the caller, without what no name has.
func (v *Verifier) nameIn(claims map[string]any) string {
	for _, claim := range v.namedBy(claims) {
		texts := textsAt(claims, claim)
		if len(texts) == 0 {
			continue
		}
		name := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(texts[0], ""))
		if len(name) > maxName {
			name = strings.ToValidUTF8(name[:maxName], "")
		}
		if name != "" {
			return name
		}
	}
	return ""
}

func (v *Verifier) namedBy(claims map[string]any) []string {
	if v.config.NameClaim != "" {
		return []string{v.config.NameClaim}
	}
	if claims["email_verified"] == true {
		return []string{"email", "sub"}
	}
	return []string{"sub"}
}

// textsAt are the texts of a claim: of a list its texts, of a text itself. The claim may have dots
// in its name, or lead into objects by them.
func textsAt(claims map[string]any, claim string) (texts []string) {
	value, is := claims[claim]
	if first, rest, deeper := strings.Cut(claim, "."); !is && deeper {
		inner, _ := claims[first].(map[string]any)
		return textsAt(inner, rest)
	}
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			if text, is := one.(string); is {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

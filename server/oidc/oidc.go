package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

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
	keys := &issuerKeys{issuer: c.Issuer, url: c.Keys, client: careful(c.HTTP), now: c.Now, log: c.Log}
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

// careful is a client that is not sent to where others could answer in the place of the provider.
func careful(c *http.Client) *http.Client {
	like := *c
	like.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		switch {
		case !isSafe(to.URL):
			return fmt.Errorf("%w: it sends callers to %s://%s", errNoHTTPS, to.URL.Scheme, to.URL.Host)
		case c.CheckRedirect != nil:
			return c.CheckRedirect(to, via)
		case len(via) >= maxHops:
			return errHops
		}
		return nil
	}
	return &like
}

// maxHops is how often the provider may send those on who read its keys.
const maxHops = 5

var errHops = errors.New("it sends callers from one place to the next")

func isSafe(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
}

// checkURL refuses the URL of a provider on the way to which others could answer in its place.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, !isSafe(u):
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

// Authenticate is an access.Authenticator. A token that is not valid is access.ErrUnauthenticated,
// which says why; not so if the keys of the provider cannot be read.
func (v *Verifier) Authenticate(r *http.Request) (access.Principal, error) {
	token := access.Bearer(r)
	if !Is(token) {
		return access.Principal{}, access.ErrUnauthenticated
	}
	claims, err := v.verified(r.Context(), token)
	if err != nil {
		return access.Principal{}, err
	}
	name := v.nameIn(claims)
	if name == "" {
		return access.Principal{}, fmt.Errorf("%w: the token has no claim that names the caller", access.ErrUnauthenticated)
	}
	p := access.Principal{Name: "oidc " + name}
	if !grant(&p, v.config.Roles, textsAt(claims, v.config.GroupsClaim)) {
		return access.Principal{}, fmt.Errorf("%w: the token is valid, but no group in its claim %s has a role here",
			access.ErrUnauthenticated, v.config.GroupsClaim)
	}
	return p, nil
}

// verified are the claims of a token that is valid. What has expired is refused first: that needs
// no key, and so it is refused also while the provider does not answer.
func (v *Verifier) verified(ctx context.Context, token string) (map[string]any, error) {
	claims := claimsOf(token)
	if err := v.checkTimes(claims); err != nil {
		return nil, err
	}
	var noKeys error
	_, err := v.verifier.Verify(context.WithValue(ctx, noKeysKey{}, &noKeys), token)
	switch {
	case noKeys != nil:
		return nil, errNoKeys // the log says why
	case err != nil:
		return nil, fmt.Errorf("%w: the token is not valid: %w", access.ErrUnauthenticated, err)
	}
	// What has verified it reads claims in whatever case, the last one first (RFC 7519, 7.3: names
	// are compared as they are).
	for name := range claims {
		for _, is := range []string{"iss", "aud", "exp", "nbf"} {
			if name != is && strings.EqualFold(name, is) {
				return nil, fmt.Errorf("%w: the token is not valid: it has a claim %.20q that is not %s", access.ErrUnauthenticated, name, is)
			}
		}
	}
	return claims, nil
}

// claimsOf are the claims of a token, which nothing has verified; nil: there are none.
func claimsOf(token string) (claims map[string]any) {
	parts := strings.Split(token, ".")
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return nil
	}
	return claims
}

// checkTimes refuses a token that has expired, or never would.
func (v *Verifier) checkTimes(claims map[string]any) error {
	at, is := claims["exp"].(float64)
	switch now := v.config.Now(); {
	case claims == nil:
		return fmt.Errorf("%w: the token is not valid: its claims are no JSON object", access.ErrUnauthenticated)
	case !is:
		return fmt.Errorf("%w: the token is not valid: it has no exp, and would never expire", access.ErrUnauthenticated)
	case at < float64(now.Unix()):
		expired := time.Unix(int64(max(at, 0)), 0).UTC()
		return fmt.Errorf("%w: the token has expired at %s", access.ErrUnauthenticated, expired.Format(time.RFC3339))
	}
	return nil
}

// Is reports whether a credential looks like a token of an identity provider, which is not checked:
// three parts with dots between them.
func Is(credential string) bool { return strings.Count(credential, ".") == 2 }

// maxName is how long a name of a caller may be that is recorded whole, in bytes: as long as a
// subject (OpenID Connect Core, 2).
const maxName = 255

// nameIn is the name of the caller, as records have it. No two callers have the same: one that is
// too long ends in a hash of all of it.
func (v *Verifier) nameIn(claims map[string]any) string {
	for _, claim := range v.namedBy(claims) {
		texts := textsAt(claims, claim)
		if len(texts) == 0 || texts[0] == "" {
			continue
		}
		name := texts[0]
		if len(name) > maxName {
			const hashed = 16
			sum := sha256.Sum256([]byte(name))
			name = strings.ToValidUTF8(name[:maxName-2*hashed-1], "") + "#" + hex.EncodeToString(sum[:hashed])
		}
		return access.Quote(name)
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

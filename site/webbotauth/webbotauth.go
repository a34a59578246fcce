// Package webbotauth signs the requests of a crawler, so that a server can tell that they come from it: HTTP Message
// Signatures (RFC 9421) with Ed25519, in the profile of Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol). It also
// makes the directory of the crawler's key, and the signature with which a server proves that it has the key.
//
// It must never know a network, a service or a clock, and never return the private key.
package webbotauth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	// DirectoryFile is the path of the key directory below the root of a site, without the first slash.
	DirectoryFile = ".well-known/http-message-signatures-directory"
	// DirectoryType is the media type of the key directory.
	DirectoryType = "application/http-message-signatures-directory+json"
	// AgentHeader is the header that names the site with the key directory. Only signed requests have it.
	AgentHeader = "Signature-Agent"

	signatureHeader = "Signature"
	inputHeader     = "Signature-Input"
)

// How long signatures are valid. A request reaches its server within seconds; the rest is for clocks that differ.
const (
	requestValidity   = 5 * time.Minute
	directoryValidity = time.Hour
)

// nonceBytes is the length of a nonce that verifiers of Web Bot Auth accept.
const nonceBytes = 64

// priceHeaders are the headers in which a crawler names a price (Cloudflare's pay per crawl). The server accepts them
// only under a signature. The crawler sends none of them, because each one promises to pay; a caller's request that has
// one is signed with it.
var priceHeaders = []string{"crawler-exact-price", "crawler-max-price"}

// Signer signs with one key. It is safe for concurrent use.
type Signer struct {
	key       ed25519.PrivateKey
	keyID     string
	agent     string // the origin of the site that publishes the key, "https://tollbook.example"
	authority string // of the same
	directory []byte
}

// NewSigner returns a signer for the key that the site at baseURL publishes. The draft lets a key be found only at the
// root of a host with https, so the error says if baseURL is another URL.
func NewSigner(key ed25519.PrivateKey, baseURL string) (*Signer, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("publish the crawler's key at %.100q: verifiers read it only at the root of a host with "+
			"https, such as https://tollbook.example; set site.base_url to such a URL", baseURL)
	}
	s := &Signer{key: key, authority: authorityOf("https", u.Host)}
	s.agent = "https://" + s.authority
	public := key.Public().(ed25519.PublicKey)
	s.keyID = Thumbprint(public)
	s.directory = fmt.Appendf(nil, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"%s","x":"%s","use":"sig"}]}`, s.keyID,
		base64.RawURLEncoding.EncodeToString(public))
	return s, nil
}

// KeyID returns the id of the key, which is its thumbprint.
func (s *Signer) KeyID() string { return s.keyID }

// Agent returns the origin of the site that publishes the key.
func (s *Signer) Agent() string { return s.agent }

// Directory returns the key directory: a JSON Web Key Set with the public key.
func (s *Signer) Directory() []byte { return s.directory }

// Thumbprint returns the thumbprint of a key as a JSON Web Key (RFC 7638, RFC 8037 appendix A.3).
func Thumbprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":"%s"}`,
		base64.RawURLEncoding.EncodeToString(key)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// SignRequest adds the headers of a signature to a request that is ready to be sent at a time. The signature covers
// the host, the header that names the key directory, and each header that names a price.
//
// That header is a string, the form of draft-meunier-http-message-signatures-directory-03, which Cloudflare verifies.
// draft-ietf-webbotauth-httpsig-protocol wants a dictionary whose member is covered with its key. The newest verifiers
// of npm, web-bot-auth 0.1.3 with http-message-sig 0.2.0, refuse that: they compare the whole field (TestPeer). A
// request cannot have both forms.
func (s *Signer) SignRequest(r *http.Request, now time.Time) error {
	nonce := make([]byte, nonceBytes)
	if _, err := rand.Read(nonce); err != nil {
		return fmt.Errorf("sign the request to %s: %w", r.URL.Host, err)
	}
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	agent, err := httpsfv.Marshal(httpsfv.NewItem(s.agent))
	if err != nil {
		return fmt.Errorf("sign the request to %s: %w", host, err)
	}
	covered := []component{
		{name: "@authority", value: authorityOf(r.URL.Scheme, host)},
		{name: strings.ToLower(AgentHeader), value: agent},
	}
	for _, name := range priceHeaders {
		if values := r.Header.Values(name); len(values) > 0 {
			covered = append(covered, component{name: name, value: fieldValue(values)})
		}
	}
	p := parameters{created: now, expires: now.Add(requestValidity), keyID: s.keyID, tag: "web-bot-auth",
		algorithm: "ed25519", nonce: base64.StdEncoding.EncodeToString(nonce)}
	input, signature, err := s.sign("sig1", covered, p.values())
	if err != nil {
		return fmt.Errorf("sign the request to %s: %w", host, err)
	}
	r.Header.Set(AgentHeader, agent)
	r.Header.Set(inputHeader, input)
	r.Header.Set(signatureHeader, signature)
	return nil
}

// StripSignature removes what a signed request must not show to others: until it expires, a signature could be sent
// again. What remains says that the request was signed, and by whom.
func StripSignature(h http.Header) {
	h.Del(inputHeader)
	h.Del(signatureHeader)
}

// IsSigned reports whether the headers are those of a signed request, stripped or not.
func IsSigned(h http.Header) bool { return h.Get(AgentHeader) != "" }

// SignDirectory adds the headers to a response that contains the key directory, as it is sent at a time: proof that the
// site has the private key, and that nobody else serves its directory.
func (s *Signer) SignDirectory(h http.Header, now time.Time) error {
	sum := sha256.Sum256(s.directory)
	digest := httpsfv.NewDictionary()
	digest.Add("sha-256", httpsfv.NewItem(sum[:]))
	text, err := httpsfv.Marshal(digest)
	if err != nil {
		return fmt.Errorf("sign the key directory: %w", err)
	}
	p := parameters{created: now, expires: now.Add(directoryValidity), keyID: s.keyID, algorithm: "ed25519",
		tag: "http-message-signatures-directory"}
	covered := []component{
		{name: "@authority", flag: "req", value: s.authority},
		{name: "content-digest", value: text},
	}
	input, signature, err := s.sign("binding", covered, p.values())
	if err != nil {
		return fmt.Errorf("sign the key directory: %w", err)
	}
	h.Set("Content-Digest", text)
	h.Set(inputHeader, input)
	h.Set(signatureHeader, signature)
	return nil
}

// parameters are the parameters of a signature. The zero time and "" are left out.
type parameters struct {
	created, expires             time.Time
	keyID, algorithm, nonce, tag string
}

// values returns the parameters as a structured field, in the order of the draft's examples.
func (p parameters) values() *httpsfv.Params {
	v := httpsfv.NewParams()
	text := func(name, value string) {
		if value != "" {
			v.Add(name, value)
		}
	}
	v.Add("created", p.created.Unix())
	text("keyid", p.keyID)
	text("alg", p.algorithm)
	if !p.expires.IsZero() {
		v.Add("expires", p.expires.Unix())
	}
	text("nonce", p.nonce)
	text("tag", p.tag)
	return v
}

// component is a part of a message that a signature covers (RFC 9421, 2).
type component struct {
	name  string // lower case
	key   string // the member of a dictionary that is covered; "" for the whole field
	flag  string // a parameter without a value; "" for none
	value string
}

// identifier returns the identifier of a component.
func (c component) identifier() httpsfv.Item {
	item := httpsfv.NewItem(c.name)
	if c.key != "" {
		item.Params.Add("key", c.key)
	}
	if c.flag != "" {
		item.Params.Add(c.flag, true)
	}
	return item
}

// sign returns the values of Signature-Input and Signature for a signature with a label.
func (s *Signer) sign(label string, covered []component, p *httpsfv.Params) (input, signature string, err error) {
	list := httpsfv.InnerList{Params: p}
	var base strings.Builder
	for _, c := range covered {
		item := c.identifier()
		list.Items = append(list.Items, item)
		id, err := httpsfv.Marshal(item)
		if err != nil {
			return "", "", fmt.Errorf("name component %s: %w", c.name, err)
		}
		fmt.Fprintf(&base, "%s: %s\n", id, c.value)
	}
	values, err := httpsfv.Marshal(httpsfv.List{list})
	if err != nil {
		return "", "", fmt.Errorf("name the covered components: %w", err)
	}
	fmt.Fprintf(&base, `"@signature-params": %s`, values)
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, []byte(base.String())))
	return label + "=" + values, label + "=:" + text + ":", nil
}

// fieldValue returns the value of a header field as a signature covers it (RFC 9421, 2.1).
func fieldValue(values []string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = strings.TrimSpace(v)
	}
	return strings.Join(list, ", ")
}

// authorityOf returns a host in the form that a signature covers: lower case, without the port of the scheme
// (RFC 9421, 2.2.3).
func authorityOf(scheme, host string) string {
	host = strings.ToLower(host)
	switch scheme {
	case "https":
		return strings.TrimSuffix(host, ":443")
	case "http":
		return strings.TrimSuffix(host, ":80")
	}
	return host
}

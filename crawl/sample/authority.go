package sample

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// authority issues the world's certificates. It exists in memory alone: no certificate outlives the process, and only
// clients that got its root trust it.
type authority struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // by host name, for hosts of the cast
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	from, until := lifetime(false)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Tollbook sample world"},
		NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{Domain},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority's root: %w", err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the authority's root: %w", err)
	}
	return &authority{key: key, root: root, leaves: map[string]*tls.Certificate{}}, nil
}

// lifetime returns the validity of a certificate. It uses the machine's clock, as those who verify it do, not the
// world's.
func lifetime(expired bool) (from, until time.Time) {
	now := time.Now()
	if expired {
		return now.AddDate(0, -4, 0), now.AddDate(0, 0, -2)
	}
	return now.AddDate(0, -1, 0), now.AddDate(10, 0, 0)
}

// certificate returns the certificate for the name in a client's hello.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	slug, ok := slugOf(hello.ServerName)
	s := bySlug(slug)
	if !ok || s == nil {
		return nil, fmt.Errorf("no certificate for %.80q", hello.ServerName)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if leaf := a.leaves[slug]; leaf != nil {
		return leaf, nil
	}
	leaf, err := a.issue(slug+"."+Domain, behaviours[s.Behaviour].expired)
	if err != nil {
		return nil, err
	}
	a.leaves[slug] = leaf
	return leaf, nil
}

func (a *authority) issue(host string, expired bool) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for %s: %w", host, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("number the certificate of %s: %w", host, err)
	}
	from, until := lifetime(expired)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", host, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

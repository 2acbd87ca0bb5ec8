package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// keys are the certificates of one run, as PEM.
type keys struct{ ca, adminCert, adminKey []byte }

// makeKeys writes ca.crt, server.crt, server.key, sa.pub and sa.key to dir, and returns what a kubeconfig carries.
func makeKeys(dir string) (keys, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keys{}, err
	}
	ca := certificate("steersman real suite", nil)
	ca.IsCA = true
	ca.BasicConstraintsValid = true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return keys{}, err
	}
	signed := func(template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
		if err != nil {
			return nil, nil, err
		}
		keyPEM, err = keyToPEM(key)
		return block("CERTIFICATE", der), keyPEM, err
	}
	server := certificate("kube-apiserver", nil)
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	serverCert, serverKey, err := signed(server)
	if err != nil {
		return keys{}, err
	}
	admin := certificate("admin", []string{"system:masters"})
	admin.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	adminCert, adminKey, err := signed(admin)
	if err != nil {
		return keys{}, err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keys{}, err
	}
	accountsKey, err := keyToPEM(accounts)
	if err != nil {
		return keys{}, err
	}
	accountsPublic, err := x509.MarshalPKIXPublicKey(&accounts.PublicKey)
	if err != nil {
		return keys{}, err
	}
	made := keys{ca: block("CERTIFICATE", caDER), adminCert: adminCert, adminKey: adminKey}
	for name, text := range map[string][]byte{
		"ca.crt": made.ca, "server.crt": serverCert, "server.key": serverKey,
		"sa.key": accountsKey, "sa.pub": block("PUBLIC KEY", accountsPublic),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return keys{}, err
		}
	}
	return made, nil
}

func certificate(name string, organizations []string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		panic(err) // the system's randomness is gone: nothing can go on
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: organizations},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func keyToPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return block("EC PRIVATE KEY", der), nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

//! Client keys on the curve P-521, with which ring does not sign; Go does, so people have them.

use std::sync::Arc;

use p521::SecretKey;
use p521::ecdsa::signature::Signer as _;
use p521::ecdsa::{DerSignature, SigningKey as EcdsaKey};
use p521::pkcs8::{DecodePrivateKey, EncodePublicKey};
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use rustls_pki_types::SubjectPublicKeyInfoDer;

/// A private key on P-521, for the handshake. Its `Debug` form shows no secret.
#[derive(Clone)]
struct P521 {
    key: Arc<EcdsaKey>,
    /// What the certificate must carry.
    public: Vec<u8>,
}

/// The key in this DER, if it is one on P-521: PKCS#8 or SEC1.
pub(super) fn signing_key(der: &[u8]) -> Option<Arc<dyn SigningKey>> {
    let secret = SecretKey::from_pkcs8_der(der).or_else(|_| SecretKey::from_sec1_der(der)).ok()?;
    let public = secret.public_key().to_public_key_der().ok()?.into_vec();
    Some(Arc::new(P521 { key: Arc::new(EcdsaKey::from(secret)), public }))
}

impl SigningKey for P521 {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&self.scheme()).then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(SubjectPublicKeyInfoDer::from(self.public.as_slice()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for P521 {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature: DerSignature = self
            .key
            .try_sign(message)
            .map_err(|_| Error::General("signing with a P-521 key failed".into()))?;
        Ok(signature.as_bytes().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP521_SHA512
    }
}

impl std::fmt::Debug for P521 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("P521(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p521::ecdsa::VerifyingKey;
    use p521::ecdsa::signature::Verifier as _;
    use p521::pkcs8::DecodePublicKey;

    const CERT: &[u8] = include_bytes!("../../tests/data/p521.crt");
    const SEC1: &[u8] = include_bytes!("../../tests/data/p521-sec1.key");
    const PKCS8: &[u8] = include_bytes!("../../tests/data/p521-pkcs8.key");
    const ANOTHER: &[u8] = include_bytes!("../../tests/data/p521-another.key");

    // F-54, REST-TL-08
    #[test]
    fn a_key_on_p521_signs_for_its_certificate_in_either_form() {
        for pem in [SEC1, PKCS8] {
            let identity = super::super::pem::identity(CERT, pem).unwrap();
            let offered = [SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::ECDSA_NISTP521_SHA512];
            let signer = identity.key.choose_scheme(&offered).expect("it is offered");
            assert_eq!(signer.scheme(), SignatureScheme::ECDSA_NISTP521_SHA512);
            let signature = DerSignature::from_bytes(&signer.sign(b"the handshake").unwrap()).unwrap();

            let public = identity.key.public_key().unwrap();
            let public = VerifyingKey::from_public_key_der(public.as_ref()).unwrap();
            assert!(public.verify(b"the handshake", &signature).is_ok());
            assert!(public.verify(b"another handshake", &signature).is_err());
            assert!(identity.key.choose_scheme(&offered[..1]).is_none());
            assert_eq!(format!("{:?}", identity.key), "P521(***)");
        }
    }

    // F-54, REST-TL-08
    #[test]
    fn a_key_on_p521_of_another_certificate_is_refused() {
        let error = super::super::pem::identity(CERT, ANOTHER).unwrap_err();
        assert!(error.contains("does not belong"), "{error}");
    }
}

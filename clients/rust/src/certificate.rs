use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;

use crate::time::{Seconds, from_date};

/// What is read of a certificate beside what rustls reads of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) not_before: Seconds,
    pub(crate) not_after: Seconds,
    pub(crate) issuer_key_id: Option<Vec<u8>>,
    pub(crate) role: Role,
}

/// What a certificate can be in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It may sign others: a CA, or a root from before version 3.
    Ca,
    /// It signed itself and is no CA: a server that is pinned.
    Pinned,
    /// A CA issued it: no chain may end here.
    Leaf,
}

pub(crate) fn fingerprint(der: &[u8]) -> String {
    hex(digest(&SHA256, der).as_ref())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 0x23];

/// DER from the beginning to the end, element by element.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Tag and contents.
    fn element(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, mut rest) = rest.split_first()?;
        let mut length = usize::from(*first);
        if length >= 0x80 {
            let (digits, after) = rest.split_at_checked(length - 0x80)?;
            // Four digits are more than any file here has; none would be a length that is not known.
            if digits.is_empty() || digits.len() > 4 {
                return None;
            }
            length = digits
                .iter()
                .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            rest = after;
        }
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, contents))
    }

    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, contents) = self.element()?;
        (found == tag).then_some(contents)
    }

    fn optional(&mut self, tag: u8) -> Option<&'a [u8]> {
        (self.peek() == Some(tag))
            .then(|| self.expect(tag))
            .flatten()
    }
}

impl Certificate {
    /// Reads one certificate; none when it is malformed.
    pub(crate) fn read(der: Vec<u8>) -> Option<Self> {
        let mut whole = Reader(&der);
        let mut certificate = Reader(whole.expect(SEQUENCE)?);
        if !whole.0.is_empty() {
            return None;
        }
        let mut tbs = Reader(certificate.expect(SEQUENCE)?);
        let is_version_3 = tbs.optional(0xa0) == Some(&[INTEGER, 1, 2]);
        tbs.expect(INTEGER)?; // the serial number
        tbs.expect(SEQUENCE)?; // the signature's algorithm
        let issuer = tbs.expect(SEQUENCE)?;
        let mut validity = Reader(tbs.expect(SEQUENCE)?);
        let not_before = read_time(&mut validity)?;
        let not_after = read_time(&mut validity)?;
        let subject = tbs.expect(SEQUENCE)?;
        tbs.expect(SEQUENCE)?; // the public key
        tbs.optional(0x81);
        tbs.optional(0x82);
        let mut is_ca = false;
        let mut issuer_key_id = None;
        if let Some(explicit) = tbs.optional(0xa3) {
            let mut extensions = Reader(Reader(explicit).expect(SEQUENCE)?);
            while !extensions.0.is_empty() {
                let mut extension = Reader(extensions.expect(SEQUENCE)?);
                let id = extension.expect(OID)?;
                extension.optional(0x01); // critical
                let value = extension.expect(OCTETS)?;
                if id == BASIC_CONSTRAINTS {
                    let mut fields = Reader(Reader(value).expect(SEQUENCE)?);
                    is_ca = fields
                        .optional(0x01)
                        .is_some_and(|truth| truth != [0].as_slice());
                } else if id == AUTHORITY_KEY_ID {
                    let mut fields = Reader(Reader(value).expect(SEQUENCE)?);
                    issuer_key_id = fields.optional(0x80).map(<[u8]>::to_vec);
                }
            }
        }
        let role = match (is_ca, subject == issuer) {
            (true, _) => Role::Ca,
            (false, true) if is_version_3 => Role::Pinned,
            (false, true) => Role::Ca,
            (false, false) => Role::Leaf,
        };
        Some(Self {
            not_before,
            not_after,
            issuer_key_id,
            role,
            der: CertificateDer::from(der),
        })
    }
}

/// Years of two digits are those from 1950 to 2049: RFC 5280 §4.1.2.5.1.
fn read_time(reader: &mut Reader<'_>) -> Option<Seconds> {
    let (tag, text) = reader.element()?;
    let digits = text.strip_suffix(b"Z")?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |digits: &[u8]| {
        digits
            .iter()
            .fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, rest) = match (tag, digits.len()) {
        (UTC_TIME, 12) => {
            let short = number(&digits[..2]);
            (
                if short < 50 {
                    2000 + short
                } else {
                    1900 + short
                },
                &digits[2..],
            )
        }
        (GENERALIZED_TIME, 14) => (number(&digits[..4]), &digits[4..]),
        _ => return None,
    };
    let part = |index: usize| number(&rest[index * 2..index * 2 + 2]);
    let (month, day) = (part(0), part(1));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some(from_date(year, month, day) + part(2) * 3600 + part(3) * 60 + part(4))
}

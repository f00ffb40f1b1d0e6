use crate::Error;

pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) der: Vec<u8>,
}

/// Reads every PEM block. A reader that skips a damaged block loses a CA in silence: here it is an error. `allow` is asked at each
/// BEGIN, so that a refused label is reported even when its body is bad.
pub(crate) fn scan(
    text: &[u8],
    path: &str,
    allow: impl Fn(&str, usize) -> Result<(), Error>,
) -> Result<Vec<Block>, Error> {
    if text.iter().all(u8::is_ascii_whitespace) {
        let why = "the file is empty; it should hold PEM text";
        return Err(Error::new("FILE_EMPTY", path, why));
    }
    if text.contains(&0) {
        let why = "binary data, not PEM; convert DER with openssl x509 -inform der";
        return Err(Error::new("PEM_BINARY", path, why));
    }
    let boundary_error = |why: String| Error::new("PEM_BAD_BOUNDARY", path, why);
    // A comment may be in any encoding: only BEGIN, END and base64 lines have a meaning.
    let text = String::from_utf8_lossy(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, String)> = None;
    for (index, raw) in text.split('\n').enumerate() {
        let line = index + 1;
        match boundary(raw.trim_end()) {
            Some((true, label)) => {
                if let Some((before, began, _)) = open {
                    let why = format!("{before} of line {began} has no END before line {line}");
                    return Err(boundary_error(why));
                }
                allow(label, line)?;
                open = Some((label, line, String::new()));
            }
            Some((false, label)) => match open.take() {
                None => {
                    let why = format!("END {label} at line {line} without a BEGIN");
                    return Err(boundary_error(why));
                }
                Some((begun, began, _)) if begun != label => {
                    let why = format!("{begun} of line {began} ends as {label} at line {line}");
                    return Err(boundary_error(why));
                }
                Some((_, began, body)) => {
                    let der = decode(body.as_bytes()).ok_or_else(|| {
                        let why = format!(
                            "{label} at line {began} is not proper base64; copy the file again, whole"
                        );
                        Error::new("PEM_BAD_BASE64", path, why)
                    })?;
                    let label = label.to_owned();
                    blocks.push(Block { label, der });
                }
            },
            None if raw.contains("-----BEGIN") || raw.contains("-----END") => {
                let why = format!(
                    "line {line} is a damaged BEGIN or END line; it must stand alone, unindented"
                );
                return Err(boundary_error(why));
            }
            None => {
                if let Some((_, _, body)) = &mut open {
                    body.push_str(raw.trim());
                }
            }
        }
    }
    if let Some((label, began, _)) = open {
        let why = format!("{label} of line {began} has no END; the text is cut short");
        return Err(Error::new("PEM_TRUNCATED", path, why));
    }
    Ok(blocks)
}

/// True with the label for BEGIN, false for END.
fn boundary(line: &str) -> Option<(bool, &str)> {
    let inner = line.strip_prefix("-----")?.strip_suffix("-----")?;
    let (is_begin, label) = match inner.strip_prefix("BEGIN ") {
        Some(label) => (true, label),
        None => (false, inner.strip_prefix("END ")?),
    };
    let is_label = label
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ')
        && !label.is_empty()
        && !label.starts_with(' ');
    is_label.then_some((is_begin, label))
}

/// Strict base64: whole groups, padding at the end alone, no bits left over. Nothing is an error, as in a PEM block.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if text.is_empty() || text.len() % 4 != 0 {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &text[..text.len() - padding];
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits: u32 = 0;
    let mut count = 0;
    for byte in digits {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> &'static str {
        match scan(text.as_bytes(), "ca.crt", |_, _| Ok(())) {
            Ok(_) => "",
            Err(error) => error.code,
        }
    }

    #[test]
    fn a_damaged_block_is_an_error_and_is_not_skipped() {
        let good = "-----BEGIN X-----\nAAAA\n-----END X-----\n";
        for (text, expected) in [
            (good.to_owned(), ""),
            (good.replace('\n', "\r\n"), ""),
            (format!("\u{feff}# a comment\n{good}"), ""),
            (String::new(), "FILE_EMPTY"),
            (" \n".to_owned(), "FILE_EMPTY"),
            (good.replace('A', "\0"), "PEM_BINARY"),
            (good.replace("AAAA", "AAA"), "PEM_BAD_BASE64"),
            (good.replace("AAAA", "AA=A"), "PEM_BAD_BASE64"),
            (good.replace("AAAA", "AB=="), "PEM_BAD_BASE64"),
            (good.replace("AAAA", "===="), "PEM_BAD_BASE64"),
            (good.replace("AAAA\n", ""), "PEM_BAD_BASE64"),
            (good.replace("AAAA", "AA!A"), "PEM_BAD_BASE64"),
            (good.replace("-----END X", "----END X"), "PEM_TRUNCATED"),
            (good.replace("END X", "END Y"), "PEM_BAD_BOUNDARY"),
            (
                good.replace("BEGIN X-----", "BEGIN X--"),
                "PEM_BAD_BOUNDARY",
            ),
            (format!("{}{good}", good.trim_end()), "PEM_BAD_BOUNDARY"),
            (format!(" {good}"), "PEM_BAD_BOUNDARY"),
            ("-----BEGIN X-----\n".repeat(2), "PEM_BAD_BOUNDARY"),
            ("-----END X-----\n".to_owned(), "PEM_BAD_BOUNDARY"),
            ("-----BEGIN X-----\nAAAA\n".to_owned(), "PEM_TRUNCATED"),
        ] {
            assert_eq!(code(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn base64_gives_the_bytes() {
        for (text, bytes) in [
            ("AA==", &[0][..]),
            ("//8=", &[255, 255]),
            ("AQID", &[1, 2, 3]),
            ("+/A=", &[251, 240]),
        ] {
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes));
        }
    }
}

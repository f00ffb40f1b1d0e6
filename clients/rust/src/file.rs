use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::Error;

/// More than Kubernetes keeps in an object, and 16 times all public roots.
const MAX_BYTES: u64 = 4 << 20;

/// The link that the kubelet replaces when a volume changes.
const DATA: &str = "..data";

/// A volume that changes more often than that while it is read is read at the next poll.
const TRIES: usize = 5;

/// Reads the files of a folder, all from one version of the volume.
pub(crate) fn read_all(dir: &Path, names: &[&str]) -> Result<Vec<Vec<u8>>, Error> {
    read_all_with(dir, names, read_one)
}

fn read_all_with(
    dir: &Path,
    names: &[&str],
    mut read: impl FnMut(&Path, &str, Option<&Path>) -> Result<Vec<u8>, Error>,
) -> Result<Vec<Vec<u8>>, Error> {
    let link = dir.join(DATA);
    let mut tries = 0;
    loop {
        tries += 1;
        let version = fs::read_link(&link).ok(); // plain files have none
        let contents = names
            .iter()
            .map(|name| read(dir, name, version.as_deref()))
            .collect();
        let is_same = fs::read_link(&link).ok() == version;
        if is_same {
            return contents;
        }
        if tries == TRIES {
            let path = dir.display().to_string();
            let why = "the volume changed while its files were read";
            return Err(Error::new("FILE_UNREADABLE", &path, why));
        }
    }
}

fn read_one(dir: &Path, name: &str, version: Option<&Path>) -> Result<Vec<u8>, Error> {
    let path = dir.join(name);
    read_small(
        &real_path(dir, name, version),
        &path.display().to_string(),
        MAX_BYTES,
    )
}

/// The file in that version of the volume, so that a swap between two reads mixes nothing.
fn real_path(dir: &Path, name: &str, version: Option<&Path>) -> PathBuf {
    let path = dir.join(name);
    match (fs::read_link(&path), version) {
        (Ok(target), Some(version)) if target == Path::new(DATA).join(name) => {
            dir.join(version).join(name)
        }
        _ => path,
    }
}

/// Reads a regular file. `real` may be another name of `path`, which errors name.
pub(crate) fn read_small(real: &Path, path: &str, max_bytes: u64) -> Result<Vec<u8>, Error> {
    // Opening a pipe would block, and opening a device can have effects.
    let must_be_regular = |metadata: fs::Metadata| {
        if metadata.is_file() {
            return Ok(());
        }
        Err(Error::new("FILE_NOT_REGULAR", path, "not a regular file"))
    };
    let failed = |error: io::Error| file_error(path, &error);
    must_be_regular(fs::metadata(real).map_err(failed)?)?;
    let file = File::open(real).map_err(failed)?;
    must_be_regular(file.metadata().map_err(failed)?)?;
    let mut text = Vec::new();
    // The size that the system tells may be wrong: the limit applies to what is read.
    file.take(max_bytes + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > max_bytes {
        let why = format!("over {max_bytes} bytes; is it the right file?");
        return Err(Error::new("FILE_TOO_LARGE", path, why));
    }
    Ok(text)
}

fn file_error(path: &str, error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Error::new("FILE_MISSING", path, "there is no such file")
        }
        ErrorKind::PermissionDenied => {
            Error::new("FILE_FORBIDDEN", path, "this user may not read the file")
        }
        _ => Error::new(
            "FILE_UNREADABLE",
            path,
            format!("the file cannot be read: {error}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A volume with the file `a` and the file `b`, which both hold the name of its version.
    fn swap(dir: &Path, version: &str) {
        fs::create_dir(dir.join(version)).unwrap();
        for name in ["a", "b"] {
            fs::write(dir.join(version).join(name), version).unwrap();
            let _ = symlink(Path::new(DATA).join(name), dir.join(name));
        }
        symlink(version, dir.join("new")).unwrap();
        fs::rename(dir.join("new"), dir.join(DATA)).unwrap();
    }

    #[test]
    fn a_volume_that_is_swapped_between_two_reads_is_read_again() {
        let dir = std::env::temp_dir().join(format!("handover-rust-swap-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        swap(&dir, "..1");
        let mut reads = 0;
        let contents = read_all_with(&dir, &["a", "b"], |dir, name, version| {
            reads += 1;
            if reads == 2 {
                swap(dir, "..2");
            }
            read_one(dir, name, version)
        });
        assert_eq!(contents.unwrap(), [b"..2", b"..2"]);
        let mut version = 2;
        let changing = read_all_with(&dir, &["a"], |dir, name, seen| {
            version += 1;
            swap(dir, &format!("..{version}"));
            read_one(dir, name, seen)
        });
        assert_eq!(changing.unwrap_err().code, "FILE_UNREADABLE");
        assert_eq!(version - 2, TRIES);
        fs::remove_dir_all(&dir).unwrap();
    }
}

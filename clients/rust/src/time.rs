use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(crate) type Seconds = i64;

const DAY: i64 = 86_400;

/// Seconds since 1970 of a day of the Gregorian calendar. Years are counted from March, so that a leap day comes last.
pub(crate) fn from_date(year: i64, month: i64, day: i64) -> Seconds {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    (days - 719_468) * DAY
}

pub(crate) fn seconds(at: SystemTime) -> Seconds {
    milliseconds(at).div_euclid(1000)
}

pub(crate) fn milliseconds(at: SystemTime) -> i64 {
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    }
}

/// ISO 8601, with milliseconds.
pub(crate) fn iso(milliseconds: i64) -> String {
    let seconds = milliseconds.div_euclid(1000);
    let days = seconds.div_euclid(DAY) + 719_468;
    let of_day = seconds.rem_euclid(DAY);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60,
        milliseconds.rem_euclid(1000)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_seconds_are_the_same_in_both_directions() {
        for (date, at, text) in [
            ((1970, 1, 1), 0, "1970-01-01T00:00:00.000Z"),
            ((1969, 12, 31), -86_400, "1969-12-31T00:00:00.000Z"),
            ((2000, 2, 29), 951_782_400, "2000-02-29T00:00:00.000Z"),
            ((2026, 11, 18), 1_794_960_000, "2026-11-18T00:00:00.000Z"),
            ((9999, 12, 31), 253_402_214_400, "9999-12-31T00:00:00.000Z"),
        ] {
            let (year, month, day) = date;
            assert_eq!(from_date(year, month, day), at);
            assert_eq!(iso(at * 1000), text);
        }
        assert_eq!(
            iso(1_794_960_000_000 + 86_399_007),
            "2026-11-18T23:59:59.007Z"
        );
        for day in -200_000..200_000 {
            let text = iso(day * DAY * 1000);
            let part = |from: usize, to: usize| text[from..to].parse().unwrap();
            if text.starts_with('-') {
                continue;
            }
            assert_eq!(from_date(part(0, 4), part(5, 7), part(8, 10)), day * DAY);
        }
    }
}

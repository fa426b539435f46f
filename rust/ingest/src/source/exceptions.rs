//! Words that take addresses out of a list: victims, and addresses that are explicitly allowed.

/// The words, without marks and in lower case.
const EXCEPTIONS: [&str; 5] = ["victim", "whitelist", "allowlist", "falsepositive", "delisted"];

/// Returns whether a remark, a heading or the name of a member says that its addresses are not what the list is about.
pub(crate) fn is_exception(text: &str) -> bool {
    let plain: String = text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    EXCEPTIONS.iter().any(|word| plain.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_found_however_they_are_written() {
        for text in ["victims", "Victim 1", "white-list", "falsePositives", "false_positives", "Allow list"] {
            assert!(is_exception(text), "{text}");
        }
        for text in ["blacklist", "Exploiter", "positives", ""] {
            assert!(!is_exception(text), "{text}");
        }
    }
}

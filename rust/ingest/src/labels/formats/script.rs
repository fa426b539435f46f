//! Texts in the literals of scripts: some lists are published as the source code that holds them.

/// The surroundings of a text that is not the value of a key: an item of an array, or an argument.
const NO_KEY: &str = "";

/// The texts of a script, each with the keys of the objects around it, outermost first. Comments are left out, and what
/// is no literal gives no texts. The last key is that of the text itself; an item of an array has an empty one.
///
/// `{a: {owners: ['x']}}` gives `x` under `a`, `owners`, and an empty key.
pub(super) fn texts(script: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut key: Option<String> = None;
    // A text or word is a key only once a colon follows it.
    let mut waiting: Option<Lexed> = None;
    for Lexed { token, line } in Lexer::new(script) {
        match token {
            Token::Mark(':') => key = waiting.take().map(|lexed| lexed.token.into_text()),
            token => {
                if let Some(Lexed { token: Token::Text(text), line }) = waiting.take() {
                    let own = key.take().unwrap_or_default();
                    let keys = path.iter().cloned().chain([own]).collect();
                    texts.push(Text { keys, value: text, line });
                }
                match token {
                    Token::Mark('{' | '[' | '(') => path.push(key.take().unwrap_or_else(|| NO_KEY.to_owned())),
                    Token::Mark('}' | ']' | ')') => {
                        path.pop();
                        key = None;
                    }
                    Token::Mark(',' | ';') => key = None,
                    Token::Mark(_) => {}
                    Token::Text(_) | Token::Word(_) => waiting = Some(Lexed { token, line }),
                }
            }
        }
    }
    texts
}

/// A text of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// The keys of the objects around it.
    pub(super) keys: Vec<String>,
    pub(super) value: String,
    /// The line on which it begins.
    pub(super) line: u64,
}

enum Token {
    Text(String),
    Word(String),
    Mark(char),
}

impl Token {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::Word(text) => text,
            Self::Mark(_) => String::new(),
        }
    }
}

struct Lexed {
    token: Token,
    line: u64,
}

struct Lexer<'s> {
    letters: std::iter::Peekable<std::str::Chars<'s>>,
    line: u64,
}

impl<'s> Lexer<'s> {
    fn new(script: &'s str) -> Self {
        Self { letters: script.chars().peekable(), line: 1 }
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.line += u64::from(letter == '\n');
        Some(letter)
    }

    /// Takes what stands before the end mark, and the mark.
    fn skip_to(&mut self, end: &[char]) {
        let mut last = '\0';
        while let Some(letter) = self.take() {
            if end == [letter] || end == [last, letter] {
                return;
            }
            last = letter;
        }
    }

    fn text(&mut self, quote: char) -> String {
        let mut text = String::new();
        while let Some(letter) = self.take() {
            match letter {
                '\\' => text.extend(self.take()),
                letter if letter == quote => break,
                letter => text.push(letter),
            }
        }
        text
    }
}

impl Iterator for Lexer<'_> {
    type Item = Lexed;

    fn next(&mut self) -> Option<Lexed> {
        let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.');
        loop {
            let line = self.line;
            let token = match self.take()? {
                letter if letter.is_whitespace() => continue,
                quote @ ('\'' | '"' | '`') => Token::Text(self.text(quote)),
                '/' if self.letters.peek() == Some(&'/') => {
                    self.skip_to(&['\n']);
                    continue;
                }
                '/' if self.letters.peek() == Some(&'*') => {
                    self.take();
                    self.skip_to(&['*', '/']);
                    continue;
                }
                letter if is_word(letter) => {
                    let mut word = String::from(letter);
                    while let Some(next) = self.letters.next_if(|next| is_word(*next)) {
                        word.push(next);
                    }
                    Token::Word(word)
                }
                mark => Token::Mark(mark),
            };
            return Some(Lexed { token, line });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(script: &str) -> Vec<String> {
        texts(script)
            .into_iter()
            .map(|text| format!("{}={} ({})", text.keys.join("/"), text.value, text.line))
            .collect()
    }

    #[test]
    fn texts_stand_under_their_keys() {
        let script = "const { a } = require('../b')\n/* no 'text' */\nconst config = {\n  bsc: { owners: [\n    \"x\", // 'y'\n    'it\\'s'\n  ] },\n  'tron': {owners: book.z}, name: 'n'\n}\nmodule.exports = [`w`]";
        assert_eq!(
            shown(script),
            ["/=../b (1)", "/bsc/owners/=x (5)", "/bsc/owners/=it's (6)", "/name=n (8)", "/=w (10)"]
        );
    }

    #[test]
    fn unfinished_scripts_end() {
        for script in ["'open", "/* open", "{a: [", "}", "a:", "\\", "'a\\"] {
            let _ = texts(script);
        }
        assert_eq!(shown("{a: 'x'"), [""; 0]);
    }
}

//! The grammar of label selectors.

use super::{Operator, Requirement, SelectorError, requirement::check_key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Comma,
    Open,
    Close,
    Not,
    Operator(Operator),
    End,
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

/// The requirements of a whole text, in the order in which they are written.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = Parser { text, rest: text };
    let mut requirements = Vec::new();
    if parser.peek() == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Comma => {}
            _ => return Err(parser.error("expected a comma or the end")),
        }
    }
}

impl<'a> Parser<'a> {
    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let mut token = self.next();
        let negated = token == Token::Not;
        if negated {
            token = self.next();
        }
        let Token::Word(key) = token else { return Err(self.error("expected a label's key")) };
        check_key(key).map_err(|message| self.error(&message))?;
        let ends = matches!(self.peek(), Token::End | Token::Comma);
        let (operator, values) = match (negated, ends) {
            (true, _) => (Operator::DoesNotExist, Vec::new()),
            (false, true) => (Operator::Exists, Vec::new()),
            (false, false) => self.condition()?,
        };
        let requirement = Requirement::unchecked(key, operator, values);
        requirement.check().map_err(|message| self.error(&message))?;
        Ok(requirement)
    }

    fn condition(&mut self) -> Result<(Operator, Vec<&'a str>), SelectorError> {
        let operator = match self.next() {
            Token::Operator(operator) => operator,
            // Words elsewhere: they are operators in this place alone.
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            _ => return Err(self.error("expected an operator")),
        };
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => match self.peek() {
                Token::End | Token::Comma => vec![""],
                Token::Word(word) => {
                    self.next();
                    vec![word]
                }
                _ => return Err(self.error("expected a value")),
            },
        };
        Ok((operator, values))
    }

    /// `(a,b)`; between two commas, and where nothing stands, is the empty value.
    fn values(&mut self) -> Result<Vec<&'a str>, SelectorError> {
        if self.next() != Token::Open {
            return Err(self.error("expected ("));
        }
        let mut values = Vec::new();
        loop {
            let mut token = self.next();
            if let Token::Word(word) = token {
                values.push(word);
                token = self.next();
            } else {
                values.push("");
            }
            match token {
                Token::Comma => {}
                Token::Close => return Ok(values),
                _ => return Err(self.error("expected a comma or )")),
            }
        }
    }

    fn peek(&self) -> Token<'a> {
        self.token().0
    }

    fn next(&mut self) -> Token<'a> {
        let (token, rest) = self.token();
        self.rest = rest;
        token
    }

    fn token(&self) -> (Token<'a>, &'a str) {
        let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        let rest = self.rest.trim_start_matches(is_space);
        let symbols = [
            ("==", Token::Operator(Operator::DoubleEquals)),
            ("=", Token::Operator(Operator::Equals)),
            ("!=", Token::Operator(Operator::NotEquals)),
            (">", Token::Operator(Operator::GreaterThan)),
            ("<", Token::Operator(Operator::LessThan)),
            ("!", Token::Not),
            (",", Token::Comma),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        for (symbol, token) in symbols {
            if let Some(rest) = rest.strip_prefix(symbol) {
                return (token, rest);
            }
        }
        let is_symbol = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
        let end = rest.find(|c| is_space(c) || is_symbol(c)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        (if word.is_empty() { Token::End } else { Token::Word(word) }, rest)
    }

    fn error(&self, message: &str) -> SelectorError {
        let at = self.text.len() - self.rest.len();
        SelectorError::new(self.text, format!("{message} before byte {at}"))
    }
}

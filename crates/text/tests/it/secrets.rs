//! Credentials of our own, put together here so that no scanner trips over them.

use ringfence_text::clean;

/// Characters that look drawn by lot, the same each time.
fn drawn(alphabet: &str, count: usize, seed: u64) -> String {
    let points: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            points[(state >> 33) as usize % points.len()]
        })
        .collect()
}

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let value =
            chunk.iter().fold(0_u32, |value, byte| value << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..4 {
            out.push(if index <= chunk.len() {
                char::from(DIGITS[(value >> (18 - 6 * index) & 63) as usize])
            } else {
                '='
            });
        }
    }
    out
}

#[test]
fn redacted_in_every_notation() {
    let templates = [
        "password={S}",
        "password: {S}",
        "PASSWORD = '{S}'",
        "\"password\": \"{S}\"",
        "{\\\"password\\\":\\\"{S}\\\"}",
        "<password>{S}</password>",
        "DB_PASSWORD={S}",
        "export PGPASSWORD={S}",
        "--password {S}",
        "--password={S}",
        "mysql -uroot -p{S} db",
        "sshpass -p '{S}' ssh h",
        "postgres://app:{S}@db:5432/x",
        "redis://:{S}@cache:6379",
        "curl -u bob:{S} https://x.test",
        "machine h login bob password {S}",
        "Server=x;Uid=sa;Pwd={S};Encrypt=yes",
        "jdbc:mysql://h/db?user=u&password={S}&ssl=1",
        "db.internal:5432:app:bob:{S}",
        "Passwort: {S}",
        "contrase\u{f1}a: {S}",
        "mot de passe : {S}",
        "пароль: {S}",
        "密码：{S}",
        "パスワード：{S}",
        "The password is {S}.",
        "| password | {S} |",
        "- name: DB_PASSWORD\n  value: {S}",
        "{\"name\": \"DB_PASSWORD\", \"value\": \"{S}\"}",
        "<add key=\"DbPassword\" value=\"{S}\"/>",
        "password => '{S}'",
        "config['password'] = \"{S}\"",
        "**Password:** {S}",
        "CREATE USER bob IDENTIFIED BY '{S}'",
        "$env:DB_PASSWORD = \"{S}\"",
        "ENV DB_PASSWORD {S}",
        "echo 'bob:{S}' | chpasswd",
        "docker login -u bob -p {S} registry.test",
        "ConvertTo-SecureString \"{S}\" -AsPlainText",
        "redis-cli -a {S} ping",
        "&quot;password&quot;:&quot;{S}&quot;",
        "net user bob {S} /add",
        "spring.datasource.password={S}",
        "password%3D{S}",
        "pass\u{200b}word={S}",
        "pass\u{1b}[0mword={S}",
    ];
    let mut missed = Vec::new();
    for (index, template) in templates.iter().enumerate() {
        let secret = format!("{}7{}", drawn(ALNUM, 9, index as u64 + 1), drawn(ALNUM, 6, index as u64 + 99));
        let cleaned = clean(&template.replace("{S}", &secret)).text.into_owned();
        if cleaned.contains(&secret) {
            missed.push(cleaned);
        }
    }
    assert_eq!(missed, Vec::<String>::new());
}

#[test]
fn keys_and_tokens_are_redacted_in_context() {
    let secret = drawn(ALNUM, 32, 5);
    let hex = drawn(HEX, 40, 6);
    let templates = [
        "api_key={S}",
        "apiKey: '{S}'",
        "X-Api-Key: {S}",
        "api key: {S}",
        "OPENWEATHER_API_KEY={S}",
        "client_secret={S}",
        "\"clientSecret\":\"{S}\"",
        "aws_secret_access_key = {S}",
        "Authorization: Bearer {S}",
        "Authorization: token {S}",
        "'Authorization': 'Bearer {S}'",
        "-H \"Authorization: Bearer {S}\"",
        "PRIVATE-TOKEN: {S}",
        "https://x.test/?access_token={S}&a=1",
        "https://x.test/v1?key={S}",
        "Cookie: theme=dark; session={S}",
        "Set-Cookie: sid={S}; HttpOnly",
        "//registry.npmjs.org/:_authToken={S}",
        "SECRET_KEY_BASE={S}",
        "AccountKey={S};",
        "refresh_token: {S}",
        "ENCRYPTION_KEY={S}",
        "STRIPE_KEY=\"{S}\"",
        "token \u{ff1a}{S}",
        "Authorization: Bot {S}",
        "x-auth-token: {S}",
        "?token={S}#x",
        "secret: {S}",
        "webhook_secret = \"{S}\"",
        "bearer {S}",
    ];
    let mut missed = Vec::new();
    for template in templates {
        for secret in [&secret, &hex] {
            let cleaned = clean(&template.replace("{S}", secret)).text.into_owned();
            if cleaned.contains(secret.as_str()) {
                missed.push(cleaned);
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new());
}

#[test]
fn found_one_level_of_encoding_down() {
    let token = format!("{}_{}", "ghp", drawn(ALNUM, 36, 7));
    let wrapped = [
        base64(token.as_bytes()),
        base64(format!("user:{token}").as_bytes()),
        base64(format!("{{\"password\": \"{}x7\"}}", drawn(ALNUM, 12, 8)).as_bytes()),
        token.replace('_', "%5F"),
        format!("state%3D{token}"),
        token.split_at(9).0.to_owned() + "\u{200b}" + token.split_at(9).1,
        token.split_at(9).0.to_owned() + "\u{1b}[0m" + token.split_at(9).1,
        base64(
            format!(
                "-----BEGIN {} KEY-----\n{}\n-----END {} KEY-----",
                "PRIVATE",
                drawn(ALNUM, 64, 3),
                "PRIVATE"
            )
            .as_bytes(),
        ),
    ];
    for text in wrapped {
        for text in [format!("x {text} y"), format!("data: {text}"), format!("https://x.test/{text}")] {
            let cleaned = clean(&text);
            assert!(cleaned.text.contains("[redacted: "), "{text} -> {}", cleaned.text);
        }
    }
}

#[test]
fn a_bot_token_is_redacted_on_its_own() {
    let token = format!("{}.Cl2FMQ.{}", base64(b"198622483471925248"), drawn(ALNUM, 27, 11));
    for text in [token.clone(), format!("see {token} there"), format!("bot={token}\n")] {
        assert_eq!(clean(&text).text, text.replace(&token, "[redacted: discord-token]"));
    }
}

#[test]
fn what_only_looks_like_one_stays() {
    let (sha, uuid) = (drawn(HEX, 40, 1), "3f2b8c1e-9d47-4a6b-8e21-0c5d7f9a1b34");
    let hash = base64(drawn(ALNUM, 64, 4).replace('a', "\u{e9}").as_bytes());
    let texts = [
        format!("commit {sha}"),
        format!("request_id={uuid}"),
        format!("sha256:{}", drawn(HEX, 64, 2)),
        format!("\"integrity\": \"sha512-{hash}\""),
        format!("key_id: {uuid}"),
        format!("cache_key={sha}"),
        format!("etag: \"{}\"", drawn(HEX, 32, 3)),
        format!("data:image/png;base64,{hash}"),
        "password: string".into(),
        "password: ${DB_PASSWORD}".into(),
        "api_key = os.environ[\"API_KEY\"]".into(),
        "token: <your-token>".into(),
        "Authorization: Bearer $TOKEN".into(),
        "export API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx".into(),
        "api_key: your-api-key-here".into(),
        "sk-...".into(),
        "Passwords must be at least 12 characters long.".into(),
        "max_tokens: 4096".into(),
        "tokens used: 15234".into(),
        "token_type=bearer".into(),
        "fn login(password: &str, token: Option<String>) -> Result<Session>".into(),
        "if password == \"\" { return }".into(),
        "password = getpass.getpass()".into(),
        "secretName: db-credentials".into(),
        "the secret of success is work".into(),
        "key: value".into(),
        "primary_key: user_id".into(),
        "ssh://git@github.com/a/b.git".into(),
        "postgres://user:password@localhost/db".into(),
        "mailto:bob@example.com".into(),
        "npm install --save lodash@4.17.21".into(),
        "token = lexer.next_token()".into(),
        "password_reset_url=https://x.test/reset".into(),
        "const token = await getToken();".into(),
        "Bearer authentication is required".into(),
        "basic usage: see below".into(),
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ\n-----END PUBLIC KEY-----".into(),
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7".into(),
        "AKIAIOSFODNN7EXAMPLE".into(),
        "See [the docs](https://docs.rs/serde/latest/serde/?search=token) for more.".into(),
        "![diagram](./docs/a.png)".into(),
        "<details><summary>x</summary></details>".into(),
        "Vec<String>, a < b && c > d, <https://docs.rs>, <bob@example.com>".into(),
        "[1]: https://docs.rs/serde".into(),
        "let x = a <| b |> c".into(),
        "1.2.3-rc.1+build.77".into(),
        "password: required, min 8 characters".into(),
        "Enter your password: ".into(),
        "session: 12 minutes".into(),
        "user:pass@".into(),
        "10.0.0.1:5432: connection refused".into(),
    ];
    let mut changed = Vec::new();
    for text in &texts {
        let cleaned = clean(text);
        if cleaned.text != *text {
            changed.push(cleaned.text.into_owned());
        }
    }
    assert_eq!(changed, Vec::<String>::new());
}

#[test]
fn a_hash_of_subresource_integrity_is_no_credential() {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for seed in 1..40 {
        for (name, digits, padding) in
            [("sha1", 27, "="), ("sha256", 43, "="), ("sha384", 64, ""), ("sha512", 86, "==")]
        {
            let hash = format!("{name}-{}{padding}", drawn(DIGITS, digits, seed));
            let other = format!("sha384-{}", drawn(DIGITS, 64, seed + 100));
            for text in [
                format!("<link rel=\"stylesheet\" integrity=\"{hash}\">"),
                format!("integrity=\"{hash} {other}\" crossorigin"),
                format!("const INTEGRITY_KEY = \"{hash}\";"),
                format!("\"token.js\": \"{hash}\""),
                format!("api_key_integrity={hash}"),
                format!("secret: '{hash}'"),
                format!("x-session-token: {hash}"),
            ] {
                assert_eq!(clean(&text).text, text);
            }
            let (value, _) = ringfence_text::clean_json(&serde_json::json!({ "secretIntegrity": hash }));
            assert_eq!(value, None, "{hash}");
            // Of another length it is no such hash, and a password stays one.
            for text in [format!("secret: '{hash}x9'"), format!("password = \"{hash}\"")] {
                assert_ne!(clean(&text).text, text);
            }
        }
    }
}

#[test]
fn every_end_of_a_line_is_an_ordinary_one() {
    #[rustfmt::skip]
    let cases = [
        ("safe to delete\rrm -rf /tmp/x",         "safe to delete\nrm -rf /tmp/x"),
        ("a\r\rb",                                "a\n\nb"),
        ("a\r\r\nb",                              "a\n\r\nb"),
        ("a\r\nb\r\n",                            "a\r\nb\r\n"),
        ("a\r",                                   "a\n"),
        ("a\r\u{1b}[Kb",                          "a\nb"),
        ("a\u{2028}b\u{2029}c",                   "a\nb\nc"),
        ("é\u{2028}\u{200b}é\r漢",                "é\né\n漢"),
        ("a\u{1b}[0m\r\u{1b}[0m\nb",              "a\r\nb"),
    ];
    for (text, wanted) in cases {
        let cleaned = clean(text);
        assert_eq!(cleaned.text, wanted, "{text:?}");
        assert_eq!(clean(wanted).findings, [], "{wanted:?}");
        // However it comes in pieces.
        for step in 1..4 {
            let mut cleaner = ringfence_text::Cleaner::new();
            let mut out: String = text.as_bytes().chunks(step).map(|piece| cleaner.push(piece)).collect();
            out += &cleaner.finish();
            assert_eq!(out, wanted, "{text:?} by {step}");
        }
    }
    // Also where a long text without a blank is cut.
    for length in (64 << 10) - 3..(64 << 10) + 3 {
        let text = format!("{}\r\n{}\rb", "a".repeat(length), "b".repeat(70 << 10));
        assert_eq!(clean(&text).text, text.replace("\rb", "\nb"), "{length}");
    }
}

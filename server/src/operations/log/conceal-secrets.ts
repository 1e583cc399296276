const CONCEALED = '[concealed]'

/**
 * The forms of this server's secrets: its own tokens, JSON Web Tokens, bearer headers, password
 * hashes, the private member of a key, webhook secrets, and a password within a URL. Quotes may be
 * escaped, because a message that quotes JSON stands inside JSON. Repetitions are bounded or cannot
 * start twice in one place, so that no line takes quadratic time.
 */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/pal_dat_[\w.-]+/g, CONCEALED],
  [/pal_[a-z]{3}_[0-9A-Za-z]+/g, CONCEALED],
  [/whsec_[0-9A-Za-z+/=]+/g, CONCEALED],
  [/(?<![\w-])eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)*/g, CONCEALED],
  [/\b(Bearer|DPoP) +[^\s"\\]+/gi, `$1 ${CONCEALED}`],
  [/\$argon2[^\s"\\]*/g, CONCEALED],
  [/("d\\{0,7}"\s{0,8}:\s{0,8}\\{0,7}")[\w-]+/g, `$1${CONCEALED}`],
  [/(\b[a-z][a-z\d+.-]{0,31}:\/\/[^\s:/@"\\]{0,255}:)[^\s/@"\\]{1,1023}@/gi, `$1${CONCEALED}@`],
]

/**
 * The line without any text in the form of a secret. The server logs no secret itself; this
 * protects against the error message of a library that quotes its input.
 */
export function concealSecrets(line: string): string {
  return SECRETS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), line)
}

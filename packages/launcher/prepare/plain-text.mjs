/**
 * Rewrites a program in ASCII. V8 keeps the text of a program as long as it runs, and needs two
 * bytes for each character as soon as one of them is not Latin-1, such as an arrow in a message.
 *
 * Escapes have the same meaning in strings, templates, patterns and names, and are harmless in
 * comments. Only the argument of `String.raw` would change.
 *
 * @param {string} code
 */
export function toPlainText(code) {
  return code.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

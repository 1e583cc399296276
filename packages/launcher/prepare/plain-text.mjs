/**
 * The same program in ASCII alone. V8 keeps the text of a program for as long as it runs, two bytes
 * for each character as soon as one of them is not Latin: an arrow in a message made the agent 0.9
 * MiB larger.
 *
 * Escapes mean the same in strings, templates, patterns and names, and are harmless in comments.
 * Only the argument of `String.raw` would be another text.
 *
 * @param {string} code
 */
export function toPlainText(code) {
  return code.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

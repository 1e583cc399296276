/**
 * PostgreSQL refuses U+0000, and SQLite ends a text there in its functions. A machine that met such
 * a name must not repeat its batch for ever, so the name is stored with U+FFFD.
 */
export function toStorable<Text extends string | null>(text: Text): Text {
  return (text?.includes('\0') === true ? text.replaceAll('\0', '\u{FFFD}') : text) as Text
}

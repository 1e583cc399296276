const MAX_QUOTED = 120

/**
 * Puts user input into back-ticks for a message. Control characters and unpaired surrogates are
 * escaped and a long text is cut, so that a message stays one harmless line.
 */
export function quote(text: string): string {
  const shown = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text
  const escaped = shown.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )
  return `\`${escaped}\``
}

/** Formats any value for a message: text as written, other values by their kind. */
export function show(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'function' ? 'a function' : quote(String(value))
}

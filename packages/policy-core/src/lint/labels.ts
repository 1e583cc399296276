import { decodePunycode } from './punycode.ts'

const ENCODED = 'xn--'

/** The labels as written, including wildcards, without the port. */
export function writtenLabels(text: string): readonly string[] {
  return text.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '').split('.')
}

/** Decodes a label to Unicode; null when the label is plain ASCII. */
export function decodeLabel(label: string): string | null {
  return label.startsWith(ENCODED) ? decodePunycode(label.slice(ENCODED.length)) : null
}

import { formatNetworkPattern } from '../pattern/format-pattern.ts'
import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry } from './lint-rule.ts'
import { decodePunycode } from './punycode.ts'
import { describeConfusable } from './scripts.ts'

const ENCODED = 'xn--'

/**
 * Finds host names with a label that reads like another name. A label written in ASCII (`xn--`)
 * is not reported, because that form cannot be mistaken.
 */
export function findConfusable(entry: Entry): Finding[] {
  const { pattern } = entry
  if (pattern.kind !== 'name' || !pattern.domain.includes(ENCODED)) return []
  const labels = pattern.domain.split('.')
  const topLevel = labels.at(-1) ?? ''
  const written = writtenLabels(entry.text)
  for (const [index, label] of labels.entries()) {
    if (written.at(index - labels.length) === label) continue
    const decoded = decode(label)
    const why = decoded === null ? null : describeConfusable(decoded, decode(topLevel) ?? topLevel)
    if (decoded === null || why === null) continue
    return [
      createFinding(
        'confusable_host',
        [refer(entry)],
        `${quote(decoded)} (${quote(label)}) in ${quote(entry.text)} ${why}`,
        `make sure that it is the name you mean, and write ` +
          `${quote(formatNetworkPattern(pattern))}, which cannot be mistaken`,
      ),
    ]
  }
  return []
}

/** The labels as written, including wildcards, without the port. */
function writtenLabels(text: string): readonly string[] {
  return text.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '').split('.')
}

/** Decodes a label to Unicode; null when the label is plain ASCII. */
function decode(label: string): string | null {
  return label.startsWith(ENCODED) ? decodePunycode(label.slice(ENCODED.length)) : null
}

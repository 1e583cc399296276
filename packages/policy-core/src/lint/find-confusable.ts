import { formatNetworkPattern } from '../pattern/format-pattern.ts'
import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { decodeLabel, writtenLabels } from './labels.ts'
import { refer, type Entry } from './lint-rule.ts'
import { describeConfusable } from './scripts.ts'

/**
 * Finds host names with a label that reads like another name. A label written in ASCII (`xn--`)
 * is not reported, because that form cannot be mistaken.
 */
export function findConfusable(entry: Entry): Finding[] {
  const { pattern } = entry
  if (pattern.kind !== 'name' || !pattern.domain.includes('xn--')) return []
  const labels = pattern.domain.split('.')
  const topLevel = labels.at(-1) ?? ''
  const written = writtenLabels(entry.text)
  for (const [index, label] of labels.entries()) {
    if (written.at(index - labels.length) === label) continue
    const decoded = decodeLabel(label)
    const why =
      decoded === null ? null : describeConfusable(decoded, decodeLabel(topLevel) ?? topLevel)
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

import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry } from './lint-rule.ts'
import { decodePunycode } from './punycode.ts'
import { describeConfusable } from './scripts.ts'

const ENCODED = 'xn--'

/** Host names with a label that reads like another one. */
export function findConfusable(entry: Entry): Finding[] {
  const { pattern } = entry
  if (pattern.kind !== 'name' || !pattern.domain.includes(ENCODED)) return []
  for (const label of pattern.domain.split('.')) {
    const decoded = label.startsWith(ENCODED) ? decodePunycode(label.slice(ENCODED.length)) : null
    const why = decoded === null ? null : describeConfusable(decoded)
    if (decoded === null || why === null) continue
    return [
      createFinding(
        'confusable_host',
        [refer(entry)],
        `${quote(decoded)} (${quote(label)}) in ${quote(entry.text)} ${why}`,
        `make sure that it is the name you mean, and write ${quote(label)}, which cannot be mistaken`,
      ),
    ]
  }
  return []
}

import { findPath } from '../language/find-path.ts'
import type { Segments } from '../language/path-automaton.ts'
import { literalSegment } from '../path/glob.ts'
import { segmentsOf } from '../path/path.ts'
import { quote } from '../quote.ts'
import { withinBudget, type Budget } from './budget.ts'
import type { CoverFinder } from './find-cover.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry, type PlacedPath } from './lint-rule.ts'

/** More reads than anybody writes by hand to cover one write. */
const MAX_ROUNDS = 32

/**
 * Allowed writes that no allowed reads cover, alone or together: a writable mount needs both. Asks
 * for a path that can be written and not be read, takes in a read that covers it, and asks again.
 */
export function findUnreadable(entry: Entry, finder: CoverFinder, budget: Budget): Finding[] {
  const { pattern } = entry
  if (!isWriteOnly(entry) || pattern.kind !== 'path') return []
  const whole = findRead(entry, pattern, finder)
  if (whole !== null && whole !== 'unknown') return []
  const reads: Segments[] = []
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const question = { inAll: [pattern.segments], inNone: reads }
    const found = withinBudget(budget, (meter) => findPath(question, meter))
    if (found.kind === 'none') return []
    if (found.kind === 'unknown') break
    const segments = segmentsOf(found.path).map(literalSegment)
    const read = findRead(entry, { ...pattern, segments }, finder)
    if (read === null) return [describe(entry, pattern, found.path)]
    if (read === 'unknown' || read.fromHome !== pattern.fromHome) break
    reads.push(read.segments)
  }
  return [
    createFinding(
      'undecided',
      [refer(entry)],
      `whether all of ${quote(entry.text)} can be read took too much work to tell`,
      `allow \`read\` of ${quote(entry.text)} if it is to be mounted`,
    ),
  ]
}

function isWriteOnly({ rule: { decision, actions } }: Entry): boolean {
  return decision === 'allow' && actions.includes('write') && !actions.includes('read')
}

/** A read that covers the pattern and is allowed wherever the write is. */
function findRead(
  write: Entry,
  pattern: PlacedPath,
  finder: CoverFinder,
): PlacedPath | null | 'unknown' {
  const read = finder.coverOf(write, 'allow', 'read', pattern)
  if (read === 'unknown') return read
  return read?.pattern.kind === 'path' ? read.pattern : null
}

function describe(entry: Entry, { fromHome }: PlacedPath, path: string): Finding {
  const shown = fromHome ? `~${path === '/' ? '' : path}` : path
  const example = shown === entry.text ? '' : `, such as ${quote(shown)} in it`
  return createFinding(
    'write_without_read',
    [refer(entry)],
    `${quote(entry.text)} can be written where it cannot be read${example}`,
    `allow \`read\` of ${quote(entry.text)} as well: a writable mount needs both`,
  )
}

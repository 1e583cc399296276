import {
  findPath,
  literalSegment,
  quote,
  segmentsOf,
  type FoundPath,
  type Segments,
} from '@palisade/policy-core/internal'
import { withinBudget, type Budget } from './budget.ts'
import type { Cover, CoverFinder } from './find-cover.ts'
import { createFinding, type Finding } from './finding.ts'
import type { ResolvedPath } from './lint-pattern.ts'
import { refer, type Entry } from './lint-rule.ts'

/** Exceeds the number of reads and denies that people write for one write. */
const MAX_ROUNDS = 32

/**
 * Finds allowed writes that are not covered by allowed reads and denied writes together. A writable
 * mount needs both actions. A user of a single team has the fewest reads, so each team of the write
 * is checked separately.
 */
export function findUnreadable(entry: Entry, finder: CoverFinder, budget: Budget): Finding[] {
  const { pattern, rule } = entry
  if (!isWriteOnly(entry) || pattern.kind !== 'path') return []
  let isUndecided = false
  for (const teams of rule.teams?.each() ?? [null]) {
    const found = findPathOf({ ...entry, rule: { ...rule, teams } }, pattern, finder, budget)
    if (found.kind === 'found') return [describe(entry, pattern, found.path)]
    if (found.kind === 'unknown') isUndecided = true
  }
  return isUndecided ? [describeUndecided(entry)] : []
}

const NONE: FoundPath = { kind: 'none' }
const UNKNOWN: FoundPath = { kind: 'unknown' }

/**
 * Searches for a path that can be written but not read. When a read or a denied write settles the
 * candidate, the search excludes that pattern and continues.
 */
function findPathOf(
  entry: Entry,
  pattern: ResolvedPath,
  finder: CoverFinder,
  budget: Budget,
): FoundPath {
  const whole = findSettling(entry, pattern, finder)
  if (whole !== null && whole !== 'unknown') return NONE
  const settled: Segments[] = []
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const question = { inAll: [pattern.segments], inNone: settled }
    const found = withinBudget(budget, (meter) => findPath(question, meter))
    if (found.kind !== 'found') return found
    const segments = segmentsOf(found.path).map(literalSegment)
    const settling = findSettling(entry, { ...pattern, segments }, finder)
    if (settling === null) return found
    if (settling === 'unknown' || settling.fromHome !== pattern.fromHome) return UNKNOWN
    settled.push(settling.segments)
  }
  return UNKNOWN
}

function isWriteOnly({ rule: { decision, actions } }: Entry): boolean {
  return decision === 'allow' && actions.includes('write') && !actions.includes('read')
}

/** A read or a denied write that covers the pattern and is in force with the write. */
function findSettling(
  write: Entry,
  pattern: ResolvedPath,
  finder: CoverFinder,
): ResolvedPath | null | 'unknown' {
  const deny = finder.coverOf(write, 'deny', 'write', pattern)
  const settling = isPathEntry(deny) ? deny : finder.coverOf(write, 'allow', 'read', pattern)
  if (isPathEntry(settling)) return settling.pattern
  return deny === 'unknown' || settling === 'unknown' ? 'unknown' : null
}

function isPathEntry(cover: Cover): cover is Entry & { readonly pattern: ResolvedPath } {
  return cover !== null && cover !== 'unknown' && cover.pattern.kind === 'path'
}

function describeUndecided(entry: Entry): Finding {
  return createFinding(
    'undecided',
    [refer(entry)],
    `the budget ran out before it was clear whether all of ${quote(entry.text)} can be read`,
    `allow \`read\` of ${quote(entry.text)} if it is to be mounted`,
  )
}

function describe(entry: Entry, { fromHome }: ResolvedPath, path: string): Finding {
  const shown = fromHome ? `~${path === '/' ? '' : path}` : path
  const example = shown === entry.text ? '' : `, such as ${quote(shown)} in it`
  return createFinding(
    'write_without_read',
    [refer(entry)],
    `${quote(entry.text)} can be written where it cannot be read${example}`,
    `allow \`read\` of ${quote(entry.text)} as well: a writable mount needs both`,
  )
}

import type { Action } from '@palisade/policy-core'
import { quote } from '@palisade/policy-core/internal'
import { describeBroad } from './find-broad.ts'
import type { Cover, CoverFinder } from './find-cover.ts'
import { describeImpossible } from './find-idle.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry, type LintRule } from './lint-rule.ts'

/** Effect of other rules on one resource. */
export interface EntryEffect {
  readonly entry: Entry
  readonly kind: 'shadowed' | 'partly shadowed' | 'double' | 'undecided' | 'needed'
  /** The affected actions; `causes` are the resources responsible. */
  readonly actions: readonly Action[]
  readonly causes: readonly Entry[]
}

/**
 * Classifies each resource of an active rule: denied by another rule, covered by another resource,
 * or needed. Resources that cannot match are left out; `findIdle` reports them.
 */
export function effectsOf(rule: LintRule, finder: CoverFinder): readonly EntryEffect[] {
  if (!rule.active) return []
  return rule.entries
    .filter((entry) => describeImpossible(entry) === null)
    .map((entry) => effectOf(entry, finder))
}

/** Tells whether the resource can be removed, so that other findings about it are useless. */
export function isPointless({ kind }: EntryEffect): boolean {
  return kind === 'shadowed' || kind === 'double'
}

/**
 * Findings for one rule. Resources of the same kind share one finding if they are the whole rule.
 */
export function findPointless(rule: LintRule, effects: readonly EntryEffect[]): Finding[] {
  const [first] = effects
  const isWhole =
    effects.length > 1 &&
    effects.length === rule.entries.length &&
    first !== undefined &&
    isPointless(first) &&
    effects.every(({ kind }) => kind === first.kind)
  return isWhole ? [describeRule(rule, effects)] : effects.flatMap(describe)
}

function effectOf(entry: Entry, finder: CoverFinder): EntryEffect {
  const { actions, decision } = entry.rule
  const shadows =
    decision === 'allow' ? actions.map((action) => finder.coverOf(entry, 'deny', action)) : []
  const shadowed = actions.filter((_, index) => isEntry(shadows[index] ?? null))
  const causes = shadows.filter(isEntry)
  if (shadowed.length === actions.length)
    return { entry, kind: 'shadowed', actions: shadowed, causes }
  const doubles = actions.map((action) => finder.doubleOf(entry, action))
  if (doubles.every(isEntry)) return { entry, kind: 'double', actions, causes: doubles }
  if (shadowed.length > 0) return { entry, kind: 'partly shadowed', actions: shadowed, causes }
  const unknown = actions.filter(
    (_, index) => shadows[index] === 'unknown' || doubles[index] === 'unknown',
  )
  return { entry, kind: unknown.length > 0 ? 'undecided' : 'needed', actions: unknown, causes: [] }
}

function isEntry(cover: Cover): cover is Entry {
  return cover !== null && cover !== 'unknown'
}

function describe({ entry, kind, actions, causes }: EntryEffect): Finding[] {
  const text = quote(entry.text)
  const rules = [refer(entry), ...distinct(causes).map(refer)]
  const list = listOf(causes)
  switch (kind) {
    case 'needed':
      return []
    case 'undecided':
      return [
        createFinding(
          'undecided',
          rules,
          `the budget ran out before it was clear whether other rules make ${text} redundant`,
          'write patterns with fewer `*` and `**`, or split the policies before checking them',
        ),
      ]
    case 'shadowed':
      return [
        createFinding(
          'shadowed',
          rules,
          `allowing ${text} has no effect: all of it is denied by ${list}`,
          `remove ${text}, or narrow the deny`,
        ),
      ]
    case 'partly shadowed':
      return [
        createFinding(
          'shadowed',
          rules,
          `allowing ${text} has no effect for ${actions.map(quote).join(', ')}: ` +
            `all of it is denied by ${list}`,
          'allow the other action in a rule of its own, or narrow the deny',
        ),
      ]
    case 'double': {
      const isSame = causes.every(({ key }) => key === entry.key)
      return [
        createFinding(
          isSame ? 'duplicate_resource' : 'redundant',
          rules,
          isSame
            ? `${text} is the same pattern as ${list}`
            : `${text} changes nothing: all of it is covered by ${list}`,
          mendDoubles(text, [entry], causes),
        ),
      ]
    }
  }
}

/** Advises to remove the broad resource, because a user who removes the narrow one keeps it. */
function mendDoubles(what: string, entries: readonly Entry[], causes: readonly Entry[]): string {
  const broad = causes.filter(({ pattern }) => describeBroad(pattern) !== null)
  const isBroad = entries.some(({ pattern }) => describeBroad(pattern) !== null)
  if (broad.length === 0 || isBroad) return `remove ${what}`
  const are = new Set(broad.map(({ text }) => text)).size === 1 ? 'is' : 'are'
  return `keep ${what} and remove ${listOf(broad)}, which ${are} too broad`
}

function describeRule(rule: LintRule, effects: readonly EntryEffect[]): Finding {
  const causes = effects.flatMap((each) => each.causes)
  const rules = [rule.identity, ...distinct(causes).map(refer)]
  const list = listOf(causes)
  if (effects.every(({ kind }) => kind === 'shadowed'))
    return createFinding(
      'shadowed',
      rules,
      `the rule has no effect: its ${effects.length} resources are denied by ${list}`,
      `remove the rule, or narrow the ${new Set(causes).size === 1 ? 'deny' : 'denies'}`,
    )
  const isSame = effects.every((each) => each.causes.every(({ key }) => key === each.entry.key))
  return createFinding(
    isSame ? 'duplicate_resource' : 'redundant',
    rules,
    isSame
      ? `each of the rule's ${effects.length} resources is the same pattern as one of ${list}`
      : `the rule changes nothing: its ${effects.length} resources are covered by ${list}`,
    mendDoubles(
      'the rule',
      effects.map(({ entry }) => entry),
      causes,
    ),
  )
}

/** Lists a few causes for a message; the finding itself has all of them. */
function listOf(causes: readonly Entry[]): string {
  const texts = [...new Set(causes.map(({ text }) => quote(text)))]
  const shown = texts.slice(0, 3).join(', ')
  return texts.length > 3 ? `${shown} and ${texts.length - 3} more` : shown
}

function distinct(entries: readonly Entry[]): Entry[] {
  return [...new Set(entries)].toSorted((a, b) => a.rank - b.rank)
}

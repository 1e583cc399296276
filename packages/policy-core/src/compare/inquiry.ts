import type { CanonicalRequest, RuleMatch } from '../decision/decision.ts'
import type { Action } from '../policy/policy.ts'
import type { Change, ComparedRegion } from './comparison.ts'
import { brief, findChanges, type Proven } from './find-changes.ts'
import { firstFound, type Search } from './meter.ts'
import type { PairSuspect } from './pair/pair-suspect.ts'
import type { Cause, Listed, Region, Space } from './space.ts'
import { testSuspect, type Crowd, type Indices, type Suspect } from './suspects.ts'

/** The search for newly reachable requests of one action and one kind of pattern. */
export interface Inquiry {
  /** Any request that became reachable. */
  readonly first: () => Search<CanonicalRequest>
  /** Describes all of them, and the regions that were not decided. */
  readonly all: () => Findings
}

export interface Findings {
  readonly changes: readonly Change[]
  readonly undecided: readonly ComparedRegion[]
}

interface Subject<P> {
  readonly action: Action
  readonly space: Space<P>
  /** The same space with the budget for shortening the answer. */
  readonly tidySpace: Space<P>
  readonly indices: Indices<P>
  readonly suspects: () => Iterable<Suspect<P> | Crowd<P>>
  /** Absent for paths, which have no counterpart. */
  readonly pairs?: () => Iterable<PairSuspect<P>>
  readonly partner?: 'with_allowed_name' | 'with_allowed_address'
}

export function createInquiry<P>(subject: Subject<P>): Inquiry {
  const { space, suspects, pairs = () => [] } = subject
  return {
    first: () => {
      const alone = firstFound(suspects(), (suspect) => testSuspect(space, suspect))
      if (alone.kind === 'found') return alone
      const paired = firstFound(pairs(), ({ find }) => find())
      return paired.kind === 'none' ? alone : paired
    },
    all: () => {
      const alone = describeAlone(subject)
      const paired = describePaired(subject)
      return {
        changes: [...alone.changes, ...paired.changes.filter((pair) => !isTold(alone, pair))],
        undecided: [...alone.undecided, ...paired.undecided],
      }
    },
  }
}

/** Whether a change reports the removed deny as a whole, with names and addresses included. */
function isTold({ changes }: Findings, { resource }: Change): boolean {
  return changes.some((change) => change.only === 'allowed' && change.resource === resource)
}

function describeAlone<P>({ action, space, tidySpace, indices, suspects }: Subject<P>): Findings {
  const { crowds, proven, undecided } = findChanges({ space, tidySpace, indices }, suspects())
  const place = { action }
  const together = crowds.map(({ region, causes, example }) => {
    const change = { region, causes, example, allowed: [], denied: [] }
    return describe(space, change, { action, only: 'allowed' })
  })
  return {
    changes: [...together, ...proven.map((change) => describe(space, change, place))],
    undecided: undecided.map((region) => ({ ...place, ...format(space, region) })),
  }
}

function describePaired<P>({ action, tidySpace, pairs, partner }: Subject<P>): Findings {
  const changes: Change[] = []
  const undecided: ComparedRegion[] = []
  if (pairs === undefined || partner === undefined) return { changes, undecided }
  for (const { find, ...suspect } of pairs()) {
    const place = { action, only: partner }
    const result = find()
    if (result.kind === 'found') {
      const change = brief(tidySpace, { ...suspect, example: result.value })
      changes.push(describe(tidySpace, change, place))
    }
    if (result.kind === 'unknown')
      undecided.push({ ...place, ...format(tidySpace, suspect.region) })
  }
  return { changes, undecided }
}

function describe<P>(
  space: Space<P>,
  { region, allowed, denied, example, causes }: Proven<P>,
  place: Pick<ComparedRegion, 'action' | 'only'>,
): Change {
  return {
    ...place,
    ...format(space, region),
    except: {
      allowed: textsOf(space, allowed),
      denied: textsOf(space, denied),
    },
    example,
    rules: causes.flatMap((listed) => listed.causes.map(describeCause)).toSorted(byIdentity),
  }
}

function format<P>(space: Space<P>, { resource, within }: Region<P>) {
  const text = space.format(resource)
  return within === null ? { resource: text } : { resource: text, within: space.format(within) }
}

function textsOf<P>(space: Space<P>, patterns: readonly Listed<P>[]): readonly string[] {
  return patterns.map(({ pattern }) => space.format(pattern)).toSorted()
}

function describeCause({ rule, resource }: Cause): RuleMatch {
  return { ...rule.identity, resource, origin: rule.origin }
}

function byIdentity(a: RuleMatch, b: RuleMatch): number {
  const keys = ['policy_id', 'rule_id', 'origin', 'resource'] as const
  for (const key of keys) {
    if (a[key] < b[key]) return -1
    if (a[key] > b[key]) return 1
  }
  return 0
}

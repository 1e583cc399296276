import type { Action, CanonicalRequest, RuleMatch } from '@palisade/policy-core'
import type { Change, ComparedRegion } from './comparison.ts'
import { brief, findChanges, type Proven } from './find-changes.ts'
import { firstFound, type SearchResult } from './meter.ts'
import type { PairCandidate } from './pair/pair-candidate.ts'
import type { Cause, Listed, Region, PatternSpace } from './pattern-space.ts'
import { testCandidate, type CandidateGroup, type Indices, type Candidate } from './candidates.ts'

/** The search for newly reachable requests of one action and one kind of pattern. */
export interface Search {
  /** Any request that became reachable. */
  readonly first: () => SearchResult<CanonicalRequest>
  /** Describes all of them, and the regions that were not decided. */
  readonly all: () => Findings
}

export interface Findings {
  readonly changes: readonly Change[]
  readonly undecided: readonly ComparedRegion[]
}

interface Subject<P> {
  readonly action: Action
  readonly space: PatternSpace<P>
  /** The same space with the budget for shortening the answer. */
  readonly tidySpace: PatternSpace<P>
  readonly indices: Indices<P>
  readonly candidates: () => Iterable<Candidate<P> | CandidateGroup<P>>
  /** Absent for paths, which have no counterpart. */
  readonly pairs?: () => Iterable<PairCandidate<P>>
  readonly partner?: 'with_allowed_name' | 'with_allowed_address'
}

export function createSearch<P>(subject: Subject<P>): Search {
  const { space, candidates, pairs = () => [] } = subject
  return {
    first: () => {
      const alone = firstFound(candidates(), (candidate) => testCandidate(space, candidate))
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

function describeAlone<P>({ action, space, tidySpace, indices, candidates }: Subject<P>): Findings {
  const { groups, proven, undecided } = findChanges({ space, tidySpace, indices }, candidates())
  const scope = { action }
  const together = groups.map(({ region, causes, example }) => {
    const change = { region, causes, example, allowed: [], denied: [] }
    return describe(space, change, { action, only: 'allowed' })
  })
  return {
    changes: [...together, ...proven.map((change) => describe(space, change, scope))],
    undecided: undecided.map((region) => ({ ...scope, ...format(space, region) })),
  }
}

function describePaired<P>({ action, tidySpace, pairs, partner }: Subject<P>): Findings {
  const changes: Change[] = []
  const undecided: ComparedRegion[] = []
  if (pairs === undefined || partner === undefined) return { changes, undecided }
  for (const { find, ...candidate } of pairs()) {
    const scope = { action, only: partner }
    const result = find()
    if (result.kind === 'found') {
      const change = brief(tidySpace, { ...candidate, example: result.value })
      changes.push(describe(tidySpace, change, scope))
    }
    if (result.kind === 'unknown')
      undecided.push({ ...scope, ...format(tidySpace, candidate.region) })
  }
  return { changes, undecided }
}

function describe<P>(
  space: PatternSpace<P>,
  { region, allowed, denied, example, causes }: Proven<P>,
  scope: Pick<ComparedRegion, 'action' | 'only'>,
): Change {
  return {
    ...scope,
    ...format(space, region),
    except: {
      allowed: textsOf(space, allowed),
      denied: textsOf(space, denied),
    },
    example,
    rules: causes.flatMap((listed) => listed.causes.map(describeCause)).toSorted(byIdentity),
  }
}

function format<P>(space: PatternSpace<P>, { resource, within }: Region<P>) {
  const text = space.format(resource)
  return within === null ? { resource: text } : { resource: text, within: space.format(within) }
}

function textsOf<P>(space: PatternSpace<P>, patterns: readonly Listed<P>[]): readonly string[] {
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

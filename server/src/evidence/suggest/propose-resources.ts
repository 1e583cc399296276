import type { Action } from '@palisade/policy-core'
import type { UncoveredReason } from '@palisade/protocol'
import type { Audience, Audiences } from './choose-audience.ts'
import { findWildcards } from './find-wildcards.ts'
import { countDecisions, countDevices, usersOf } from './summarize-evidence.ts'
import type { Seen, SuggestRules } from './suggest-input.ts'
import type { Candidate } from './write-resource.ts'

/** One resource of a suggested rule, for one audience. */
export interface Proposal {
  readonly audience: Audience
  readonly action: Action
  readonly program: string | null
  readonly resource: string
  readonly isWildcard: boolean
  /** One, or those that the wildcard replaces. */
  readonly candidates: readonly [Candidate, ...Candidate[]]
  /** Sightings by the audience. */
  readonly seen: readonly Seen[]
}

/** The reason why a candidate has too little evidence; null for enough. */
export function reasonOfFew(
  seen: readonly Seen[],
  { min_devices, min_count }: Pick<SuggestRules, 'min_devices' | 'min_count'>,
): Extract<UncoveredReason, 'few_devices' | 'few_decisions'> | null {
  if (countDevices(seen) < min_devices) return 'few_devices'
  return countDecisions(seen) < min_count ? 'few_decisions' : null
}

/** Chooses resources and audiences for the candidates with enough evidence. */
export function proposeResources(
  candidates: readonly Candidate[],
  audiences: Audiences,
  rules: SuggestRules,
): readonly Proposal[] {
  const exact = candidates
    .filter(({ seen }) => reasonOfFew(seen, rules) === null)
    .flatMap((candidate) =>
      audiences
        .choose(usersOf(candidate.seen))
        .map((audience) => createProposal(audience, candidate.resource, [candidate])),
    )
  if (!rules.generalize) return exact
  const wide = proposeWildcards(candidates, audiences, rules)
  const isReplaced = ({ audience, candidates: [candidate] }: Proposal): boolean =>
    wide.some((each) => each.audience === audience && each.candidates.includes(candidate))
  return [...exact.filter((proposal) => !isReplaced(proposal)), ...wide]
}

/** Smaller audiences come first: a wildcard of theirs leaves less for the wider ones. */
function proposeWildcards(
  candidates: readonly Candidate[],
  audiences: Audiences,
  rules: SuggestRules,
): readonly Proposal[] {
  const covered = new Set<Seen>()
  return audiences.all.flatMap((audience) => {
    const asked = candidates.filter(({ seen }) =>
      seen.some((each) => audience.covers(each.username) && !covered.has(each)),
    )
    const isBacked = (branches: readonly (readonly Candidate[])[]): boolean => {
      const seenByBranch = branches.map((some) => seenBy(audience, some))
      const seen = seenByBranch.flat()
      return (
        reasonOfFew(seen, rules) === null &&
        (rules.min_devices === 1 || !isWidenedByOne(seenByBranch)) &&
        audiences.fits(audience, usersOf(seen))
      )
    }
    const proposals = findWildcards(asked, { least: rules.min_names, isBacked }).map((wildcard) =>
      createProposal(audience, wildcard.resource, wildcard.candidates, true),
    )
    for (const { seen } of proposals) for (const each of seen) covered.add(each)
    return proposals
  })
}

/**
 * Tells whether one device alone widens a wildcard: without it, the requests of the others would be
 * below one branch of its base, or would not make a wildcard.
 */
function isWidenedByOne(branches: readonly (readonly Seen[])[]): boolean {
  const ofOneDevice = new Map<string, number>()
  for (const seen of branches) {
    const [device, ...others] = new Set(seen.map(({ device_id }) => device_id))
    if (device !== undefined && others.length === 0)
      ofOneDevice.set(device, (ofOneDevice.get(device) ?? 0) + 1)
  }
  const most = [...ofOneDevice.values()].reduce((a, b) => Math.max(a, b), 0)
  return branches.length - most < 2
}

function createProposal(
  audience: Audience,
  resource: string,
  candidates: readonly [Candidate, ...Candidate[]],
  isWildcard = false,
): Proposal {
  const { action, program } = candidates[0].target
  const seen = seenBy(audience, candidates)
  return { audience, action, program, resource, isWildcard, candidates, seen }
}

function seenBy(audience: Audience, candidates: readonly Candidate[]): readonly Seen[] {
  return candidates.flatMap(({ seen }) => seen.filter(({ username }) => audience.covers(username)))
}

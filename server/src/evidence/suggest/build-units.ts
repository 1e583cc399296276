import type { Action } from '@palisade/policy-core'
import type { UncoveredReason } from '@palisade/protocol'
import type { Audience, Audiences } from './fit-teams.ts'
import { generalize, groupBy, type Wildcard } from './generalize.ts'
import { hasOneOwner, ownerOfName } from './registrable-domain.ts'
import { mayOpenDirectory, segmentsOf } from './sensitive-path.ts'
import type { Target } from './sort-requests.ts'
import { countDecisions, countDevices, usersOf } from './summarize-evidence.ts'
import type { Seen, SuggestRules } from './suggest-input.ts'

/** A target that a rule may open, with the sightings that no rule matches. */
export interface Candidate {
  readonly target: Target
  /** Matches the target alone. */
  readonly resource: string
  readonly seen: readonly Seen[]
}

/** One resource of a suggested rule, for one audience. */
export interface Unit {
  readonly audience: Audience
  readonly action: Action
  readonly program: string | null
  readonly resource: string
  readonly isWildcard: boolean
  /** One, or those that the wildcard replaces. */
  readonly candidates: readonly Candidate[]
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
export function buildUnits(
  candidates: readonly Candidate[],
  audiences: Audiences,
  rules: SuggestRules,
): readonly Unit[] {
  const exact = candidates
    .filter(({ seen }) => reasonOfFew(seen, rules) === null)
    .flatMap((candidate) =>
      audiences
        .choose(usersOf(candidate.seen))
        .map((audience) => makeUnit(audience, candidate.resource, [candidate])),
    )
  if (!rules.generalize) return exact
  const wide = audiences.all.reduce<readonly Unit[]>(
    (found, audience) => [
      ...found,
      ...findWildcards(audience, openFor(audience, candidates, found), { audiences, rules }),
    ],
    [],
  )
  const isReplaced = ({ audience, candidates: [candidate] }: Unit): boolean =>
    candidate !== undefined &&
    wide.some((each) => each.audience === audience && each.candidates.includes(candidate))
  return [...exact.filter((unit) => !isReplaced(unit)), ...wide]
}

function makeUnit(
  audience: Audience,
  resource: string,
  candidates: readonly [Candidate, ...Candidate[]],
  isWildcard = false,
): Unit {
  const [{ target }] = candidates
  const seen = candidates.flatMap((each) => seenBy(audience, each))
  const { action, program } = target
  return { audience, action, program, resource, isWildcard, candidates, seen }
}

function seenBy(audience: Audience, { seen }: Candidate): readonly Seen[] {
  return seen.filter(({ username }) => audience.covers(username))
}

/** What the audience asked for, and no wildcard of a smaller audience covers. */
function openFor(
  audience: Audience,
  candidates: readonly Candidate[],
  found: readonly Unit[],
): readonly Candidate[] {
  const covering = new Map<Candidate, Audience[]>()
  for (const unit of found)
    for (const each of unit.candidates)
      covering.set(each, [...(covering.get(each) ?? []), unit.audience])
  return candidates.filter((candidate) =>
    candidate.seen.some(
      ({ username }) =>
        audience.covers(username) &&
        covering.get(candidate)?.some((each) => each.covers(username)) !== true,
    ),
  )
}

function findWildcards(
  audience: Audience,
  candidates: readonly Candidate[],
  { audiences, rules }: { readonly audiences: Audiences; readonly rules: SuggestRules },
): readonly Unit[] {
  const placed = candidates.flatMap(placeInTree)
  return [...groupBy(placed, ({ tree }) => tree).values()].flatMap((items) => {
    const mayOpen = items[0]?.mayOpen ?? (() => false)
    const wildcards = generalize(items, {
      least: rules.min_names,
      accepts(base, some) {
        const seen = some.flatMap(({ candidate }) => seenBy(audience, candidate))
        return (
          mayOpen(base) &&
          reasonOfFew(seen, rules) === null &&
          (rules.min_devices === 1 || !isWidenedByOne(audience, base, some)) &&
          audiences.fits(audience, usersOf(seen))
        )
      },
    })
    return wildcards.flatMap((wildcard) => {
      const [first, ...others] = wildcard.items.map(({ candidate }) => candidate)
      if (first === undefined) return []
      return [makeUnit(audience, writeWildcard(wildcard, first.target), [first, ...others], true)]
    })
  })
}

/**
 * Tells whether one device alone takes the wildcard up to `base`: without it, the requests of the
 * others would be below one branch of `base`, or would not make a wildcard.
 */
function isWidenedByOne(
  audience: Audience,
  base: readonly string[],
  items: readonly Placed[],
): boolean {
  const branches = groupBy(items, ({ segments }) => segments[base.length] ?? '')
  const ofOneDevice = new Map<string, number>()
  for (const branch of branches.values()) {
    const seen = branch.flatMap(({ candidate }) => seenBy(audience, candidate))
    const [device, ...others] = new Set(seen.map(({ device_id }) => device_id))
    if (device === undefined || others.length > 0) continue
    ofOneDevice.set(device, (ofOneDevice.get(device) ?? 0) + 1)
  }
  const most = [...ofOneDevice.values()].reduce((a, b) => Math.max(a, b), 0)
  return branches.size - most < 2
}

interface Placed {
  readonly candidate: Candidate
  /** Only items of one tree are generalized together. */
  readonly tree: string
  readonly segments: readonly string[]
  readonly mayOpen: (base: readonly string[]) => boolean
}

/** Addresses have no tree: a range of them belongs to different owners. */
function placeInTree(candidate: Candidate): readonly Placed[] {
  const { action, program, host, port, path } = candidate.target
  if (path !== null) {
    const segments = segmentsOf(path)
    const tree = JSON.stringify([action, program, leastDirectory(segments)])
    return [{ candidate, tree, segments, mayOpen: mayOpenDirectory }]
  }
  if (host === null) return []
  const { domain } = ownerOfName(host)
  if (domain === null || domain === host) return []
  const least = domain.split('.').length
  return [
    {
      candidate,
      tree: JSON.stringify([action, program, port, domain]),
      segments: host.split('.').toReversed(),
      mayOpen: (base) => base.length >= least && hasOneOwner(base.toReversed().join('.')),
    },
  ]
}

/** The outermost directory that holds the path and may be opened. */
function leastDirectory(segments: readonly string[]): readonly string[] {
  for (let length = 1; length < segments.length; length += 1) {
    const directory = segments.slice(0, length)
    if (mayOpenDirectory(directory)) return directory
  }
  return segments
}

function writeWildcard({ base, levels }: Wildcard<unknown>, { path, port }: Target): string {
  const stars = levels === 'one' ? '*' : '**'
  if (path !== null) return `/${base.join('/')}/${stars}`
  return `${stars}.${base.toReversed().join('.')}:${port}`
}

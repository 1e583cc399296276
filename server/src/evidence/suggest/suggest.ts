import type {
  Suggestion,
  SuggestionsResponse,
  UncoveredReason,
  UncoveredRequests,
} from '@palisade/protocol'
import { buildUnits, reasonOfFew, type Candidate, type Unit } from './build-units.ts'
import { composeDocument, writeTeam, type PlacedUnit } from './compose-document.ts'
import { documentPolicies, findOpenings } from './find-openings.ts'
import { createAudiences, type Audience, type Audiences } from './fit-teams.ts'
import { compileSets, judgeLine, type CompiledSets } from './judge-line.ts'
import { createMarking } from './mark-unit.ts'
import {
  addUncovered,
  formatTarget,
  sortRequests,
  type OpenTarget,
  type Uncovered,
} from './sort-requests.ts'
import type { RecordedRequest, Seen, SuggestOrganization, SuggestRules } from './suggest-input.ts'
import { countDecisions, countDevices, summarizeEvidence } from './summarize-evidence.ts'
import { writeResource } from './write-resource.ts'

const MOST_UNCOVERED = 500
const MOST_REPLACED = 50

/** All of an answer but what only the caller knows. */
export type Suggestions = Omit<SuggestionsResponse, 'since' | 'until' | 'revision' | 'examined'> & {
  readonly examined: Omit<SuggestionsResponse['examined'], 'left_out'>
}

/**
 * Suggests the narrowest rules that allow recorded requests which no rule matches. A request that
 * a deny or a protected address closes is never part of a suggestion. Everything else that stays
 * closed is listed with the reason.
 *
 * The evidence comes from machines, and one of them may lie: devices are counted before decisions,
 * and exact names are the default. Throws `PolicyError` when policies do not compile.
 */
export function suggest(
  requests: Iterable<RecordedRequest>,
  organization: SuggestOrganization,
  rules: SuggestRules,
  now: number,
): Suggestions {
  const sorted = sortRequests(requests, rules)
  const uncovered = new Map<string, Uncovered>()
  for (const { seen, ...each } of sorted.uncovered) addUncovered(uncovered, each, seen)
  const sets = compileSets(organization)
  const candidates = sorted.open.flatMap((each) =>
    toCandidate(each, sets, { rules, now }, uncovered),
  )
  const audiences = createAudiences(organization, rules)
  const units = buildUnits(candidates, audiences, rules)
  const composed = composeDocument(units, organization.policies)
  listLeftOver({ candidates, ...composed, audiences }, rules, uncovered)

  const ids = new Map(organization.teams.map((team) => [writeTeam(team), team.id]))
  const added = documentPolicies(composed.document, (written) => ids.get(written) ?? written)
  const used = new Set(composed.placed.map(({ unit }) => unit.audience))
  const markUnit = createMarking(organization.policies, candidates)
  return {
    examined: {
      decisions: sorted.decisions,
      devices: sorted.devices,
      targets: sorted.open.length + sorted.uncovered.length,
    },
    document: composed.document,
    suggestions: composed.placed.map((placed) => toSuggestion(placed, markUnit)),
    opens: findOpenings(organization.policies, added, used, now),
    ...formatUncovered([...uncovered.values()]),
  }
}

/** Leaves out the sightings that the present policies decide already. */
function toCandidate(
  { target, lines }: OpenTarget,
  sets: CompiledSets,
  { rules, now }: { readonly rules: SuggestRules; readonly now: number },
  uncovered: Map<string, Uncovered>,
): readonly Candidate[] {
  const add = (reason: UncoveredReason, detail: string, seen: readonly Seen[]): void => {
    const { action } = target
    if (seen.length > 0)
      addUncovered(uncovered, { reason, detail, action, text: formatTarget(target) }, seen)
  }
  const open: Seen[] = []
  for (const line of lines) {
    const judged = judgeLine(sets, target, line, now)
    for (const each of judged.open) open.push(each)
    add('already_allowed', 'the present policies allow it', judged.allowed)
    add('not_a_member', 'its users have left the organization', judged.left)
    for (const { detail, seen } of judged.denied) add('denied_by_rule', detail, [seen])
    add('unreadable', 'the request is invalid', judged.invalid)
    add('protected_address', 'the present policies protect its address', judged.protected)
  }
  if (open.length === 0) return []
  // One machine can record very many long paths, and each is costly to write.
  const few = target.path === null || rules.generalize ? null : reasonOfFew(open, rules)
  if (few !== null) {
    add(few, describeLeftOver(few, rules), open)
    return []
  }
  const written = writeResource(target)
  if (written.ok) return [{ target, resource: written.resource, seen: open }]
  add(written.reason, written.detail, open)
  return []
}

/** Lists the sightings of candidates that no placed unit covers. */
function listLeftOver(
  {
    candidates,
    placed,
    dropped,
    audiences,
  }: {
    readonly candidates: readonly Candidate[]
    readonly placed: readonly PlacedUnit[]
    readonly dropped: readonly Unit[]
    readonly audiences: Audiences
  },
  rules: SuggestRules,
  uncovered: Map<string, Uncovered>,
): void {
  const covering = audiencesOf(placed.map(({ unit }) => unit))
  const tooMany = audiencesOf(dropped)
  const isOfOrganization = audiences.all.some(({ team }) => team === null)
  for (const candidate of candidates) {
    const { target, seen } = candidate
    const few = reasonOfFew(seen, rules)
    for (const each of seen) {
      const covers = ({ covers: isCovered }: Audience) => isCovered(each.username)
      if (covering.get(candidate)?.some(covers) === true) continue
      const reason =
        few ??
        (tooMany.get(candidate)?.some(covers) === true
          ? 'too_many'
          : each.username === null && !isOfOrganization
            ? 'no_user'
            : 'no_fitting_team')
      const detail = describeLeftOver(reason, rules)
      const text = formatTarget(target)
      addUncovered(uncovered, { reason, detail, action: target.action, text }, [each])
    }
  }
}

function audiencesOf(units: readonly Unit[]): ReadonlyMap<Candidate, readonly Audience[]> {
  const audiences = new Map<Candidate, Audience[]>()
  for (const { candidates, audience } of units)
    for (const candidate of candidates) {
      const known = audiences.get(candidate)
      if (known === undefined) audiences.set(candidate, [audience])
      else known.push(audience)
    }
  return audiences
}

function describeLeftOver(
  reason: UncoveredReason,
  { by, min_devices, min_members, min_count }: SuggestRules,
): string {
  switch (reason) {
    case 'few_devices':
      return `fewer than ${min_devices} devices asked for it`
    case 'few_decisions':
      return `fewer than ${min_count} decisions were recorded`
    case 'too_many':
      return 'the document has no room for it; apply the others first'
    case 'no_user':
      return (
        'policies of teams do not apply to devices without a user; ' +
        'give the device a user, or ask for the scope `organization`'
      )
    default:
      return by === 'user'
        ? 'policies apply to teams, and no team consists of this user alone; make one'
        : `policies apply to teams, and no team has ${min_members} ` +
            `${min_members === 1 ? 'member' : 'members'}, or all, who asked for it; ` +
            'make a team, or ask for the scope `organization`'
  }
}

function toSuggestion(
  { unit, policy, rule }: PlacedUnit,
  markUnit: ReturnType<typeof createMarking>,
): Suggestion {
  const { marks, similarTo } = markUnit(unit)
  const { action, resource, audience, seen, candidates, isWildcard } = unit
  return {
    policy,
    rule,
    action,
    resource,
    teams: audience.team === null ? [] : [writeTeam(audience.team)],
    members: audience.members.size,
    evidence: summarizeEvidence(seen),
    marks: [...marks],
    similar_to: similarTo,
    replaces: isWildcard
      ? candidates
          .map((each) => each.resource)
          .toSorted()
          .slice(0, MOST_REPLACED)
      : [],
  }
}

function formatUncovered(
  all: readonly Uncovered[],
): Pick<Suggestions, 'not_covered' | 'not_covered_totals'> {
  const totals = new Map<UncoveredReason, { targets: number; decisions: number }>()
  for (const { reason, seen } of all) {
    const { targets, decisions } = totals.get(reason) ?? { targets: 0, decisions: 0 }
    totals.set(reason, { targets: targets + 1, decisions: decisions + countDecisions(seen) })
  }
  const ranked = all
    .map((each) => ({ each, devices: countDevices(each.seen) }))
    .toSorted((a, b) => b.devices - a.devices)
    .slice(0, MOST_UNCOVERED)
  return {
    not_covered: ranked.map(
      ({ each: { reason, detail, action, text, seen } }): UncoveredRequests => {
        return { reason, detail, action, target: text, evidence: summarizeEvidence(seen) }
      },
    ),
    not_covered_totals: [...totals]
      .map(([reason, total]) => ({ reason, ...total }))
      .toSorted((a, b) => (a.reason < b.reason ? -1 : 1)),
  }
}

import type { Suggestion, SuggestionsResponse, UncoveredReason } from '@palisade/protocol'
import { createAudiences } from './choose-audience.ts'
import { composeDocument, writeTeam, type WrittenProposal } from './compose-document.ts'
import { createPolicySets, evaluateRequest } from './evaluate-request.ts'
import { documentPolicies, findOpenings } from './find-openings.ts'
import { proposeResources, reasonOfFew, type Proposal } from './propose-resources.ts'
import { sortRequests, type OpenTarget, type Target } from './sort-requests.ts'
import type { RecordedRequest, Seen, SuggestOrganization, SuggestRules } from './suggest-input.ts'
import { createMarks } from './suggestion-marks.ts'
import { summarizeEvidence } from './summarize-evidence.ts'
import { createUncoveredList, type Uncovered, type UncoveredList } from './uncovered-requests.ts'
import { writeResource, type Candidate } from './write-resource.ts'

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
  const uncovered = createUncoveredList()
  const { open, ...examined } = sortRequests(requests, rules, uncovered)
  const targets = open.length + uncovered.count()
  const setOf = createPolicySets(organization)
  const candidates = open.flatMap(({ target, lines }): readonly Candidate[] => {
    const seen = lines.flatMap((line) => findOpen(target, line, { setOf, now, uncovered }))
    if (seen.length === 0) return []
    const resource = resourceOf(target, seen, rules)
    if (typeof resource === 'string') return [{ target, resource, seen }]
    uncovered.add(resource, target, seen)
    return []
  })
  const audiences = createAudiences(organization, rules)
  const proposals = proposeResources(candidates, audiences, rules)
  const { document, written } = composeDocument(proposals, organization.policies)
  addLeftOver(uncovered, candidates, { proposals, written, rules })

  const ids = new Map(organization.teams.map((team) => [writeTeam(team), team.id]))
  const added = documentPolicies(document, (team) => ids.get(team) ?? team)
  const used = new Set(written.map(({ proposal }) => proposal.audience))
  const marksOf = createMarks(organization.policies, candidates)
  return {
    examined: { ...examined, targets },
    document,
    suggestions: written.map((each) => formatSuggestion(each, marksOf)),
    opens: findOpenings(organization.policies, added, used, now),
    ...uncovered.format(),
  }
}

/** Returns the sightings that the present policies leave open; adds the others to `uncovered`. */
function findOpen(
  target: Target,
  { address, seen }: OpenTarget['lines'][number],
  {
    setOf,
    now,
    uncovered,
  }: {
    readonly setOf: ReturnType<typeof createPolicySets>
    readonly now: number
    readonly uncovered: UncoveredList
  },
): readonly Seen[] {
  const bySet = Map.groupBy(seen, ({ username }) => setOf(username))
  return [...bySet].flatMap(([set, some]) => {
    const why = evaluateRequest(set, target, { address, now })
    if (why === null) return some
    uncovered.add(why, target, some)
    return []
  })
}

/** The resource of a target, or the reason why no suggestion has it. */
function resourceOf(
  target: Target,
  seen: readonly Seen[],
  rules: SuggestRules,
): string | Uncovered {
  // One machine can record very many long paths, and each is costly to write.
  const few = target.path === null || rules.generalize ? null : reasonOfFew(seen, rules)
  return few === null
    ? writeResource(target)
    : { reason: few, detail: describeLeftOver(few, rules) }
}

/** Adds the sightings of candidates that no written proposal covers. */
function addLeftOver(
  uncovered: UncoveredList,
  candidates: readonly Candidate[],
  {
    proposals,
    written,
    rules,
  }: {
    readonly proposals: readonly Proposal[]
    readonly written: readonly WrittenProposal[]
    readonly rules: SuggestRules
  },
): void {
  const proposed = new Set(proposals.flatMap(({ seen }) => seen))
  const covered = new Set(written.flatMap(({ proposal: { seen } }) => seen))
  for (const { target, seen } of candidates) {
    const few = reasonOfFew(seen, rules)
    const reasonFor = (each: Seen): UncoveredReason => {
      if (few !== null) return few
      if (proposed.has(each)) return 'too_many'
      return each.username === null && rules.scope === 'team' ? 'no_user' : 'no_fitting_team'
    }
    const left = seen.filter((each) => !covered.has(each))
    for (const [reason, some] of Map.groupBy(left, reasonFor))
      uncovered.add({ reason, detail: describeLeftOver(reason, rules) }, target, some)
  }
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

function formatSuggestion(
  { proposal, policy, rule }: WrittenProposal,
  marksOf: ReturnType<typeof createMarks>,
): Suggestion {
  const { marks, similarTo } = marksOf(proposal)
  const { action, resource, audience, seen, candidates, isWildcard } = proposal
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

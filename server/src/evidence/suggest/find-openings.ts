import { compare, type Change } from '@palisade/policy-analysis'
import { effectivePolicies, PolicyError, type Policy } from '@palisade/policy-core'
import type { OpenedAccess, SuggestionsResponse } from '@palisade/protocol'
import type { Audience } from './choose-audience.ts'
import { writeTeam } from './compose-document.ts'
import { compileEnforced } from './evaluate-request.ts'

/** About two seconds of processor time for each audience. */
const MAX_STEPS = 2_000_000

/** Policies of a document as `policy-core` reads them. */
export function documentPolicies(
  { policies }: SuggestionsResponse['document'],
  teamIdOf: (written: string) => string,
): readonly Policy[] {
  return policies.map(({ name, scope, rules }, index) => ({
    id: `suggested_${index}`,
    name,
    scope: { teams: (scope.teams ?? []).map(teamIdOf) },
    allowlist_v0: {
      rules: rules.map((rule, at) => ({ ...rule, id: `suggested_${index}_${at}` })),
    },
  }))
}

/**
 * Compares the policies before and after, for a member of each team alone. A member of several
 * teams gets no more than the openings of each: further policies only allow or deny more, which
 * takes requests out of the difference.
 */
export function findOpenings(
  before: readonly Policy[],
  added: readonly Policy[],
  audiences: Iterable<Audience>,
  now: number,
): SuggestionsResponse['opens'] {
  return [...audiences].map(({ team }) => {
    const ofTeam = team === null ? [] : [team.id]
    const [older, newer] = [before, [...before, ...added]].map((policies) =>
      effectivePolicies(policies, ofTeam),
    )
    const teams = team === null ? [] : [writeTeam(team)]
    return { teams, ...compareSets(older ?? [], newer ?? [], now) }
  })
}

function compareSets(
  before: readonly Policy[],
  after: readonly Policy[],
  now: number,
): Pick<SuggestionsResponse['opens'][number], 'reachable' | 'complete'> {
  try {
    const [older, newer] = [compileEnforced(before), compileEnforced(after)]
    const { reachable, complete } = compare(older, newer, { now, maxSteps: MAX_STEPS })
    return { reachable: reachable.map(formatChange), complete }
  } catch (error) {
    // Path patterns have a joint limit, which existing and new ones may exceed.
    if (error instanceof PolicyError) return { reachable: [], complete: false }
    throw error
  }
}

function formatChange({ action, resource, within, only, except }: Change): OpenedAccess {
  return {
    action,
    resource,
    ...(within === undefined ? {} : { within }),
    ...(only === undefined ? {} : { only }),
    except: { allowed: [...except.allowed], denied: [...except.denied] },
  }
}

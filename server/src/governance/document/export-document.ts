import type { ExportResponse } from '@palisade/protocol'
import { authorize } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Answer } from '../../http/answer.ts'
import {
  formatEntityTag,
  isKnown,
  readEntityTags,
  requireMatch,
} from '../../http/input/entity-tag.ts'
import { readQuery } from '../../http/input/read-query.ts'
import type { StoreReader } from '../../store/store.ts'
import { answerPolicies, type LargeAnswerDeps, type ShownPolicies } from '../answer-policies.ts'
import { noQuerySchema, type GovernanceCall } from '../governance-call.ts'
import { listHeads } from '../../store/list-heads.ts'
import { byName, showPolicy } from './format-document.ts'
import { createTeamNames, type TeamNames } from './team-names.ts'

/** Answers with all policies of one revision, in a form that can be applied again. */
export async function exportDocument(deps: LargeAnswerDeps, call: GovernanceCall): Promise<Answer> {
  const { org } = call
  return answerPolicies(deps, org, async (reader): Promise<ShownPolicies | Answer> => {
    const access = await authorize(reader, call.principal, org, 'policies:read')
    const { organization } = access
    readQuery(noQuerySchema, call.query)
    const ifMatch = readEntityTags('If-Match', call.ifMatch)
    const ifNoneMatch = readEntityTags('If-None-Match', call.ifNoneMatch)

    const etag = formatEntityTag(organization.revision)
    requireMatch(ifMatch, etag, 'organization')
    if (isKnown(ifNoneMatch, etag)) return { status: 304, headers: { etag } }

    const heads = (await listHeads(reader, org)).toSorted(byName)
    const teams = await reader.teams.list(org)
    const teamNames = createTeamNames(teams)
    const used = new Set(heads.flatMap((policy) => policy.teams))
    const rest: Pick<ExportResponse, 'teams' | 'team_sets'> = {
      teams: teams.filter(({ id }) => used.has(id)).map(({ id, name }) => ({ id, name })),
      team_sets: await teamSets(reader, org, teamNames),
    }
    return {
      payer: payerOf(call.principal, access),
      revision: organization.revision,
      heads,
      format: (policy) => showPolicy(policy, teamNames),
      around: [
        `{"revision":${organization.revision},"policies":[`,
        `],${JSON.stringify(rest).slice(1)}`,
      ],
      headers: { etag },
    }
  })
}

/** Lists the distinct team combinations of users, without naming users. */
async function teamSets(
  reader: StoreReader,
  org: string,
  teamNames: TeamNames,
): Promise<string[][]> {
  const sets = new Map<string, string[]>()
  for (const ids of (await reader.teams.listOfUsers(org)).values())
    sets.set(ids.join(), ids.map((id) => teamNames.shownAs(id)).toSorted())
  return [...sets.values()]
}

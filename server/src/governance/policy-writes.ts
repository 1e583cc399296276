import { createPolicyRequestSchema, updatePolicyRequestSchema } from '@palisade/protocol'
import { authorize } from '../identity/authorize.ts'
import type { Answer } from '../http/answer.ts'
import { conflict, invalidArgument } from '../platform/api-error.ts'
import { quote } from '../http/input/describe-issue.ts'
import { formatEntityTag, readEntityTags, requireMatch } from '../http/input/entity-tag.ts'
import { readInput, readJson } from '../http/body/read-body.ts'
import { readQuery } from '../http/input/read-query.ts'
import type { PolicyRecord } from '../store/records.ts'
import type { StoreReader, StoreWriter } from '../store/store.ts'
import { formatPolicy } from '../history/format-policy.ts'
import {
  noQuerySchema,
  type GovernanceCall,
  type GovernanceDeps,
  type PolicyCall,
} from './governance-call.ts'
import { answerOnce, readOnceRequest } from '../identity/idempotency/answer-once.ts'
import { createId } from './object-id.ts'
import { requirePolicySize, requireRoomForPolicy } from './policy-limits.ts'
import { findPolicy } from './policy-lookup.ts'
import { formatTimestamp, nextTimestamp } from '../platform/timestamp.ts'

/** Creates a policy without rules. */
export async function createPolicy(deps: GovernanceDeps, call: GovernanceCall): Promise<Answer> {
  const { org } = call
  return deps.store.write(call.author, async (writer) => {
    await authorize(writer, call.principal, org, 'policies:write')
    const json = readJson(call.body)
    const once = readOnceRequest({
      key: call.idempotencyKey,
      principal: call.principal,
      place: ['POST', org, 'policies'],
      body: call.body.bytes,
    })
    const judge = async () => {
      const { name, scope } = readInput(createPolicyRequestSchema, json)
      const teams = scope?.teams ?? []
      await requireTeams(writer, org, teams)
      readQuery(noQuerySchema, call.query)
      const ifMatch = readEntityTags('If-Match', call.ifMatch)
      return { name, teams, ifMatch }
    }
    return answerOnce(writer, once, deps.now(), {
      judge,
      async act({ name, teams, ifMatch }) {
        // The collection has no entity tag.
        requireMatch(ifMatch, null)
        const timestamp = formatTimestamp(deps.now())
        const id = createId('pol', deps.now(), deps.random)
        const head = { id, org, name, teams, created_at: timestamp, updated_at: timestamp }
        requireRoomForPolicy(deps.limits, await writer.policies.count(org))
        requirePolicySize(deps.limits, { ...head, revision: 0, rules: [] })
        await requireFreeName(writer, org, name)
        return answerPolicy(201, await writer.policies.insert(head))
      },
    })
  })
}

/** Changes name and scope. A PATCH without an effective change does not write. */
export async function updatePolicy(deps: GovernanceDeps, call: PolicyCall): Promise<Answer> {
  return deps.store.write(call.author, async (writer) => {
    await authorize(writer, call.principal, call.org, 'policies:write')
    const old = await findPolicy(writer, call.org, call.policyId)
    const patch = readInput(updatePolicyRequestSchema, readJson(call.body))
    const { name = old.name, scope } = patch
    const teams = scope?.teams ?? old.teams
    await requireTeams(writer, call.org, scope?.teams ?? [])
    readQuery(noQuerySchema, call.query)
    const ifMatch = readEntityTags('If-Match', call.ifMatch)
    requireMatch(ifMatch, formatEntityTag(old.revision))

    if (name === old.name && isSameList(teams, old.teams)) return answerUpdate(old, old)
    const updated_at = nextTimestamp(old.updated_at, deps.now())
    requirePolicySize(deps.limits, { ...old, name, teams, updated_at })
    if (name !== old.name) await requireFreeName(writer, call.org, name)
    const { org, id } = old
    return answerUpdate(old, await writer.policies.update({ org, id, name, teams, updated_at }))
  })
}

/** Deletes a policy with its rules and answers with its last state. */
export async function deletePolicy(deps: GovernanceDeps, call: PolicyCall): Promise<Answer> {
  return deps.store.write(call.author, async (writer) => {
    await authorize(writer, call.principal, call.org, 'policies:write')
    const policy = await findPolicy(writer, call.org, call.policyId)
    readQuery(noQuerySchema, call.query)
    requireMatch(readEntityTags('If-Match', call.ifMatch), formatEntityTag(policy.revision))

    await writer.policies.delete(call.org, policy.id)
    return { status: 200, headers: {}, body: { deleted: formatPolicy(policy) } }
  })
}

function answerPolicy(status: number, policy: PolicyRecord): Answer {
  const headers = { etag: formatEntityTag(policy.revision) }
  return { status, headers, body: formatPolicy(policy) }
}

function answerUpdate(old: PolicyRecord, updated: PolicyRecord): Answer {
  const headers = { etag: formatEntityTag(updated.revision) }
  return { status: 200, headers, body: { old: formatPolicy(old), new: formatPolicy(updated) } }
}

async function requireTeams(
  reader: StoreReader,
  org: string,
  teams: readonly string[],
): Promise<void> {
  for (const team of teams)
    if ((await reader.teams.find(org, team)) === null)
      throw invalidArgument(`team ${quote(team)} is not a team of this organization`, {
        field: 'scope.teams',
      })
}

async function requireFreeName(writer: StoreWriter, org: string, name: string): Promise<void> {
  if ((await writer.policies.findByName(org, name)) !== null)
    throw conflict(`policy name ${quote(name)} is already used in this organization`)
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}

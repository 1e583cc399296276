import type { PolicyMode } from '@palisade/protocol'
import { authorize } from '../identity/authorize.ts'
import type { Answer } from '../http/answer.ts'
import { conflict, invalidArgument } from '../platform/api-error.ts'
import { quote } from '../http/input/describe-issue.ts'
import { formatEntityTag, readEntityTags, requireMatch } from '../http/input/entity-tag.ts'
import { readInput, readJson } from '../http/body/read-body.ts'
import { readQuery } from '../http/input/read-query.ts'
import type { PolicyRecord } from '../store/records.ts'
import type { StoreReader, StoreWriter } from '../store/store.ts'
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
import { CONTRACT, operationOf, type WireForm } from './wire-form.ts'

/** Creates a policy without rules. */
export async function createPolicy(
  deps: GovernanceDeps,
  call: GovernanceCall,
  form: WireForm = CONTRACT,
): Promise<Answer> {
  const { org } = call
  return deps.store.write(call.author, async (writer) => {
    await authorize(writer, call.principal, org, 'policies:write')
    const json = readJson(call.body)
    const once = readOnceRequest({
      key: call.idempotencyKey,
      principal: call.principal,
      operation: ['POST', org, ...operationOf(form, 'policies')],
      body: call.body.bytes,
    })
    const validate = async () => {
      const { name, scope, mode } = readInput(form.createPolicy, json)
      const teams = scope?.teams ?? []
      await requireTeams(writer, org, teams)
      readQuery(noQuerySchema, call.query)
      const ifMatch = readEntityTags('If-Match', call.ifMatch)
      return { name, teams, ...modeOf(mode), ifMatch }
    }
    return answerOnce(writer, once, deps.now(), {
      validate,
      async act({ ifMatch, ...wanted }) {
        // The collection has no entity tag.
        requireMatch(ifMatch, null)
        const timestamp = formatTimestamp(deps.now())
        const id = createId('pol', deps.now(), deps.random)
        const head = { id, org, ...wanted, created_at: timestamp, updated_at: timestamp }
        requireRoomForPolicy(deps.limits, await writer.policies.count(org))
        requirePolicySize(deps.limits, { ...head, revision: 0, rules: [] })
        await requireFreeName(writer, org, head.name)
        const policy = await writer.policies.insert(head)
        const headers = { etag: formatEntityTag(policy.revision) }
        return { status: 201, headers, body: form.formatPolicy(policy) }
      },
    })
  })
}

/** Changes name, scope and mode. A PATCH without an effective change does not write. */
export async function updatePolicy(
  deps: GovernanceDeps,
  call: PolicyCall,
  form: WireForm = CONTRACT,
): Promise<Answer> {
  return deps.store.write(call.author, async (writer) => {
    await authorize(writer, call.principal, call.org, 'policies:write')
    const old = await findPolicy(writer, call.org, call.policyId)
    const patch = readInput(form.updatePolicy, readJson(call.body))
    const { name = old.name, scope } = patch
    const { mode } = patch.mode === undefined ? old : modeOf(patch.mode)
    const teams = scope?.teams ?? old.teams
    await requireTeams(writer, call.org, scope?.teams ?? [])
    readQuery(noQuerySchema, call.query)
    const ifMatch = readEntityTags('If-Match', call.ifMatch)
    requireMatch(ifMatch, formatEntityTag(old.revision))

    const answer = (updated: PolicyRecord) => answerUpdate(form, old, updated)
    if (name === old.name && isSameList(teams, old.teams) && mode === old.mode) return answer(old)
    const updated_at = nextTimestamp(old.updated_at, deps.now())
    requirePolicySize(deps.limits, { ...old, ...modeOf(mode), name, teams, updated_at })
    if (name !== old.name) await requireFreeName(writer, call.org, name)
    const { org, id } = old
    return answer(await writer.policies.update({ org, id, name, teams, mode, updated_at }))
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
    return { status: 200, headers: {}, body: { deleted: CONTRACT.formatPolicy(policy) } }
  })
}

function answerUpdate(form: WireForm, old: PolicyRecord, updated: PolicyRecord): Answer {
  const headers = { etag: formatEntityTag(updated.revision) }
  const body = { old: form.formatPolicy(old), new: form.formatPolicy(updated) }
  return { status: 200, headers, body }
}

/** A policy that enforces has no mode. */
function modeOf(mode: PolicyMode | undefined): Pick<PolicyRecord, 'mode'> {
  return mode === 'shadow' ? { mode } : {}
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

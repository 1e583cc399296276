import type { RollBackResponse } from '@palisade/protocol'
import { authorize } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Caller } from '../../identity/principal.ts'
import {
  createPlanContext,
  planChanges,
  requireCompilablePlan,
  requirePlanWithinLimits,
  type PolicyPlan,
} from '../../governance/document/plan-changes.ts'
import type { WantedPolicy } from '../../governance/document/read-document.ts'
import { writePlan } from '../../governance/document/write-plan.ts'
import { readAsOf, readInTurns } from '../../governance/policy-lookup.ts'
import { listHeads } from '../../store/list-heads.ts'
import type { KnownRules } from '../../governance/known-rules.ts'
import type { PolicyLimits } from '../../governance/policy-limits.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Answer } from '../../http/answer.ts'
import { ApiError } from '../../platform/api-error.ts'
import { formatEntityTag, readEntityTags, requireMatch } from '../../http/input/entity-tag.ts'
import { answerOnce, type OnceRequest } from '../../identity/idempotency/answer-once.ts'
import type { Work, WorkBudget } from '../../work/work-budget.ts'
import type { OrganizationRecord, PolicyRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { requireOrganization } from '../../views/inspect-view.ts'
import { formatRollout } from '../../store/aggregates/policies/format-rollout.ts'
import { isEnded } from './rollout-machine.ts'
import { requireRollout, requireStep } from './require-rollout.ts'

export interface RollBackDeps {
  readonly limits: PolicyLimits
  readonly knownRules: KnownRules
  readonly store: AuditedStore
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly budget: WorkBudget
}

/** A rollout, and the organization that the caller saw. */
export interface RollBackTarget {
  readonly org: string
  readonly id: string
  readonly ifMatch: string | undefined
}

interface PlannedRollBack {
  readonly revision: number
  readonly plan: PolicyPlan
  readonly leftOut: readonly PolicyRecord[]
}

/**
 * Makes the policies that a rollout began with those of the organization again, as a new revision
 * and in the one transaction that ends it: planned, validated and written like a document with
 * `prune`. Throws ApiError.
 */
export async function rollBack(
  deps: RollBackDeps,
  caller: Caller,
  at: RollBackTarget,
  once: OnceRequest,
): Promise<Answer> {
  const { org, id } = at
  const access = await deps.store.read((reader) => authorize(reader, caller, org, 'policies:write'))
  const work = deps.budget.begin(payerOf(caller, access))
  const ahead = await planAhead(deps, caller, at, work)
  return deps.store.write(caller.author, async (writer) => {
    const { organization } = await authorize(writer, caller, org, 'policies:write')
    const rollout = await requireRollout(writer, org, id)
    return answerOnce(writer, once, deps.now(), {
      validate: async () => {
        const rolledBack = requireStep(rollout, { kind: 'roll_back' }, deps.now())
        requireSeen(at, organization)
        if (ahead?.revision === organization.revision) return { rolledBack, ...ahead }
        const planned = await planRollBack(deps, { read: (read) => read(writer) }, at, work)
        if (planned === null) throw new TypeError('a policy changed within its transaction')
        return { rolledBack, ...planned }
      },
      async act({ rolledBack, plan, leftOut }) {
        await writePlan(writer, plan, work)
        work.end()
        await writer.rollouts.update(rolledBack)
        const { revision } = await requireOrganization(writer, org)
        const body = {
          rollout: formatRollout(rolledBack),
          revision,
          changes: listChanges(plan),
          left_out: leftOut.map(({ name }) => ({ name })),
        } satisfies RollBackResponse
        return { status: 200, headers: { etag: formatEntityTag(revision) }, body }
      },
    })
  })
}

/**
 * Plans before the transaction, so that other writers do not wait. A refusal is decided again in
 * it.
 */
async function planAhead(
  deps: RollBackDeps,
  caller: Caller,
  at: RollBackTarget,
  work: Work,
): Promise<PlannedRollBack | null> {
  try {
    const isOpen = await deps.store.read(async (reader) => {
      const { organization } = await authorize(reader, caller, at.org, 'policies:write')
      requireSeen(at, organization)
      return !isEnded(await requireRollout(reader, at.org, at.id))
    })
    return isOpen ? await planRollBack(deps, deps.store, at, work) : null
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  } finally {
    work.end()
  }
}

function requireSeen({ ifMatch }: RollBackTarget, { revision }: OrganizationRecord): void {
  requireMatch(readEntityTags('If-Match', ifMatch), formatEntityTag(revision), 'organization')
}

/**
 * The rollout must be open: an ended one has no base any more. Each policy is a read of its own, so
 * that other work has its turn in between; null when a policy has changed.
 */
async function planRollBack(
  deps: RollBackDeps,
  store: Pick<Store, 'read'>,
  { org, id }: RollBackTarget,
  work: Work,
): Promise<PlannedRollBack | null> {
  const { revision, heads, teams, baseIds } = await store.read(async (reader) => ({
    revision: (await requireOrganization(reader, org)).revision,
    heads: await listHeads(reader, org),
    teams: new Set((await reader.teams.list(org)).map((team) => team.id)),
    baseIds: await reader.rollouts.baseIds(org, id),
  }))
  const stored = await readInTurns(heads, (head) => readAsOf(store, head), work)
  if (stored === null) return null
  const base: PolicyRecord[] = []
  for (const baseId of baseIds) {
    const policy = await store.read((reader) => reader.rollouts.basePolicy(org, id, baseId))
    // The rollout has ended meanwhile.
    if (policy === null) return null
    base.push(policy)
    await work.turn()
  }
  // Without any of its teams a policy would become one for everybody.
  const leftOut = base.filter((policy) => isOfNobody(policy, teams))
  const wanted = base.filter((policy) => !leftOut.includes(policy)).map(toWanted(teams))
  const context = createPlanContext(deps, { org, prune: true })
  const plan = await planChanges(stored, wanted, context, work)
  // All of it was in force when the rollout began: it costs no more than then.
  await requireCompilablePlan(deps.knownRules, plan, work, { hadAll: true })
  await requirePlanWithinLimits(deps.limits, stored.length, plan, work)
  return { revision, plan, leftOut }
}

function isOfNobody(policy: PolicyRecord, teams: ReadonlySet<string>): boolean {
  return policy.teams.length > 0 && !policy.teams.some((team) => teams.has(team))
}

function toWanted(teams: ReadonlySet<string>) {
  return ({ name, teams: scope, mode, rules }: PolicyRecord, index: number): WantedPolicy => ({
    field: `policies[${index}]`,
    name,
    teams: scope.filter((team) => teams.has(team)),
    ...(mode === undefined ? {} : { mode }),
    rules: rules.map(({ id: _id, ...rule }) => rule),
  })
}

function listChanges({ deleted, updated, created }: PolicyPlan): RollBackResponse['changes'] {
  return [
    ...deleted.map(({ id, name }) => ({ change: 'deleted' as const, id, name })),
    ...updated.map(({ old: { id, name } }) => ({ change: 'updated' as const, id, name })),
    ...created.map(({ policy: { id, name } }) => ({ change: 'created' as const, id, name })),
  ]
}

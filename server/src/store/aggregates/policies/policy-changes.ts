import type { BumpRevision, WriterContext } from '../aggregate.ts'
import type { PolicyReader, PolicyWriter, PolicyEdit } from './policy-contract.ts'
import { createPolicyReader } from './policy-rows.ts'
import { createKeepBase, type KeepBase } from './rollout-base.ts'
import { createRuleWrites } from './rule-changes.ts'
import type { PolicyRecord, RuleRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { rowNotFound } from '../../sql/row-not-found.ts'
import { keyOf, type WriteCache } from '../../sql/write-cache.ts'

export function createPolicyWriter(
  connection: Connection,
  { cache, bumpRevision }: WriterContext,
): PolicyWriter {
  const { policies } = cache
  const reader = createPolicyReader(connection)
  const insert = connection.prepare(
    `INSERT INTO policies (id, org, name, mode, created_at, updated_at, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    'governance',
  )
  const update = connection.prepare(
    `UPDATE policies SET name = ?, mode = ?, updated_at = ?, revision = ?
     WHERE org = ? AND id = ?`,
    'governance',
  )
  const remove = connection.prepare('DELETE FROM policies WHERE org = ? AND id = ?', 'governance')
  const clearTeams = connection.prepare(
    'DELETE FROM policy_teams WHERE org = ? AND policy_id = ?',
    'governance',
  )
  const insertTeam = connection.prepare(
    'INSERT INTO policy_teams (org, policy_id, position, team_id) VALUES (?, ?, ?, ?)',
    'governance',
  )

  async function replaceTeams(org: string, id: string, teams: readonly string[]): Promise<void> {
    await clearTeams.run(org, id)
    for (const [position, team] of teams.entries()) await insertTeam.run(org, id, position, team)
  }

  const find = (org: string, id: string) =>
    policies.read(keyOf(org, id), () => reader.find(org, id))
  const keepBase = createKeepBase(connection, find, cache)
  const { change, changeRules } = createPolicyChange(connection, {
    find,
    keepBase,
    bumpRevision,
    policies,
  })

  return {
    ...reader,
    find,
    insert({ id, org, name, teams, mode = null, created_at, updated_at }) {
      return change({ org, policyId: id }, async () => {
        const revision = await bumpRevision(org)
        await insert.run(id, org, name, mode, created_at, updated_at, revision)
        await replaceTeams(org, id, teams)
        return revision
      })
    },
    async update({ org, id, name, teams, mode, updated_at }) {
      await keepBase(org, id)
      return change(
        { org, policyId: id },
        async () => {
          const revision = await bumpRevision(org)
          const changes = await update.run(name, mode ?? null, updated_at, revision, org, id)
          if (changes === 0) throw rowNotFound('policy', id)
          await replaceTeams(org, id, teams)
          return revision
        },
        ({ mode: _replaced, ...old }, revision) => ({
          ...old,
          name,
          teams,
          ...(mode === undefined ? {} : { mode }),
          updated_at,
          revision,
        }),
      )
    },
    async delete(org, id) {
      await keepBase(org, id)
      await bumpRevision(org)
      const { result } = await policies.write(keyOf(org, id), () => remove.run(org, id))
      if (result === 0) throw rowNotFound('policy', id)
    },
    ...createRuleWrites(connection, changeRules),
  }
}

/** The changes of one policy, and the cached rows of it. */
function createPolicyChange(
  connection: Connection,
  {
    find,
    keepBase,
    bumpRevision,
    policies,
  }: Pick<PolicyReader, 'find'> &
    Pick<WriteCache, 'policies'> & {
      readonly keepBase: KeepBase
      readonly bumpRevision: BumpRevision
    },
) {
  const touch = connection.prepare(
    'UPDATE policies SET updated_at = ?, revision = ? WHERE org = ? AND id = ?',
    'governance',
  )

  /** The policy after `write`: as `become` says of the one that was known, or else read again. */
  async function change(
    { org, policyId }: Pick<PolicyEdit, 'org' | 'policyId'>,
    write: () => Promise<number>,
    become?: (old: PolicyRecord, revision: number) => PolicyRecord,
  ): Promise<PolicyRecord> {
    const { value } = await policies.write(keyOf(org, policyId), write, become)
    const policy = value ?? (await find(org, policyId))
    if (policy === null) throw rowNotFound('policy', policyId)
    return policy
  }

  /** A change of rules, after the policy's stamp: that proves that the organization has it. */
  async function changeRules(
    at: PolicyEdit,
    write: () => Promise<void>,
    become: (rules: readonly RuleRecord[]) => readonly RuleRecord[],
  ): Promise<PolicyRecord> {
    const { updated_at } = at
    await keepBase(at.org, at.policyId)
    const revision = await bumpRevision(at.org)
    return change(
      at,
      async () => {
        if ((await touch.run(updated_at, revision, at.org, at.policyId)) === 0)
          throw rowNotFound('policy', at.policyId)
        await write()
        return revision
      },
      (old) => ({ ...old, updated_at, revision, rules: become(old.rules) }),
    )
  }

  return { change, changeRules }
}

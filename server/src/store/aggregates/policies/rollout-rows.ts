import type { WriterContext } from '../aggregate.ts'
import { createPolicyReader } from './policy-rows.ts'
import type { RolloutReader, RolloutWriter } from './rollout-contract.ts'
import type { RolloutRecord, RolloutWatchRecord } from '../../distribution-records.ts'
import type { PolicyRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { rowNotFound } from '../../sql/row-not-found.ts'

/** Columns that may change; the others stay as they were inserted. */
const CHANGING = [
  'state',
  'stage',
  'stage_at',
  'max_rejected',
  'counted_from',
  'paused_at',
  'paused_by',
  'pause_reason',
  'ended_at',
] as const satisfies readonly (keyof RolloutRecord)[]
const LASTING = [
  'id',
  'org',
  'stages',
  'wait_seconds',
  'base_revision',
  'created_at',
  'created_by',
] as const satisfies readonly (keyof RolloutRecord)[]
const COLUMNS = [...LASTING, ...CHANGING] as const

/** Later than every instant of four-digit years. */
const BEYOND_ALL = { created_at: '~', id: '' }

interface Row extends Omit<RolloutRecord, 'stages' | 'max_rejected'> {
  readonly stages: string
  readonly max_rejected: string
}

export function createRolloutReader(connection: Connection): RolloutReader {
  const find = connection.prepare<Row>('SELECT * FROM rollouts WHERE org = ? AND id = ?')
  const findOpen = connection.prepare<Row>(
    'SELECT * FROM rollouts WHERE org = ? AND ended_at IS NULL',
  )
  const findOpenId = connection.prepare<Pick<Row, 'id'>>(
    'SELECT id FROM rollouts WHERE org = ? AND ended_at IS NULL',
  )
  const page = connection.prepare<Row>(
    `SELECT * FROM rollouts WHERE org = ? AND (created_at, id) < (?, ?)
     ORDER BY created_at DESC, id DESC LIMIT ?`,
  )
  const listRunning = connection.prepare<Row>(
    `SELECT * FROM rollouts WHERE ended_at IS NULL AND state = 'running' ORDER BY org`,
  )
  const baseIds = connection.prepare<{ policy_id: string }>(
    `SELECT p.policy_id FROM rollout_policies p JOIN rollouts r ON r.id = p.rollout_id
     WHERE r.org = ? AND r.id = ?
     UNION
     SELECT p.id FROM policies p JOIN rollouts r ON r.org = p.org
     WHERE r.org = ? AND r.id = ? AND r.ended_at IS NULL AND p.revision <= r.base_revision
     ORDER BY 1`,
  )
  const changedPolicy = connection.prepare<{ policy: string }>(
    `SELECT p.policy FROM rollout_policies p JOIN rollouts r ON r.id = p.rollout_id
     WHERE r.org = ? AND r.id = ? AND p.policy_id = ?`,
  )
  const { find: findPolicy } = createPolicyReader(connection)
  const watch = connection.prepare<RolloutWatchRecord>(
    `SELECT evaluated_at, policies_hash, policies_since FROM rollout_watches
     WHERE rollout_id = ?`,
  )
  return {
    async find(org, id) {
      return toRolloutOrNull(await find.get(org, id))
    },
    async findOpen(org) {
      return toRolloutOrNull(await findOpen.get(org))
    },
    async findOpenId(org) {
      return (await findOpenId.get(org))?.id ?? null
    },
    async page(org, { before, limit }) {
      const { created_at, id } = before ?? BEYOND_ALL
      return (await page.all(org, created_at, id, limit)).map(toRollout)
    },
    async listRunning() {
      return (await listRunning.all()).map(toRollout)
    },
    async baseIds(org, id) {
      return (await baseIds.all(org, id, org, id)).map(({ policy_id }) => policy_id)
    },
    async basePolicy(org, id, policyId) {
      const row = await changedPolicy.get(org, id, policyId)
      if (row !== undefined) return JSON.parse(row.policy) as PolicyRecord
      const rollout = await find.get(org, id)
      if (rollout === undefined || rollout.ended_at !== null) return null
      const policy = await findPolicy(org, policyId)
      return policy !== null && policy.revision <= rollout.base_revision ? policy : null
    },
    async watch(id) {
      return (await watch.get(id)) ?? null
    },
  }
}

export function createRolloutWriter(
  connection: Connection,
  { cache: { openRollouts }, bumpRevision }: WriterContext,
): RolloutWriter {
  const reader = createRolloutReader(connection)
  const insert = connection.prepare(
    `INSERT INTO rollouts (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`,
  )
  const update = connection.prepare(
    `UPDATE rollouts SET ${CHANGING.map((column) => `${column} = ?`).join(', ')}
     WHERE org = ? AND id = ?`,
  )
  const deleteBase = connection.prepare('DELETE FROM rollout_policies WHERE rollout_id = ?')
  const putWatch = connection.prepare(
    `INSERT INTO rollout_watches (rollout_id, evaluated_at, policies_hash, policies_since)
     VALUES (?, ?, ?, ?)
     ON CONFLICT (rollout_id) DO UPDATE SET evaluated_at = excluded.evaluated_at,
       policies_hash = excluded.policies_hash, policies_since = excluded.policies_since`,
    'progress',
  )
  return {
    ...reader,
    async insert(rollout) {
      const row = toRow(rollout)
      await openRollouts.write(rollout.org, () =>
        insert.run(...COLUMNS.map((column) => row[column])),
      )
    },
    async update(rollout) {
      const before = await reader.find(rollout.org, rollout.id)
      if (before === null) throw rowNotFound('rollout', rollout.id)
      const row = toRow(rollout)
      const values = CHANGING.map((column) => row[column])
      await openRollouts.write(rollout.org, () => update.run(...values, rollout.org, rollout.id))
      if (rollout.ended_at !== null) await deleteBase.run(rollout.id)
      if (rollout.ended_at !== null || rollout.stage !== before.stage)
        await bumpRevision(rollout.org)
    },
    async putWatch(id, { evaluated_at, policies_hash, policies_since }) {
      await putWatch.run(id, evaluated_at, policies_hash, policies_since)
    },
  }
}

function toRow({ stages, max_rejected, ...others }: RolloutRecord): Row {
  return { ...others, stages: JSON.stringify(stages), max_rejected: JSON.stringify(max_rejected) }
}

function toRolloutOrNull(row: Row | undefined): RolloutRecord | null {
  return row === undefined ? null : toRollout(row)
}

function toRollout(row: Row): RolloutRecord {
  return {
    ...row,
    stages: JSON.parse(row.stages) as RolloutRecord['stages'],
    max_rejected: JSON.parse(row.max_rejected) as RolloutRecord['max_rejected'],
  }
}

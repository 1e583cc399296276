import type { RolloutRecord } from '../../../../server/src/store/distribution-records.ts'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { LATER, NOW } from './audited-records.ts'

type Work = (writer: StoreWriter) => Promise<unknown>
type ExpectedEvent = [kind: string, subject: object, before: unknown, after: unknown]

const STAGES = [{ label: 'canary' }, { percent: 100 }]

/** A rollout at its first stage. */
export const rollout = (id: string, changes: Partial<RolloutRecord> = {}): RolloutRecord => ({
  id,
  org: 'acme',
  state: 'running',
  stages: STAGES,
  stage: 1,
  stage_at: NOW,
  max_rejected: { percent: 5 },
  wait_seconds: null,
  base_revision: 7,
  counted_from: NOW,
  paused_at: null,
  paused_by: null,
  pause_reason: null,
  created_at: NOW,
  created_by: 'user:ann',
  ended_at: null,
  ...changes,
})

const SUBJECT = { id: 'ro0', name: null }
const SHOWN = {
  id: 'ro0',
  state: 'running',
  stages: STAGES,
  stage: 1,
  stage_at: NOW,
  max_rejected: { percent: 5 },
  wait_seconds: null,
  base_revision: 7,
  created_at: NOW,
  created_by: 'user:ann',
  paused: null,
  ended_at: null,
}
const PAUSED = { state: 'paused', paused_at: LATER, paused_by: 'user:bob' } as const
const SHOWN_PAUSED = {
  ...SHOWN,
  state: 'paused',
  paused: { at: LATER, by: 'user:bob', reason: null },
}

/** Events of every kind of step, each after a start. */
export function rolloutWrites(): Record<'insert' | 'update', [Work, ExpectedEvent[]]> {
  const insert: Work = (writer) => writer.rollouts.insert(rollout('ro0'))
  const update = (writer: StoreWriter, changes: Partial<RolloutRecord>) =>
    writer.rollouts.update(rollout('ro0', changes))
  const started: ExpectedEvent = ['rollout.started', SUBJECT, null, SHOWN]
  const advanced = { ...SHOWN, stage: 2, stage_at: LATER }
  return {
    insert: [insert, [started]],
    update: [
      async (writer) => {
        await insert(writer)
        await update(writer, PAUSED)
        await update(writer, {})
        await update(writer, { stage: 2, stage_at: LATER })
        await update(writer, { stage: 2, stage_at: LATER, state: 'finished', ended_at: LATER })
        await writer.rollouts.insert(rollout('ro1'))
        await writer.rollouts.update(rollout('ro1', { state: 'rolled_back', ended_at: LATER }))
      },
      [
        started,
        ['rollout.paused', SUBJECT, SHOWN, SHOWN_PAUSED],
        ['rollout.resumed', SUBJECT, SHOWN_PAUSED, SHOWN],
        ['rollout.advanced', SUBJECT, SHOWN, advanced],
        [
          'rollout.finished',
          SUBJECT,
          advanced,
          { ...advanced, state: 'finished', ended_at: LATER },
        ],
        ['rollout.started', { id: 'ro1', name: null }, null, { ...SHOWN, id: 'ro1' }],
        [
          'rollout.rolled_back',
          { id: 'ro1', name: null },
          { ...SHOWN, id: 'ro1' },
          { ...SHOWN, id: 'ro1', state: 'rolled_back', ended_at: LATER },
        ],
      ],
    ],
  }
}

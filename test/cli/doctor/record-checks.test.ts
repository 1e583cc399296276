import type { AgentStatus } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { checkChain, checkWriting } from '../../../packages/cli/src/doctor/record-checks.ts'

const NOW_MS = Date.parse('2026-11-21T12:00:00.000Z')
const WRITTEN = { written: 3, lost: 0, bytes: 900, error: null, last_loss: null } as const
const lossAt = (at: string) => ({ lost: 4, last_loss: { at, reason: 'queue_full' as const } })

describe('the check that records are written', () => {
  it.each<[string, AgentStatus['records'], string, string]>([
    ['written records', WRITTEN, 'ok', 'are written'],
    [
      'an agent that does not describe them',
      undefined,
      'skip',
      'this agent does not describe them',
    ],
    [
      'an agent without the last loss',
      { written: 3, lost: 4, bytes: 9, error: null },
      'ok',
      'are written; 4 were lost before',
    ],
    [
      'a loss of this day',
      { ...WRITTEN, ...lossAt('2026-11-21T11:30:00.000Z') },
      'warn',
      '4 decisions lost, the last 30 minutes ago (queue_full)',
    ],
    [
      'an older loss',
      { ...WRITTEN, ...lossAt('2026-11-20T11:30:00.000Z') },
      'ok',
      'are written; 4 were lost before',
    ],
    [
      'a full disk, also beside a loss',
      { ...WRITTEN, ...lossAt('2026-11-21T11:30:00.000Z'), error: 'ENOSPC' },
      'fail',
      'cannot be written (ENOSPC)',
    ],
    [
      'an agent that has decided nothing yet',
      { ...WRITTEN, written: 0 },
      'ok',
      'no decision was made since the start of the agent',
    ],
  ])('tells %s', (_, records, outcome, detail) => {
    const check = checkWriting(records, '/data/agent/records', NOW_MS)

    expect(check).toMatchObject({ outcome, detail })
    expect(check.mend === null).toBe(outcome === 'ok' || outcome === 'skip')
  })

  it.each([
    ['ENOSPC', 'free space for `/data/agent/records`'],
    ['EROFS', 'make `/data/agent/records` writable'],
    ['EACCES', 'make `/data/agent/records` a directory of this user'],
    ['ERR_DATA_DIRECTORY', 'make `/data/agent/records` a directory of this user'],
  ])('mends %s', (error, mend) => {
    expect(checkWriting({ ...WRITTEN, error }, '/data/agent/records', NOW_MS).mend).toContain(mend)
  })
})

describe('the check of the chain', () => {
  const intact = { intact: true, lines: 1, files: 1, lost: 0, faults: [], head: null }

  it('tells an intact chain from a changed one, with the first place', () => {
    const fault = { file: '00000002.jsonl', line: 4, fault: 'wrong_sequence' } as const

    expect(checkChain(intact, '/r')).toMatchObject({ outcome: 'ok', detail: '1 record verified' })
    expect(checkChain({ ...intact, intact: false, faults: [fault] }, '/r')).toMatchObject({
      outcome: 'fail',
      detail: 'the records were changed: 00000002.jsonl, line 4 (wrong_sequence)',
    })
    expect(checkChain({ ...intact, intact: false }, '/r').outcome).toBe('fail')
  })
})

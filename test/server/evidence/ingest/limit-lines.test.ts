import {
  DEFAULT_EVIDENCE_SETTINGS,
  type BatchLine,
  type EvidenceSettings,
  type UploadedRecord,
} from '@palisade/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isUploaded } from '../../../../agent/src/records/upload/redact-record.ts'
import { limitLines } from '../../../../server/src/evidence/ingest/limit-lines.ts'
import { HASH, linesOf, recordOf } from './batch-text.ts'

const FULL: EvidenceSettings = { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'full' }
const ALLOWED = { decision: 'allow', reason: 'rule' } as const
const limit = (lines: readonly BatchLine[], settings: EvidenceSettings, deviceId = 'dev_1') =>
  limitLines(lines, { deviceId, settings })
const fileOf = (path: string, members = {}) =>
  recordOf({ request: { action: 'read', path, ...members } })

describe('limitLines', () => {
  it('leaves numbers and hashes of all lines, and counts the decisions that it drops', () => {
    const flow = { bytes_sent: 1, bytes_received: 2 }
    const lines: BatchLine[] = [
      ...linesOf([recordOf({ count: 3 }), recordOf({ count: 4, flow })]),
      { seq: 7, hash: HASH, left_out: 5 },
      { seq: 8, hash: HASH, time: '2026-11-21T08:00:00.000Z', lost: 6, reason: 'queue_full' },
    ]

    expect(limit(lines, DEFAULT_EVIDENCE_SETTINGS)).toEqual([
      { seq: 1, hash: HASH, left_out: 3 },
      { seq: 2, hash: HASH, left_out: 0 },
      { seq: 7, hash: HASH, left_out: 5 },
      { seq: 8, hash: HASH, left_out: 6 },
    ])
    expect(limit(lines, FULL)).toEqual(lines)
  })

  it.each([
    ['/a/b/c', {}, 0, { path: '/', path_cut: true }],
    ['/', {}, 0, { path: '/', path_cut: true }],
    ['/a/b/c', {}, 2, { path: '/a/b', path_cut: true }],
    ['//a///b/c', {}, 2, { path: '/a/b', path_cut: true }],
    ['/a/b', {}, 2, { path: '/a/b' }],
    ['/a/b', { path_cut: true }, 2, { path: '/a/b', path_cut: true }],
    ['a/b/c', {}, 1, { path: '/a', path_cut: true }],
  ])('cuts the path %s %j to %i segments', (path, members, path_depth, expected) => {
    const [line] = limit(linesOf([fileOf(path, members)]), { ...FULL, path_depth })
    expect(line).toMatchObject({ record: { request: { action: 'read', ...expected } } })
  })

  it('keeps programs and users apart from each other', () => {
    const record = recordOf({ program: '/usr/bin/git', os_user: 'alice' })
    const membersOf = (settings: Partial<EvidenceSettings>) => {
      const [line] = limit(linesOf([record]), { ...FULL, ...settings })
      const { program, os_user } = (line as { record: UploadedRecord }).record
      return [program, os_user]
    }

    expect(membersOf({ programs: true })).toEqual(['/usr/bin/git', undefined])
    expect(membersOf({ users: true })).toEqual([undefined, 'alice'])
    expect(membersOf({})).toEqual([undefined, undefined])
  })

  it('stores exactly what a machine with the same settings sends', () => {
    const record = fc.record({
      decision: fc.constantFrom('allow', 'deny'),
      reason: fc.constantFrom('rule', 'observed'),
      host: fc.domain(),
      os_user: fc.constantFrom('alice', 'bob'),
    })
    const settings = fc.record({
      upload: fc.constantFrom('off', 'denials', 'sampled', 'full'),
      sample_percent: fc.integer({ min: 1, max: 100 }),
    })
    fc.assert(
      fc.property(record, settings, fc.uuid(), ({ host, ...members }, chosen, deviceId) => {
        const request = { action: 'connect:tcp', host, port: 443 } as const
        const sent = recordOf({ ...members, request })
        const all = { ...DEFAULT_EVIDENCE_SETTINGS, users: true, ...chosen } as EvidenceSettings

        const [line] = limit(linesOf([sent]), all, deviceId)

        expect(line !== undefined && 'record' in line).toBe(isUploaded(sent, all, deviceId))
      }),
    )
  })

  it('takes about the wanted part of allowed requests', () => {
    const records = Array.from({ length: 2_000 }, (_, index) =>
      recordOf({ ...ALLOWED, request: { action: 'connect:tcp', host: `h${index}`, port: 443 } }),
    )
    const sampled = { ...FULL, upload: 'sampled', sample_percent: 10 } as const

    const taken = limit(linesOf(records), sampled).filter((line) => 'record' in line).length

    expect(taken).toBeGreaterThan(140)
    expect(taken).toBeLessThan(260)
  })
})

import { DEFAULT_EVIDENCE_SETTINGS } from '@palisade/protocol'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { listUploadEnds, readFullSince } from '../../../server/src/evidence/upload-history.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { pruneHistory } from '../../../server/src/history/prune-history.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { SETTINGS } from '../history/audit/audited-organization-writes.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const HOUR_MS = 60 * 60_000
const NOON_MS = Date.parse('2026-11-22T12:00:00.000Z')
const FROM_MS = NOON_MS - 30 * 24 * HOUR_MS

let store: Store
let nowMs: number
const now = () => new Date(nowMs)
const audited = () => createAuditedStore({ store, now })

/** The organization is made before the time, and uploads every request from noon on. */
beforeEach(async () => {
  store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
  onTestFinished(() => store.close())
  nowMs = FROM_MS - HOUR_MS
  await audited().write(OPERATOR, (writer) => writer.organizations.insert(SETTINGS))
  nowMs = NOON_MS
  await choose('full')
})

async function choose(upload: 'full' | 'denials'): Promise<void> {
  await audited().write(OPERATOR, ({ organizations }) =>
    organizations.updateEvidence(SETTINGS.name, { ...DEFAULT_EVIDENCE_SETTINGS, upload }),
  )
}

async function addTeam(): Promise<void> {
  await audited().write(OPERATOR, ({ teams }) =>
    teams.insert({ id: randomUUID(), org: SETTINGS.name, name: 'backend' }),
  )
}

async function prune(before: string): Promise<void> {
  const limits = { before, undeliveredBefore: before }
  const deps = { store: audited(), now }
  expect(await pruneHistory(deps, SETTINGS.name, limits, OPERATOR)).toMatchObject({ ok: true })
}

const fullSince = (lastLimitedMs: number | null = null, fromMs = FROM_MS) =>
  store.read((reader) => readFullSince(reader, SETTINGS.name, { fromMs, lastLimitedMs }))

it('begins with the change to all requests', async () => {
  expect(await fullSince()).toBe(NOON_MS)
  expect(await fullSince(null, NOON_MS + 1)).toBe(NOON_MS + 1)
})

it('begins with the last removed event once the change was removed', async () => {
  nowMs = NOON_MS + HOUR_MS
  await choose('denials')
  await choose('full')
  nowMs = NOON_MS + 2 * HOUR_MS
  await addTeam()
  await prune('2026-12-31')

  expect(await fullSince()).toBe(NOON_MS + HOUR_MS)
})

it('does not begin anew with the first event of a quiet history', async () => {
  nowMs = NOON_MS + 20 * 24 * HOUR_MS
  await addTeam()
  await prune('2026-11-22T12:00:00.001Z')

  expect(await fullSince(null, NOON_MS + HOUR_MS)).toBe(NOON_MS + HOUR_MS)
  expect(await fullSince(null, NOON_MS - HOUR_MS)).toBe(NOON_MS)
})

it('takes the latest of the removed events where a clock was set back', async () => {
  nowMs = NOON_MS + 2 * HOUR_MS
  await choose('denials')
  nowMs = NOON_MS + HOUR_MS
  await choose('full')
  nowMs = NOON_MS + 3 * HOUR_MS
  await addTeam()
  await prune('2026-12-31')

  expect(await fullSince()).toBe(NOON_MS + 2 * HOUR_MS)
})

it('begins with the first kept event where the removal tells no time', async () => {
  nowMs = NOON_MS + HOUR_MS
  await choose('denials')
  await choose('full')
  const hash = await store.read(({ events }) => events.hashAt(SETTINGS.name, 2))
  const checkpoint = { sequence: 2, hash: hash ?? '', is_whole: true }
  const pruning = { checkpoint, items: new Map(), at: now().toISOString() }
  await store.transaction(({ events }) =>
    events.prune(SETTINGS.name, { ...pruning, last_removed_at: pruning.at }),
  )
  await audited().note(OPERATOR, {
    scope: { org: SETTINGS.name },
    kind: 'history.pruned',
    subject: { id: SETTINGS.name, name: SETTINGS.name },
    before: null,
    after: { removed_through: 2 },
  })

  expect(await fullSince()).toBe(NOON_MS + HOUR_MS)
})

it('stays at the beginning of the time after the removal of events before it', async () => {
  const fromMs = NOON_MS + HOUR_MS
  nowMs = fromMs - 1
  await prune('2026-11-22T12:00:00.001Z')

  expect(await fullSince(null, fromMs)).toBe(fromMs)
})

it('begins anew when records are dropped or refused because of a limit', async () => {
  nowMs = NOON_MS + HOUR_MS
  await audited().note(OPERATOR, {
    scope: { org: SETTINGS.name },
    kind: 'evidence.dropped',
    subject: { id: 'dev_1', name: null },
    before: null,
    after: { device_id: 'dev_1' },
  })

  expect(await fullSince()).toBe(NOON_MS + HOUR_MS)
  expect(await fullSince(NOON_MS + 2 * HOUR_MS)).toBe(NOON_MS + 2 * HOUR_MS)
  expect(await fullSince(FROM_MS - 1)).toBe(NOON_MS + HOUR_MS)
})

it('lists a gap as an end of no upload', async () => {
  const time = { fromMs: NOON_MS + 1, lastLimitedMs: NOON_MS + HOUR_MS }

  const ends = await store.read((reader) => listUploadEnds(reader, SETTINGS.name, time))

  expect(ends).toEqual([{ upload: 'off', atMs: NOON_MS + HOUR_MS }])
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshView } from '../../../../agent/src/sync/update/refresh-view.ts'
import type { FetchFile } from '../../../../agent/src/sync/transport/fetch-file.ts'
import { never } from '../../fixture/sync-scene.ts'
import { createRepository, VIEW } from '../../fixture/view-repository.ts'

const NOW_MS = Date.parse('2026-11-22T08:00:00Z')
const YEARS_MS = 3 * 365 * 24 * 60 * 60_000

describe('a refresh of a view', () => {
  // tuf-js reads the global clock.
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS }))
  afterEach(() => void vi.useRealTimers())

  function setUp() {
    const { enrolment, release } = createRepository(undefined, { nowMs: NOW_MS })
    const files = release()
    const path = `/api/v1/orgs/acme/views/${VIEW}/metadata`
    const fileOf = (name: string): string => files.get(`${path}/${name}`) ?? ''
    const fetchFile: FetchFile = async ({ path: wanted }) => {
      const text = files.get(wanted)
      return text === undefined
        ? { kind: 'absent' }
        : { kind: 'body', body: Buffer.from(text), etag: null }
    }
    const timestamp = fileOf('timestamp.json')
    const accepted = {
      timestamp,
      snapshot: fileOf('1.snapshot.json'),
      targets: fileOf('1.targets.json'),
    }
    async function refresh(given: { readonly root?: string; readonly timestamp?: string } = {}) {
      const root = given.root ?? enrolment.root
      const asked = { path, root, kept: null, timestamp: Buffer.from(given.timestamp ?? timestamp) }
      return (await refreshView(asked, fetchFile, never)).result
    }
    return { root: enrolment.root, timestamp, accepted, refresh }
  }

  function damage(text: string): string {
    const damaged = text.replace(/"sig":"../, '"sig":"00')
    expect(damaged).not.toBe(text)
    return damaged
  }

  it('is independent of earlier ones', async () => {
    const { accepted, refresh } = setUp()

    // The same version each time, which tuf-js refuses if it already has it.
    for (let round = 0; round < 3; round += 1) expect(await refresh()).toEqual(accepted)
  })

  it('does not begin with a root that has not signed itself, or was changed a little', async () => {
    const { root, accepted, refresh } = setUp()
    expect(await refresh()).toEqual(accepted)

    for (const other of [damage(root), root.replace('"x-org":"acme"', '"x-org":"evil"')])
      expect(await refresh({ root: other })).toMatchObject({ code: 'bad_signature' })
    expect(await refresh({ root: '{}' })).toMatchObject({ code: 'malformed' })

    expect(await refresh()).toEqual(accepted)
  })

  it('refuses files signed by unknown keys, as often as it starts with the same root', async () => {
    const { timestamp, accepted, refresh } = setUp()

    for (let round = 0; round < 3; round += 1) {
      const other = await refresh({ timestamp: damage(timestamp) })
      expect(other).toMatchObject({ code: 'bad_signature' })
      expect(await refresh()).toEqual(accepted)
    }
  })

  it('uses the time at which it began, not that of an earlier one', async () => {
    const { accepted, refresh } = setUp()
    expect(await refresh()).toEqual(accepted)

    vi.setSystemTime(NOW_MS + YEARS_MS)

    expect(await refresh()).toMatchObject({ code: 'expired' })
  })
})

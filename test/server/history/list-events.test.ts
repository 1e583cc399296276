import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Caller } from '../../../server/src/accounts/principal.ts'
import { createAuditedStore } from '../../../server/src/history/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { listEvents } from '../../../server/src/history/list-events.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.000Z'

const reader: Caller = {
  kind: 'organization',
  org: 'acme',
  tokenId: 't',
  permissions: ['audit:read'],
  author: OPERATOR,
}

/** The feed of a history in which these teams were made, after the organization. */
async function historyOf(...teams: string[]) {
  const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
  onTestFinished(() => store.close())
  const audited = createAuditedStore({ store, now: () => new Date(NOW) })
  await audited.write(OPERATOR, async (writer) => {
    const settings = { entitled: true, resolve_unlisted_names: false, created_at: NOW }
    await writer.organizations.insert({ name: 'acme', ...settings })
  })
  for (const name of teams)
    await audited.write(OPERATOR, (writer) => writer.teams.insert({ id: name, org: 'acme', name }))
  const pageTokenKey = new Uint8Array(32)
  return (query: Parameters<typeof listEvents>[3]) =>
    listEvents({ store: audited, pageTokenKey }, reader, 'acme', query)
}

it('goes on in a restored history after what that still has', async () => {
  const lost = await historyOf('one', 'lost')
  const restored = await historyOf('one', 'new', 'newer')
  const { next_cursor } = await lost({ page_size: '2' })

  const { data } = await restored({ cursor: next_cursor })

  expect(data.map(({ subject }) => subject.name)).toEqual(['new', 'newer'])
})

it.each([
  ['that a restore undid', ['one', 'new', 'newer']],
  ['beyond the newest', ['one']],
])('takes no cursor after an event %s, and says what to do', async (_title, teams) => {
  const lost = await historyOf('one', 'lost')
  const restored = await historyOf(...teams)

  // With a filter the cursor may be after an event that was not shown.
  for (const query of [{}, { kind: 'policy.created' as const }]) {
    const { next_cursor } = await lost(query)
    await expect(restored({ ...query, cursor: next_cursor })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_argument',
      message: expect.stringContaining('start without `cursor`'),
    })
  }
})

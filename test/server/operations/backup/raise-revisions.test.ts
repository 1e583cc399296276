import { expect, it, onTestFinished } from 'vitest'
import { raiseRevisions } from '../../../../server/src/operations/backup/raise-revisions.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import { verifyHistory } from '../../../../server/src/history/verify-history.ts'
import { openTestStore } from '../../store/test-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const NOW_MS = Date.parse('2026-11-21T08:00:00.000Z')

it('raises every revision above those a lost database may have served, with an event', async () => {
  const { store, discard } = await openTestStore(temporaryDirectory())
  onTestFinished(discard)
  const audited = createAuditedStore({ store, now: () => new Date(NOW_MS) })
  const settings = { entitled: true, resolve_unlisted_names: false, created_at: '2026-11-21' }
  await audited.write(OPERATOR, async ({ organizations }) => {
    for (const name of ['acme', 'rival']) await organizations.insert({ name, ...settings })
  })

  const first = await raiseRevisions(audited, NOW_MS)
  const again = await raiseRevisions(audited, NOW_MS)

  expect(first).toEqual([
    { org: 'acme', revision: NOW_MS },
    { org: 'rival', revision: NOW_MS },
  ])
  expect(again).toEqual(first.map(({ org, revision }) => ({ org, revision: revision + 1_000_000 })))
  await store.read(async (reader) => {
    expect(await reader.organizations.find('acme')).toMatchObject({ revision: again[0]?.revision })
    const events = await reader.events.list('acme', { after: 0, through: 9, limit: 9 })
    expect(events.map(({ kind, actor }) => [kind, actor])).toEqual([
      ['organization.created', 'operator'],
      ['organization.restored', 'operator'],
      ['organization.restored', 'operator'],
    ])
    expect(await verifyHistory(reader, 'acme', {})).toMatchObject({ intact: true })
  })
})

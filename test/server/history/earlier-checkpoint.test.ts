import { beforeEach, expect, it } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { pruneHistory } from '../../../server/src/history/prune-history.ts'
import {
  describeFaults,
  verifyOrganization,
} from '../../../server/src/history/verify-organization.ts'
import type { Pruning } from '../../../server/src/store/aggregates/history/event-contract.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { LATER, NOW, POLICY } from './audit/audited-records.ts'
import { rollout } from './audit/audited-rollout-writes.ts'
import { createDatabaseFile, type DatabaseFile } from './database-file.ts'
import { furnish } from './furnished-organization.ts'

const now = () => new Date(NOW)
const NEWER_KINDS = /^(?:account|rollout_policy) /

let database: DatabaseFile
beforeEach(async () => {
  database = createDatabaseFile()
  await write(async (writer) => {
    await furnish(writer)
    await startRollout(writer, 'ro0')
  })
  // The newest event stays.
  await write((writer) => writer.policies.insert({ ...POLICY, id: 'pol_2', name: 'two' }))
  await prune(withoutNewerKinds)
})

type Writer = Parameters<Parameters<ReturnType<typeof createAuditedStore>['write']>[1]>[0]

const write = (work: (writer: Writer) => Promise<unknown>) =>
  database.withStore((store) => createAuditedStore({ store, now }).write(OPERATOR, work))

async function startRollout({ organizations, rollouts }: Writer, id: string): Promise<void> {
  const { revision = 0 } = (await organizations.find('acme')) ?? {}
  await rollouts.insert({ ...rollout(id), base_revision: revision })
}

async function addAccount({ memberships, users }: Writer, username: string): Promise<void> {
  await users.insert({ username, password_hash: null, created_at: NOW })
  const owner = { ownsAccount: true }
  await memberships.insert({ org: 'acme', username, role: 'editor' }, owner)
}

/** Keeps the items that checkpoints had before the history recorded accounts and copies. */
function withoutNewerKinds(store: Store): Store {
  const reduce = ({ items, ...others }: Pruning): Pruning => ({
    ...others,
    items: new Map([...items].filter(([item]) => !NEWER_KINDS.test(item))),
  })
  return {
    ...store,
    transaction: (work) =>
      store.transaction((writer) => {
        const { events } = writer
        const prune: typeof events.prune = (org, given) => events.prune(org, reduce(given))
        return work({ ...writer, events: { ...events, prune } })
      }),
  }
}

const prune = (wrap = (store: Store) => store) =>
  database.withStore(async (store) => {
    const deps = { store: createAuditedStore({ store: wrap(store), now }), now }
    const limits = { before: LATER, undeliveredBefore: LATER }
    expect(await pruneHistory(deps, 'acme', limits, OPERATOR)).toMatchObject({ ok: true })
  })

const faults = async () =>
  describeFaults(
    await database.withStore((store) =>
      store.read((reader) => verifyOrganization(reader, 'acme', { state: true })),
    ),
  )

it('tells nothing of accounts and copies of a rollout that it has no items of', async () => {
  expect(await faults()).toEqual([])
})

it('still tells of other items without an event', async () => {
  database.tamper(`INSERT INTO invitations SELECT org, 'bob', role, invited_by, created_at
    FROM invitations`)

  expect(await faults()).toEqual([expect.stringMatching(/`bob`: stored, but no event created it$/)])
})

it('tells nothing of earlier accounts after the removal of the event of a later one', async () => {
  await write((writer) => addAccount(writer, 'dan'))
  expect(await faults()).toEqual([])

  await prune()

  expect(await faults()).toEqual([])
})

it('knows the copies of a rollout that starts after it', async () => {
  await write(async (writer) => {
    const open = await writer.rollouts.findOpen('acme')
    if (open === null) throw new Error('no rollout is open')
    await writer.rollouts.update({ ...open, state: 'rolled_back', ended_at: LATER })
    await startRollout(writer, 'ro1')
    await writer.policies.insert({ ...POLICY, id: 'pol_new', name: 'new' })
  })
  for (const remove of [async () => undefined, prune]) {
    await remove()
    expect(await faults()).toEqual([])
  }
  database.tamper(`UPDATE policies SET revision = 1 WHERE id = 'pol_new'`)

  expect(await faults()).toEqual([
    expect.stringMatching(/rollout policy `new`: stored, but no event created it$/),
  ])
})

import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import { furnish } from '../history/furnished-organization.ts'
import { runServerCommand } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const DAY = '2026-11-21T08:00:00.000Z'

describe('history prune', () => {
  let directory: string

  beforeEach(async () => {
    directory = temporaryDirectory()
    const store = openSqliteStore(join(directory, 'server.db'))
    await createAuditedStore({ store, now: () => new Date(DAY) }).write(OPERATOR, furnish)
    await store.close()
  })

  const run = (args: string[], at = directory) => runServerCommand(args, { PALISADE_DATA_DIR: at })
  const prune = (...args: string[]) => run(['history', 'prune', '--org', 'acme', ...args])
  const SKIP = ['--before', '2026-11-22', '--skip-undelivered']
  function tamper(statement: string): void {
    const database = new Sqlite(join(directory, 'server.db'))
    database.exec(statement)
    database.close()
  }

  it('removes old events, and `verify-history` continues from there and says so', async () => {
    const { status, stdout, stderr } = await prune(...SKIP)

    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^40 events of `acme` removed\nwebhook w0 will not get 40 of them\n$/)
    const verified = await run(['verify-history', '--state'])
    expect([verified.status, verified.stderr]).toEqual([0, ''])
    expect(verified.stdout).toMatch(/^acme +42 .*\nhistory of `acme` begins after event 40\n$/m)
    const json = await run(['verify-history', '--state', '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      intact: true,
      organizations: [{ removed_through: 40, differences: [] }],
    })
  })

  it('keeps undelivered events, and names the option that removes them', async () => {
    const { status, stdout } = await prune('--before', '2026-11-22')
    const json = await prune('--before', '2026-11-22', '--json')

    expect(status).toBe(0)
    expect(stdout).toMatch(/^0 events of `acme` removed\n.*`--skip-undelivered`\n$/)
    const nothing = { org: 'acme', removed: 0, skipped: [], waits: true }
    expect(JSON.parse(json.stdout)).toEqual(nothing)
  })

  it('refuses a damaged history', async () => {
    tamper(`UPDATE events SET actor = 'user:x' WHERE sequence = 7`)

    const { status, stderr } = await prune(...SKIP)

    expect([status, stderr]).toEqual([1, expect.stringContaining('event 7 is damaged')])
    expect((await run(['verify-history'])).stderr).toContain('event 7 was edited')
  })

  it.each([
    ['an edited checkpoint', 'UPDATE history_checkpoints SET sequence = 39'],
    ['a checkpoint with another hash', `UPDATE history_checkpoints SET hash = 'x'`],
    ['a missing checkpoint', 'DELETE FROM history_checkpoints'],
    ['more events removed', 'DELETE FROM events WHERE sequence = 41'],
    ['a history that claims a later start', 'UPDATE history_checkpoints SET is_whole = 0'],
    ['an edited state', `UPDATE history_items SET recorded = '{}' WHERE item = 'member bob'`],
    ['a missing state', `DELETE FROM history_items WHERE item = 'member bob'`],
  ])('lets `verify-history` detect %s', async (_title, statement) => {
    await prune(...SKIP)
    tamper(statement)

    const chain = await run(['verify-history'])
    const state = await run(['verify-history', '--state'])

    expect([chain.status, state.status]).toEqual([1, 1])
    expect(chain.stderr).toMatch(/^palisade-server: history of `acme`: /)
    expect(state.stderr).toBe(chain.stderr)
  })

  it('leaves a database whose backup can be restored', async () => {
    await prune(...SKIP)
    const [backup, data] = [join(directory, 'backup.db'), join(temporaryDirectory(), 'data')]
    expect((await run(['backup', backup])).status).toBe(0)

    const restored = await run(['restore', backup], data)

    expect([restored.status, restored.stderr]).toEqual([0, expect.any(String)])
    const verified = await run(['verify-history', '--state'], data)
    expect([verified.status, verified.stderr]).toEqual([0, ''])
  })

  it.each([
    ['an edited checkpoint', 'UPDATE history_checkpoints SET sequence = 39'],
    ['a missing checkpoint', 'DELETE FROM history_checkpoints'],
    ['an edited state', `UPDATE history_items SET recorded = '{}' WHERE item = 'member bob'`],
    [
      'a member changed without an event',
      `UPDATE memberships SET role = 'owner' WHERE username = 'bob'`,
    ],
  ])('leaves a database whose backup is refused with %s', async (_title, statement) => {
    await prune(...SKIP)
    tamper(statement)
    const [backup, data] = [join(directory, 'backup.db'), join(temporaryDirectory(), 'data')]
    expect((await run(['backup', backup])).status).toBe(0)

    const refused = await run(['restore', backup], data)
    const forced = await run(['restore', backup, '--unverified'], data)

    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('`acme`')])
    expect(forced.status).toBe(0)
  })

  it.each([
    [['--before', 'yesterday'], 2, '`--before` must be a day'],
    [['--before', '2026-13-01'], 2, '`--before` must be a day'],
    [['--before', '2026-11-21T08:00:00'], 2, '`--before` must be a day'],
    [[], 2, '--before'],
  ])('refuses %j with %i', async (args, status, message) => {
    expect(await prune(...args)).toMatchObject({
      status,
      stderr: expect.stringContaining(message),
    })
  })

  it('refuses an unknown organization', async () => {
    const args = ['history', 'prune', '--org', 'absent', '--before', '2026-11-22']

    expect(await run(args)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no organization `absent`'),
    })
  })
})

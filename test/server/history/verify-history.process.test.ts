import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { hashEvent } from '../../../server/src/history/event-hash.ts'
import { verifyHistory } from '../../../server/src/history/verify-history.ts'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import { runServerCommand } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.250Z'
const EVENTS = 250

describe('verifying a history', () => {
  let dataDir: string
  let path: string

  beforeEach(async () => {
    dataDir = temporaryDirectory()
    path = join(dataDir, 'server.db')
    await withStore(async (store) => {
      const audited = createAuditedStore({ store, now: () => new Date(NOW) })
      await audited.write(OPERATOR, async (writer) => {
        for (const name of ['acme', 'rival'])
          await writer.organizations.insert({
            name,
            entitled: true,
            resolve_unlisted_names: false,
            created_at: NOW,
          })
        for (let index = 2; index <= EVENTS; index += 1)
          await writer.teams.insert({ id: `t${index}`, org: 'acme', name: `team ${index}` })
      })
    })
  })

  async function withStore<T>(work: (store: ReturnType<typeof openSqliteStore>) => Promise<T>) {
    const store = openSqliteStore(path)
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }
  const verify = (org = 'acme', noted?: string) =>
    withStore((store) => store.read((reader) => verifyHistory(reader, org, { noted })))

  /** Changes made by an attacker who can write to the file. */
  function tamper(...statements: string[]): void {
    const database = new Sqlite(path)
    database.pragma('foreign_keys = OFF')
    for (const statement of statements) database.exec(statement)
    database.close()
  }
  const WHERE = "org = 'acme' AND sequence"
  const COPY = `SELECT org, 7.5, at, kind, actor, address, request_id, subject, before_state,
    after_state, revision, previous_hash, hash FROM events WHERE ${WHERE} = 7`

  it('accepts a history written by the server', async () => {
    const verdict = await verify()

    expect(verdict).toEqual({
      intact: true,
      org: 'acme',
      head: { sequence: EVENTS, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    })
    expect(await verify('rival')).toMatchObject({ intact: true, head: { sequence: 1 } })
  })

  it.each<[string, string[], string, number]>([
    ['an edited kind', [`UPDATE events SET kind = 'x' WHERE ${WHERE} = 7`], 'edited', 7],
    ['an edited actor', [`UPDATE events SET actor = 'user:x' WHERE ${WHERE} = 7`], 'edited', 7],
    ['an edited time', [`UPDATE events SET at = 'x' WHERE ${WHERE} = 7`], 'edited', 7],
    ['an added address', [`UPDATE events SET address = '::1' WHERE ${WHERE} = 7`], 'edited', 7],
    ['an edited revision', [`UPDATE events SET revision = 0 WHERE ${WHERE} = 7`], 'edited', 7],
    [
      'an edited state',
      [`UPDATE events SET after_state = '{"id":"t7"}' WHERE ${WHERE} = 7`],
      'edited',
      7,
    ],
    ['a state made null', [`UPDATE events SET after_state = NULL WHERE ${WHERE} = 7`], 'edited', 7],
    [
      'a state that is not JSON',
      [`UPDATE events SET after_state = '{' WHERE ${WHERE} = 7`],
      'edited',
      7,
    ],
    [
      'a subject that is not JSON',
      [`UPDATE events SET subject = '' WHERE ${WHERE} = 7`],
      'edited',
      7,
    ],
    ['an edited hash', [`UPDATE events SET hash = 'x' WHERE ${WHERE} = 7`], 'edited', 7],
    ['an edited link', [`UPDATE events SET previous_hash = 'x' WHERE ${WHERE} = 7`], 'unlinked', 7],
    ['the first event removed', [`DELETE FROM events WHERE ${WHERE} = 1`], 'removed', 1],
    ['an event removed', [`DELETE FROM events WHERE ${WHERE} = 7`], 'removed', 7],
    [
      'an event removed and the gap closed',
      [
        `DELETE FROM events WHERE ${WHERE} = 7`,
        `UPDATE events SET sequence = -sequence WHERE ${WHERE} > 7`,
        `UPDATE events SET sequence = -sequence - 1 WHERE ${WHERE} < 0`,
      ],
      'unlinked',
      7,
    ],
    [
      'two events reordered',
      [
        `UPDATE events SET sequence = -1 WHERE ${WHERE} = 7`,
        `UPDATE events SET sequence = 7 WHERE ${WHERE} = 8`,
        `UPDATE events SET sequence = 8 WHERE ${WHERE} = -1`,
      ],
      'unlinked',
      7,
    ],
    [
      'an event copied in between',
      [
        `UPDATE events SET sequence = -sequence WHERE ${WHERE} > 7`,
        `UPDATE events SET sequence = -sequence + 1 WHERE ${WHERE} < 0`,
        `INSERT INTO events ${COPY.replace('7.5', '8')}`,
      ],
      'unlinked',
      8,
    ],
    ['an event before the first', [`INSERT INTO events ${COPY.replace('7.5', '0')}`], 'removed', 1],
    ['the end cut off', [`DELETE FROM events WHERE ${WHERE} > 240`], 'truncated', 241],
    ['all events removed', [`DELETE FROM events WHERE ${WHERE} > 0`], 'truncated', 1],
    [
      'everything removed',
      [`DELETE FROM events WHERE ${WHERE} > 0`, "DELETE FROM event_heads WHERE org = 'acme'"],
      'missing',
      1,
    ],
    ['the head removed', ["DELETE FROM event_heads WHERE org = 'acme'"], 'appended', 1],
    [
      'the head set back',
      ["UPDATE event_heads SET sequence = 249 WHERE org = 'acme'"],
      'appended',
      250,
    ],
    [
      'the head set to another hash',
      ["UPDATE event_heads SET hash = 'x' WHERE org = 'acme'"],
      'unlinked',
      250,
    ],
  ])('detects %s', async (_name, statements, damage, sequence) => {
    tamper(...statements)

    expect(await verify()).toEqual({ intact: false, org: 'acme', damage, sequence })
    expect(await verify('rival')).toMatchObject({ intact: true })
  })

  it('detects an event replaced by another with a valid hash', async () => {
    const [event] = await withStore((store) =>
      store.read((reader) => reader.events.list('acme', { after: 6, through: 7, limit: 1 })),
    )
    if (event === undefined) throw new Error('there is no event 7')
    const { hash: _hash, ...forged } = { ...event, actor: 'user:somebody_else' }
    tamper(
      `UPDATE events SET actor = '${forged.actor}', hash = '${hashEvent(forged)}'
         WHERE ${WHERE} = 7`,
    )

    expect(await verify()).toMatchObject({ intact: false, damage: 'unlinked', sequence: 8 })
  })

  it('detects a rewritten history with a kept head', async () => {
    const noted = await verify()
    if (!noted.intact) throw new Error('the history is damaged')
    const [last] = await withStore((store) =>
      store.read((reader) => reader.events.list('acme', { after: 248, through: 249, limit: 1 })),
    )
    tamper(
      `DELETE FROM events WHERE ${WHERE} = 250`,
      `UPDATE event_heads SET sequence = 249, hash = '${last?.hash}' WHERE org = 'acme'`,
    )

    expect(await verify()).toMatchObject({ intact: true })
    expect(await verify('acme', noted.head.hash)).toMatchObject({
      intact: false,
      damage: 'other_history',
    })
    expect(await verify('acme', last?.hash)).toMatchObject({ intact: true })
  })

  describe('with the command', () => {
    const run = (...args: string[]) =>
      runServerCommand(['verify-history', ...args], { PALISADE_DATA_DIR: dataDir })

    it('prints the head of every organization', async () => {
      const { status, stdout, stderr } = await run()

      expect([status, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(
        /^ORGANIZATION +EVENTS +HEAD\nacme +250 +[0-9a-f]{64}\nrival +1 +[0-9a-f]{64}\n$/,
      )
    })

    it('names the first broken event and fails', async () => {
      tamper(`UPDATE events SET actor = 'user:x' WHERE ${WHERE} IN (7, 9)`)

      const text = await run()
      const json = await run('--json')

      expect([text.status, json.status]).toEqual([1, 1])
      expect(text.stderr).toBe('palisade-server: history of `acme`: event 7 was edited\n')
      expect(text.stdout).toMatch(/^rival +1 /m)
      expect(JSON.parse(json.stdout)).toMatchObject({
        intact: false,
        organizations: [
          { org: 'acme', intact: false, damage: 'edited', sequence: 7 },
          { org: 'rival', intact: true },
        ],
      })
    })

    it('checks one organization and a kept head', async () => {
      tamper(`UPDATE events SET actor = 'user:x' WHERE ${WHERE} = 7`)

      const { status, stdout } = await run('--org', 'rival', '--json')
      const [rival] = JSON.parse(stdout).organizations
      expect(status).toBe(0)
      expect((await run('--org', 'rival', '--head', rival.head.hash)).status).toBe(0)
      const other = await run('--org', 'rival', '--head', '1'.repeat(64))
      expect([other.status, other.stderr]).toEqual([1, expect.stringContaining('given head')])
    })

    it('fails without any organization', async () => {
      const elsewhere = { PALISADE_DATA_DIR: join(dataDir, 'another') }
      const proof = async () => {
        const { status, stderr } = await runServerCommand(['verify-history'], elsewhere)
        return [status, stderr]
      }
      expect(await proof()).toEqual([78, expect.stringContaining('there is no database')])

      await openDataDirectory(elsewhere.PALISADE_DATA_DIR).close()

      expect(await proof()).toEqual([1, expect.stringContaining('there is no organization')])
    })

    it.each([
      [['--head', '1'.repeat(64)], 2, '`--org`'],
      [['--org', 'acme', '--head', 'x'], 2, '64 lower-case'],
      [['--org', 'absent'], 1, 'no organization `absent`'],
    ])('refuses %j with %i', async (args, status, message) => {
      const outcome = await run(...args)

      expect(outcome).toMatchObject({ status, stderr: expect.stringContaining(message) })
    })
  })
})

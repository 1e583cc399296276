import { beforeEach, describe, expect, it } from 'vitest'
import { hashEvent } from '../../../server/src/history/event-hash.ts'
import { verifyHistory } from '../../../server/src/history/verify-history.ts'
import type { DatabaseFile } from './database-file.ts'
import { createEventHistory, EVENTS, WHERE } from './event-history.ts'

describe('verifying a history', () => {
  let history: DatabaseFile
  beforeEach(async () => {
    history = await createEventHistory()
  })

  const verify = (org = 'acme', noted?: string) =>
    history.withStore((store) => store.read((reader) => verifyHistory(reader, org, { noted })))

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
    history.tamper(...statements)

    expect(await verify()).toEqual({ intact: false, org: 'acme', damage, sequence })
    expect(await verify('rival')).toMatchObject({ intact: true })
  })

  it('detects an event replaced by another with a valid hash', async () => {
    const [event] = await history.withStore((store) =>
      store.read((reader) => reader.events.list('acme', { after: 6, through: 7, limit: 1 })),
    )
    if (event === undefined) throw new Error('there is no event 7')
    const { hash: _hash, ...forged } = { ...event, actor: 'user:somebody_else' }
    history.tamper(
      `UPDATE events SET actor = '${forged.actor}', hash = '${hashEvent(forged)}'
         WHERE ${WHERE} = 7`,
    )

    expect(await verify()).toMatchObject({ intact: false, damage: 'unlinked', sequence: 8 })
  })

  it('detects a rewritten history with a kept head', async () => {
    const noted = await verify()
    if (!noted.intact) throw new Error('the history is damaged')
    const [last] = await history.withStore((store) =>
      store.read((reader) => reader.events.list('acme', { after: 248, through: 249, limit: 1 })),
    )
    history.tamper(
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
})

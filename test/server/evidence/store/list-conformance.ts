import { describe, expect, it } from 'vitest'
import type { EvidenceRow } from '../../../../server/src/evidence/store/evidence-record.ts'
import type {
  EvidenceFilter,
  EvidenceStore,
} from '../../../../server/src/evidence/store/evidence-store.ts'
import {
  appendRows,
  batch,
  chain,
  DAY_MS,
  EVERYTHING,
  listAll,
  NOW_MS,
  row,
} from './evidence-batches.ts'

const HOSTS = [
  'Registry.example',
  'a.example',
  'ab.example',
  '100%.example',
  'a_b.example',
  'ä.test',
]
const PATHS = ['/home/Alice/.ssh', '/home/alice', '/tmp/x\\y', '/tmp/%', '/\u{10FFFF}/z', "/';--"]
const FILTERS: readonly Partial<EvidenceFilter>[] = [
  { username: 'user-1' },
  { device_id: 'dev_2' },
  { session: 'session-3' },
  { decision: 'deny' },
  { mode: 'audit' },
  { mode: 'enforce' },
  { actions: ['file:read', 'connect:udp', 'file:write'] },
  { actions: ['connect:tcp', null] },
  { actions: [null] },
  { actions: [] },
  { program: '/usr/bin/node' },
  { rule_id: 'rule-1' },
  { resource: 'a' },
  { resource: '/home/' },
  { resource: '/\u{10FFFF}' },
  { resource: 'registry.example:443' },
  { text: 'ALICE' },
  { text: '%' },
  { text: '_b' },
  { text: 'x\\y' },
  { text: "';--" },
  { fromMs: NOW_MS - DAY_MS, toMs: NOW_MS - 3000 },
]

/** Guarantees of lists, part of those of every driver. */
export function describeEvidenceLists(current: () => EvidenceStore): void {
  describe('a list', () => {
    it('has every member of a row as it was given', async () => {
      const store = current()
      const network: EvidenceRow = {
        session: 'sandbox-1',
        first_ms: NOW_MS - 50,
        last_ms: NOW_MS,
        decisions: 0,
        flows: 3,
        bytes_sent: 2 ** 52,
        bytes_received: 7,
        tuple: {
          point: 'capture',
          protocol: 'udp',
          action: 'connect:udp',
          host: 'a.example',
          port: 53,
          address: '2001:db8::1',
          path: null,
          path_cut: false,
          decision: 'deny',
          reason: 'no_rule',
          revision: null,
          stale: true,
          break_glass: true,
          rules: [
            { policy_id: 'p1', rule_id: 'r1', decision: 'deny', origin: 'org' },
            { policy_id: 'p2', rule_id: 'r2', decision: 'allow', origin: 'local' },
          ],
          program: '/usr/bin/dig',
          os_user: 'bob',
        },
      }
      const file = row({
        last_ms: NOW_MS - 1,
        tuple: { action: 'file:read', host: null, port: null, path: '/etc', path_cut: true },
      })
      const unread = row({ last_ms: NOW_MS - 2, tuple: { action: null, host: null, port: null } })
      await store.append(batch({ rows: [network, file, unread], username: null, chain: chain(3) }))

      const stored = { org: 'acme', device_id: 'dev_1', username: null, received_ms: NOW_MS + 3 }
      expect(await listAll(store)).toEqual([
        { ...network, ...stored, id: 1 },
        { ...file, ...stored, id: 2 },
        { ...unread, ...stored, id: 3 },
      ])
    })

    it('is newest first, and of equal times the last to arrive first', async () => {
      const store = current()
      await appendRows(
        store,
        [0, 2, 1, 2].map((age) => row({ last_ms: NOW_MS - age })),
      )

      const places = (await listAll(store, {}, { limit: 1 })).map(({ last_ms, id }) => [
        NOW_MS - last_ms,
        id,
      ])
      expect(places).toEqual([
        [0, 1],
        [1, 3],
        [2, 4],
        [2, 2],
      ])
    })

    it('begins with its first millisecond and ends before its last', async () => {
      const store = current()
      await appendRows(
        store,
        [0, 1, 2].map((age) => row({ last_ms: NOW_MS - age })),
      )

      const rows = await listAll(store, { fromMs: NOW_MS - 1, toMs: NOW_MS })
      expect(rows.map(({ last_ms }) => last_ms)).toEqual([NOW_MS - 1])
      expect(await listAll(store, { fromMs: NOW_MS, toMs: NOW_MS })).toEqual([])
    })

    it('ends where it does, also when it goes on from a place of a longer one', async () => {
      const store = current()
      await appendRows(
        store,
        [0, 1, 1, 2].map((age) => row({ last_ms: NOW_MS - age })),
      )
      const filter = { ...EVERYTHING, toMs: NOW_MS - 1 }

      for (const before of [
        { last_ms: NOW_MS + DAY_MS, id: 0 },
        { last_ms: NOW_MS - 1, id: 3 },
      ]) {
        const { rows } = await store.list('acme', filter, { before, limit: 10 })
        expect(rows.map(({ last_ms }) => NOW_MS - last_ms)).toEqual([2])
      }
    })

    it('is of one organization', async () => {
      const store = current()
      await appendRows(store, [row()])

      expect(await listAll(store, {}, { org: 'other' })).toEqual([])
    })

    it('has exactly the rows that all its filters match, on every page', async () => {
      const store = current()
      await fill(store)
      const all = await listAll(store, {}, { limit: 1000 })
      const pairs = FILTERS.flatMap((one) => FILTERS.map((other) => ({ ...one, ...other })))

      for (const [index, filter] of pairs.entries()) {
        const expected = all.filter((each) => matches(each, { ...EVERYTHING, ...filter }))
        const found = await listAll(store, filter, { limit: index % 2 === 0 ? 1000 : 17 })
        expect([filter, found.map(({ id }) => id)]).toEqual([filter, expected.map(({ id }) => id)])
      }
    })

    it('finds a rare row behind thousands that do not match', async () => {
      const store = current()
      const days = 9
      for (let day = 0; day < days; day += 1)
        await appendRows(
          store,
          Array.from({ length: 1_000 }, (_, index) =>
            row({
              last_ms: NOW_MS - day * DAY_MS - index,
              tuple: { host: `host-${index % 500}.example` },
            }),
          ),
        )
      const rare = { host: 'rare.example', program: '/bin/rare', decision: 'deny' as const }
      const rules = [{ policy_id: 'p', rule_id: 'rare', decision: 'deny', origin: 'org' }] as const
      const old = [0, 5, 7].map((ms) =>
        row({ last_ms: NOW_MS - days * DAY_MS - ms, tuple: { ...rare, rules } }),
      )
      await appendRows(store, old, { device_id: 'dev_rare', username: 'rita' })

      const filters: Partial<EvidenceFilter>[] = [
        { text: 'RARE' },
        { resource: 'rare.' },
        { program: '/bin/rare' },
        { rule_id: 'rare' },
        { decision: 'deny' as const },
        { device_id: 'dev_rare' },
        { username: 'rita' },
        { text: 'rare', username: 'rita' },
        { text: 'example', device_id: 'dev_rare' },
      ]
      for (const filter of filters) {
        const found = await listAll(store, filter, { limit: 2 })
        expect([filter, found.length]).toEqual([filter, 3])
      }
      expect(await listAll(store, { text: 'rare', device_id: 'dev_1' })).toEqual([])
    })

    it('finds rare rows of a user with thousands of others, in order and once', async () => {
      const store = current()
      // Three in a millisecond; the denials are the oldest, and too many to be sought one by one.
      const rows = Array.from({ length: 12_000 }, (_, index) =>
        row({
          session: `session-${index % 3}`,
          last_ms: NOW_MS - Math.floor(index / 3),
          tuple: { decision: index < 10_500 ? 'allow' : 'deny', port: 1 + (index % 7) },
        }),
      )
      for (let first = 0; first < rows.length; first += 4_000)
        await appendRows(store, rows.slice(first, first + 4_000))

      const found = await listAll(
        store,
        { username: 'alice', decision: 'deny', session: 'session-1' },
        { limit: 123 },
      )
      const expected = rows
        .map((each, index) => ({ ...each, id: index + 1 }))
        .filter(({ session, tuple }) => session === 'session-1' && tuple.decision === 'deny')
      expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    })

    it('stores and finds the longest targets and programs', async () => {
      const store = current()
      const draw = pseudoRandom(7)
      // Of three bytes each, and incompressible: more than a row of an index of PostgreSQL holds.
      const name = Array.from({ length: 4000 }, () => String.fromCodePoint(0x4e00 + draw(20_000)))
      const path = `/${name.join('')}`
      const program = `/${name.slice(0, 1000).join('')}`
      const rows = ['a', 'b'].map((end) =>
        row({ tuple: { path: path + end, host: null, port: null, program: program + end } }),
      )
      await appendRows(store, rows)

      const countOf = async (filter: Partial<EvidenceFilter>) =>
        (await listAll(store, filter)).length
      expect(await countOf({ resource: path })).toBe(2)
      expect(await countOf({ resource: path.slice(0, 512) })).toBe(2)
      expect(await countOf({ resource: `${path}b` })).toBe(1)
      expect(await countOf({ resource: `${path}c` })).toBe(0)
      expect(await countOf({ program: `${program}a` })).toBe(1)
      expect(await countOf({ program })).toBe(0)
    })

    it('finds a part of a target in any case, whatever follows it', async () => {
      const store = current()
      for (const path of ['/ΟΔΟΣΑ/x', '/straße/οδος']) {
        await appendRows(store, [row({ tuple: { path, host: null, port: null } })])
      }

      const found = async (text: string) => (await listAll(store, { text })).length
      expect(await Promise.all(['ΟΔΟΣ', 'οδος', 'οδοσ', 'STRAßE'].map(found))).toEqual([2, 2, 2, 1])
    })

    it('stores and finds U+0000 as U+FFFD, and keeps hostile text as it is', async () => {
      const store = current()
      const path = `/a\0b'"; DROP TABLE records; --\u{202E}\u{1F600}`
      const rules = [{ policy_id: 'p', rule_id: 'r\0', decision: 'deny', origin: 'org' }] as const
      const tuple = { path, host: null, port: null, program: 'x\0', os_user: '\0', rules }
      await appendRows(store, [row({ tuple }), row({ tuple })])

      const clean = (text: string) => text.replaceAll('\0', '\u{FFFD}')
      for (const filter of [
        { text: path },
        { resource: path },
        { program: 'x\0' },
        { rule_id: 'r\0' },
      ]) {
        const [found] = await listAll(store, filter)
        expect(found?.tuple).toMatchObject({
          path: clean(path),
          program: clean('x\0'),
          os_user: '\u{FFFD}',
          rules: [{ rule_id: clean('r\0') }],
        })
      }
      expect(await listAll(store, { username: 'a\0', device_id: '\0', session: '\0' })).toEqual([])
    })
  })
}

/** Rows of three devices in which every filter has some. */
async function fill(store: EvidenceStore): Promise<void> {
  const draw = pseudoRandom(24)
  const pick = <T>(values: readonly T[]): T => values[draw(values.length)] as T
  for (let device = 0; device < 3; device += 1)
    for (let part = 0; part < 3; part += 1)
      await appendRows(
        store,
        Array.from({ length: 60 }, () => {
          const isFile = draw(2) === 0
          return row({
            session: `session-${draw(5)}`,
            last_ms: NOW_MS - draw(4) * DAY_MS - draw(5) * 1000,
            tuple: {
              action: isFile
                ? pick(['file:read', 'file:write'])
                : pick(['connect:tcp', 'connect:udp', null]),
              host: isFile ? null : pick(HOSTS),
              port: isFile ? null : pick([443, 80]),
              path: isFile ? pick(PATHS) : null,
              ...pick([
                { decision: 'allow', reason: 'rule' },
                { decision: 'allow', reason: 'observed' },
                { decision: 'deny', reason: 'default_deny' },
              ] as const),
              program: pick([null, '/usr/bin/node', '/usr/bin/nodejs']),
              rules: Array.from({ length: draw(3) }, () => ({
                policy_id: 'p',
                rule_id: `rule-${draw(3)}`,
                decision: 'allow' as const,
                origin: 'org' as const,
              })),
            },
          })
        }),
        { device_id: `dev_${device}`, username: pick([null, 'user-1', 'user-2']) },
      )
}

/** The meaning of the filter, one row at a time. */
function matches(
  each: Awaited<ReturnType<typeof listAll>>[number],
  filter: EvidenceFilter,
): boolean {
  const { tuple } = each
  const target = tuple.path ?? (tuple.host === null ? null : `${tuple.host}:${String(tuple.port)}`)
  const is = (wanted: string | null, value: string | null) => wanted === null || wanted === value
  return [
    each.last_ms >= filter.fromMs && each.last_ms < filter.toMs,
    is(filter.username, each.username),
    is(filter.device_id, each.device_id),
    is(filter.session, each.session),
    is(filter.decision, tuple.decision),
    filter.actions === null || filter.actions.includes(tuple.action),
    is(filter.program, tuple.program),
    filter.mode === null || (filter.mode === 'audit') === (tuple.reason === 'observed'),
    filter.rule_id === null || tuple.rules.some(({ rule_id }) => rule_id === filter.rule_id),
    filter.resource === null || target?.startsWith(filter.resource) === true,
    filter.text === null || target?.toLowerCase().includes(filter.text.toLowerCase()) === true,
  ].every(Boolean)
}

/** Numbers below a bound, the same in every run. */
function pseudoRandom(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * bound)
  }
}

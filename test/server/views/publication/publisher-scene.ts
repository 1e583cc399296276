import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ViewRef } from '../../../../server/src/views/inspect-view.ts'
import { createViewPublisher } from '../../../../server/src/views/publication/view-publisher.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import type { OpenStore } from '../../store/open-again.ts'

export const NOW = '2026-11-21T08:00:00Z'
export const HOUR_MS = 60 * 60 * 1000
export const TEAM = '11111111-1111-4111-8111-111111111111'
export const BASE: ViewRef = { org: 'acme', id: '0'.repeat(32), teams: [], base: null }
export const OF_TEAM: ViewRef = { org: 'acme', id: 'f'.repeat(32), teams: [TEAM], base: null }

export interface File {
  readonly version: number
  readonly hashes: { readonly sha256: string }
}
export interface Metadata {
  readonly signed: {
    readonly version: number
    readonly expires: string
    readonly 'x-issued': string
    readonly meta: Readonly<Record<string, File | undefined>>
    readonly targets: Readonly<Record<string, unknown>>
  }
}

export const parse = (body: Uint8Array | string): Metadata['signed'] =>
  (JSON.parse(Buffer.from(body).toString()) as Metadata).signed

export function policy(id: string, teams: string[] = []) {
  return { id, org: 'acme', name: id, teams, created_at: NOW, updated_at: NOW }
}

export async function seed(store: Store): Promise<void> {
  await store.transaction(async (writer) => {
    const settings = { entitled: true, resolve_unlisted_names: false, created_at: NOW }
    await writer.organizations.insert({ name: 'acme', ...settings })
    await writer.teams.insert({ id: TEAM, org: 'acme', name: 'backend' })
    await writer.policies.insert(policy('pol_1'))
  })
}

/** The targets that a served timestamp leads to; checks every step. */
export async function follow(store: Store, { org, id }: ViewRef, timestamp: string) {
  const read = async (file: File | undefined, kind: string) => {
    const name = `${file?.version}.${kind}.json`
    const body = await store.read((reader) => reader.views.file(org, id, name, 0))
    if (body === null) throw new Error(`${name} is not there`)
    expect(createHash('sha256').update(body).digest('hex')).toBe(file?.hashes.sha256)
    return parse(body)
  }
  const snapshot = await read(parse(timestamp).meta['snapshot.json'], 'snapshot')
  return { snapshot, targets: await read(snapshot.meta['targets.json'], 'targets') }
}

export function describeRaces(name: string, prepare: () => OpenStore | Promise<OpenStore>): void {
  describe(`two servers ${name}`, () => {
    it('never serve two bodies under one version, or an older one after a newer', async () => {
      const open = await prepare()
      const stores = [await open(), await open()] as const
      for (const store of stores) onTestFinished(() => store.close())
      await seed(stores[0])
      let nowMs = Date.parse(NOW)
      const servers = stores.map((store) => ({
        store,
        publisher: createViewPublisher({ store, now: () => new Date(nowMs) }),
      }))
      const bodies = new Map<string, string>()
      const newest = new Map<string, number>()
      let served = 0

      async function poll(index: number, viewRef: ViewRef): Promise<void> {
        const server = servers[index % 2]
        if (server === undefined) throw new Error('there is no such server')
        // A server sees its own commits at once, those of another server a moment later.
        const floor = index < 2 ? (newest.get(viewRef.id) ?? 0) : 0
        const { body } = await server.publisher.current(viewRef)
        const { version } = parse(body)
        const key = `${viewRef.id} ${version}`
        const text = Buffer.from(body).toString()
        expect(bodies.get(key) ?? text).toBe(text)
        bodies.set(key, text)
        expect(version).toBeGreaterThanOrEqual(floor)
        newest.set(viewRef.id, Math.max(version, newest.get(viewRef.id) ?? 0))
        await follow(server.store, viewRef, body)
        served += 1
      }

      for (let round = 0; round < 8; round += 1) {
        if (round % 3 === 2) nowMs += HOUR_MS
        const id = `pol_x${round}`
        await Promise.all([
          stores[0].transaction((writer) => writer.policies.insert(policy(id))),
          stores[1].transaction((writer) => writer.policies.insert(policy(`${id}t`, [TEAM]))),
          ...[2, 3, 4, 5].flatMap((index) => [poll(index, BASE), poll(index, OF_TEAM)]),
        ])
        for (const index of [0, 1]) await Promise.all([poll(index, BASE), poll(index, OF_TEAM)])
      }

      expect(served).toBe(96)
      for (const [viewRef, policies] of [[BASE, 9] as const, [OF_TEAM, 17] as const])
        await expect
          .poll(async () => {
            const both = servers.map(async ({ store, publisher }) => {
              const { body } = await publisher.current(viewRef)
              return Object.keys((await follow(store, viewRef, body)).targets.targets).length
            })
            return Promise.all(both)
          })
          .toEqual([policies, policies])
    })
  })
}

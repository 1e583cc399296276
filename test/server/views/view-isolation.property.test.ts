import type { Bundle } from '@palisade/protocol'
import * as fc from 'fast-check'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createDeviceTokens } from '../../../server/src/identity/device/device-tokens.ts'
import {
  createViewService,
  type Requested,
  type ViewService,
} from '../../../server/src/views/view-service.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store, StoreWriter } from '../../../server/src/store/store.ts'
import { casesOfRun } from '../../lanes/run-size.ts'
import { rollout } from '../history/audit/audited-rollout-writes.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00Z'
const TEAMS = [0, 1, 2, 3] as const
/** A policy that a rollout holds back from all machines. */
const NEWER = 'policy 9.'
const tokens = createDeviceTokens({
  key: randomBytes(32),
  lifeSeconds: 60,
  now: () => new Date(NOW),
})

/** Teams by number, for each policy and each user. */
interface World {
  readonly policies: readonly (readonly number[])[]
  readonly users: readonly (readonly number[])[]
  /** Whether a rollout started with these policies, which were then replaced by another. */
  readonly isHeldBack: boolean
}

const someTeams = fc.uniqueArray(fc.constantFrom(...TEAMS))
const worlds: fc.Arbitrary<World> = fc.record({
  policies: fc.array(someTeams, { maxLength: 6 }),
  users: fc.array(someTeams, { minLength: 1, maxLength: 4 }),
  isHeldBack: fc.boolean(),
})

interface Machine {
  readonly teams: readonly number[]
  readonly header: string
}

interface Furnished {
  readonly org: string
  readonly teamIds: readonly string[]
  readonly machines: readonly Machine[]
}

describe('the views of an organization', () => {
  it('show each machine only its own policies, without revealing that others exist', async () => {
    const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => store.close())
    const service = createViewService({
      store,
      now: () => new Date(NOW),
      random: (bytes) => randomBytes(bytes),
      tokens,
      lastSeen: { record: () => undefined },
    })

    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const furnished = await furnish(store, world)
        const seen = await Promise.all(
          furnished.machines.map(({ header }) => fetchAll(service, header)),
        )
        for (const [index, machine] of furnished.machines.entries()) {
          const own = seen[index]
          if (own === undefined) throw new Error('nothing was fetched')
          expectOwn(world, furnished, machine, own)
          for (const other of seen) await expectOther(service, machine, own, other)
        }
      }),
      { numRuns: casesOfRun(25) },
    )
  })
})

function expectOwn(world: World, { teamIds }: Furnished, { teams }: Machine, own: Seen): void {
  const isFor = (policy: readonly number[]) =>
    policy.length === 0 || policy.some((team) => teams.includes(team))
  const names = world.policies.map((policy, index) => [`policy ${index}.`, isFor(policy)] as const)

  const everything = [...own.metadata, ...own.documents.values()].join('\n')
  expect(own.documents.size).toBe(names.filter(([, isOwn]) => isOwn).length)
  for (const [name, isOwn] of names) expect(everything.includes(name), name).toBe(isOwn)
  for (const [index] of world.policies.entries())
    expect(own.metadata.join().includes(idOf(index)), idOf(index)).toBe(
      isFor(world.policies[index] ?? []),
    )
  for (const id of teamIds) expect(everything).not.toContain(id)
  expect(everything).not.toContain(NEWER)
}

/** Another machine's view exists for a machine only if it is the same view. */
async function expectOther(
  service: ViewService,
  { header }: Machine,
  own: Seen,
  other: Seen,
): Promise<void> {
  const statusOf = (work: Promise<unknown>) =>
    work.then(
      () => 200,
      (error: unknown) => (error as { status?: number }).status,
    )
  const isOwn = own.viewRef.view === other.viewRef.view
  // A claim to hold files of another view is ignored.
  const sent = await fetchDocuments(service, header, other)
  expect(sent).toEqual(isOwn ? new Map() : own.documents)
  expect(await statusOf(service.timestamp(header, other.viewRef, null))).toBe(isOwn ? 200 : 404)
  for (const path of other.documents.keys()) {
    expect(await statusOf(service.document(header, other.viewRef, path))).toBe(isOwn ? 200 : 404)
    const expected = own.documents.has(path) ? 200 : 404
    expect(await statusOf(service.document(header, own.viewRef, path))).toBe(expected)
  }
}

const ASKED = { heldVersion: 0, nonce: null }

/** All files reachable from the timestamp, as text. */
interface Seen {
  /** Version of the targets file. */
  readonly targets: number
  readonly viewRef: Requested
  readonly metadata: readonly string[]
  readonly documents: ReadonlyMap<string, string>
}

async function fetchAll(service: ViewService, header: string): Promise<Seen> {
  const viewRef = (await service.assign(header, ASKED)).signed
  const text = async (name: string) =>
    Buffer.from(await service.metadata(header, viewRef, name)).toString()
  const timestamp = Buffer.from((await service.timestamp(header, viewRef, null)).body).toString()
  const snapshot = await text(`${versionOf(timestamp, 'snapshot.json')}.snapshot.json`)
  const version = versionOf(snapshot, 'targets.json')
  const targets = await text(`${version}.targets.json`)
  const documents = new Map<string, string>()
  const { signed } = JSON.parse(targets) as {
    signed: { targets: Record<string, { hashes: { sha256: string } }> }
  }
  for (const [name, { hashes }] of Object.entries(signed.targets)) {
    const path = name.replace('/', `/${hashes.sha256}.`)
    const body = await service.document(header, viewRef, path)
    expect(createHash('sha256').update(body).digest('hex')).toBe(hashes.sha256)
    documents.set(path, Buffer.from(body).toString())
  }
  const metadata = [timestamp, snapshot, targets, await text('1.root.json')]
  return { viewRef, targets: version, metadata, documents }
}

/** The files of an update for a machine that claims to hold those of a view. */
async function fetchDocuments(
  service: ViewService,
  header: string,
  { viewRef: { view }, targets }: Seen,
): Promise<ReadonlyMap<string, string>> {
  const held = { view, root: 1, targets }
  const { body } = await service.update(header, {
    held,
    assignment: ASKED,
    issuedAfterMs: null,
    hasTag: () => false,
  })
  const { files } = JSON.parse(body ?? '') as Bundle
  const below = 'targets/'
  const documents = Object.entries(files).filter(([name]) => name.startsWith(below))
  return new Map(documents.map(([name, text]) => [name.slice(below.length), text]))
}

function versionOf(metadata: string, name: string): number {
  const { signed } = JSON.parse(metadata) as {
    signed: { meta: Record<string, { version: number }> }
  }
  return signed.meta[name]?.version ?? 0
}

function furnish(store: Store, { policies, users, isHeldBack }: World): Promise<Furnished> {
  const org = `org-${randomUUID()}`
  const teamIds = TEAMS.map(() => randomUUID())
  const teamsOf = (numbers: readonly number[]) => numbers.map((team) => teamIds[team] ?? '')
  return store.transaction(async (writer) => {
    await writer.organizations.insert({
      name: org,
      entitled: true,
      resolve_unlisted_names: false,
      created_at: NOW,
    })
    for (const id of teamIds) await writer.teams.insert({ id, org, name: id })
    for (const [index, numbers] of policies.entries())
      await writer.policies.insert({
        id: `${idOf(index)}${randomUUID()}`,
        org,
        name: `policy ${index}.`,
        teams: teamsOf(numbers),
        created_at: NOW,
        updated_at: NOW,
      })
    const machines: Machine[] = [{ teams: [], header: await enrol(writer, org, null) }]
    for (const teams of users) {
      const username = `user-${randomUUID()}`
      await writer.users.insert({
        username,
        password_hash: null,
        created_at: NOW,
      })
      await writer.memberships.insert({ org, username, role: 'member' })
      for (const id of teamsOf(teams)) await writer.teams.addMember(org, id, username)
      machines.push({ teams, header: await enrol(writer, org, username) })
    }
    if (isHeldBack) await replacePolicies(writer, org)
    return { org, teamIds, machines }
  })
}

/** Within a rollout that reaches no machine. */
async function replacePolicies(writer: StoreWriter, org: string): Promise<void> {
  const base = await writer.policies.listWithRules(org)
  const { revision = 0 } = (await writer.organizations.find(org)) ?? {}
  const started = { ...rollout(randomUUID()), org, base_revision: revision }
  await writer.rollouts.insert(started)
  for (const { id } of base) await writer.policies.delete(org, id)
  const times = { created_at: NOW, updated_at: NOW }
  const id = `${idOf(9)}${randomUUID()}`
  await writer.policies.insert({ id, org, name: NEWER, teams: [], ...times })
}

async function enrol(writer: StoreWriter, org: string, username: string | null): Promise<string> {
  const [id, thumbprint] = [randomUUID(), randomUUID()]
  await writer.devices.insert({
    id,
    org,
    username,
    thumbprint,
    name: null,
    labels: [],
    enrolment_token_id: null,
    created_at: NOW,
    revoked_at: null,
  })
  return `DPoP ${tokens.issue({ id, thumbprint })}`
}

function idOf(index: number): string {
  return `pol_${index}_`
}

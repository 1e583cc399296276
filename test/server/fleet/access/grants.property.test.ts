import { startInProcess } from '../../in-process-worker.ts'
import { PERMISSIONS, type AccessGrant } from '@palisade/protocol'
import * as fc from 'fast-check'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAccessExpiry } from '../../../../server/src/fleet/access/access-expiry.ts'
import {
  createAccessService,
  type AccessService,
} from '../../../../server/src/fleet/access/access-service.ts'
import { endMemberAccess } from '../../../../server/src/organizations/end-member-access.ts'
import { createWorkBudget } from '../../../../server/src/work/work-budget.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { createDeviceTokens } from '../../../../server/src/identity/device/device-tokens.ts'
import type { Caller } from '../../../../server/src/identity/principal.ts'
import { ApiError } from '../../../../server/src/platform/api-error.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import { createViewService, type ViewService } from '../../../../server/src/views/view-service.ts'
import { casesOfRun } from '../../../lanes/run-size.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const START_MS = Date.parse('2026-11-21T08:00:00.250Z')
const MINUTE_MS = 60_000
/** A request lapses after so long. */
const LAPSE_MS = 24 * 60 * MINUTE_MS
const USERS = ['ann', 'bob'] as const
const SERVERS = [0, 1] as const
const WHICH = fc.nat({ max: 5 })

type Step =
  | { readonly do: 'ask'; readonly user: number; readonly minutes: number }
  | { readonly do: 'approve' | 'reject' | 'revoke' | 'withdraw'; readonly which: number }
  | { readonly do: 'wait'; readonly minutes: number }
  | { readonly do: 'end' | 'restart' }
  | { readonly do: 'leave'; readonly user: number }

const user = fc.nat({ max: USERS.length - 1 })
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        user,
        minutes: fc.integer({ min: 1, max: 90 }),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constantFrom('approve', 'approve', 'reject', 'revoke', 'withdraw'),
        which: WHICH,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        minutes: fc.constantFrom(0, 1, 5, 30, 90, 25 * 60),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'restart' as const) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), user }) },
  ),
  { minLength: 4, maxLength: 25 },
)

interface Modelled {
  readonly id: string
  readonly user: number
  readonly askedMs: number
  readonly minutes: number
  state: 'pending' | 'approved' | 'ended'
  /** End of the grant. */
  untilMs: number
}

describe('grants', () => {
  it('are in the assignments while they are approved and last, and in no other', async () => {
    const path = join(temporaryDirectory(), 'server.db')
    // Checkpoints of a large log would start a thread.
    const store = openSqliteStore(path, 'create', undefined, startInProcess)
    onTestFinished(() => store.close())

    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const run = await openRun(store)
        for (const step of all) {
          await run.take(step)
          await run.expectAssignments()
        }
        await run.close()
      }),
      { numRuns: casesOfRun(200) },
    )
  })
})

async function openRun(store: Store) {
  let nowMs = START_MS
  const now = () => new Date(nowMs)
  const random = (bytes: number) => randomBytes(bytes)
  const org = `org-${randomUUID()}`
  const tokens = createDeviceTokens({ key: randomBytes(32), lifeSeconds: 1e8, now })
  const audited = createAuditedStore({ store, now })
  const open = (): ViewService =>
    createViewService({ store, now, random, tokens, lastSeen: { record: () => undefined } })
  const servers = SERVERS.map(open)
  const evidence = { list: async () => ({ rows: [], next: null }) }
  const service: AccessService = createAccessService({
    startProcess: startInProcess,
    store: audited,
    evidence,
    now,
    random,
    writeLimits: { countOwn: () => {}, countOwnOf: () => {} },
    budget: createWorkBudget(),
    pageTokenKey: new Uint8Array(32),
  })
  const expiry = createAccessExpiry({
    store: audited,
    now,
    log: { error: (details: unknown) => expect.fail(String(details)) } as never,
  })
  const { headers, devices } = await furnish(store, org, tokens)
  const model: Modelled[] = []
  /** Grants by the version that they were signed with. */
  const signed = new Map<string, readonly AccessGrant[]>()
  const held = USERS.map(() => 0)

  const callerOf = (name: string): Caller => ({
    kind: 'user',
    username: name,
    tokenId: null,
    rootTokenId: null,
    permissions: PERMISSIONS,
    author: { actor: `user:${name}`, address: null, request_id: null },
  })
  const owner = callerOf('olga')
  const isLasting = ({ state, untilMs }: Modelled) => state === 'approved' && untilMs > nowMs

  /** One version has one set of grants, but for those that have ended. */
  async function fetch(index: number, server: number, heldVersion: number) {
    const service = servers[server]
    if (service === undefined) throw new Error('no server')
    const sent = (await service.assign(headers[index], { heldVersion, nonce: null })).signed
    const { version } = sent
    const grants = (sent.grants ?? []) as AccessGrant[]
    const key = `${index} ${version}`
    const before = signed.get(key) ?? grants
    signed.set(key, before)
    expect(grants).toEqual(before.filter(({ expires_at }) => Date.parse(expires_at) > nowMs))
    return { version, grants }
  }

  async function grantsOf(index: number, server: number): Promise<readonly AccessGrant[]> {
    const { version, grants } = await fetch(index, server, held[index] ?? 0)
    expect(version).toBeGreaterThanOrEqual(held[index] ?? 0)
    held[index] = version
    return grants
  }

  async function decide(step: 'approve' | 'reject' | 'revoke' | 'withdraw', request: Modelled) {
    const place = { org, id: request.id }
    const is = (state: Modelled['state']) => request.state === state
    const isWaiting = is('pending') && nowMs < request.askedMs + LAPSE_MS
    const isAllowed = step === 'revoke' ? isLasting(request) : isWaiting
    const work = {
      approve: () => service.approve(owner, place, {}),
      reject: () => service.reject(owner, place, 'no'),
      revoke: () => service.revoke(owner, place, 'no more'),
      withdraw: () => service.withdraw(callerOf(USERS[request.user] ?? ''), place),
    }[step]
    // Machines fetch in between, from both servers.
    const [outcome] = await Promise.all([
      work().then(
        () => 'done',
        (error: unknown) => (error instanceof ApiError ? error.status : String(error)),
      ),
      ...SERVERS.map((server) => fetch(request.user, server, 0)),
    ])
    expect(outcome, step).toBe(isAllowed ? 'done' : 409)
    if (!isAllowed) return
    request.state = step === 'approve' ? 'approved' : 'ended'
    request.untilMs = Math.floor(nowMs / 1000) * 1000 + request.minutes * MINUTE_MS
  }

  return {
    async take(step: Step): Promise<void> {
      switch (step.do) {
        case 'ask': {
          const open = model.filter((each) => each.user === step.user && each.state === 'pending')
          if (open.length >= 8) return
          const answer = await service.requestFor(
            {
              org,
              username: USERS[step.user] ?? '',
              device_id: devices[step.user] ?? '',
              author: callerOf(USERS[step.user] ?? '').author,
            },
            {
              action: 'connect:tcp',
              resources: ['a.example.com:443'],
              duration_seconds: step.minutes * 60,
              reason: 'a release',
            },
          )
          const { id } = answer
          const times = { askedMs: nowMs, minutes: step.minutes, untilMs: 0 }
          model.push({ id, user: step.user, state: 'pending', ...times })
          return
        }
        case 'wait':
          nowMs += step.minutes * MINUTE_MS
          return
        case 'end':
          return expiry.endDue()
        case 'restart':
          await servers[1]?.close()
          servers[1] = open()
          return
        case 'leave':
          await audited.write(owner.author, (writer) =>
            endMemberAccess(
              writer,
              { org, username: USERS[step.user] ?? '' },
              { now: now(), actor: 'user:olga' },
            ),
          )
          for (const each of model) if (each.user === step.user) each.state = 'ended'
          return
        default: {
          const request = model[step.which]
          if (request !== undefined && model.filter(isLasting).length < 9)
            await decide(step.do, request)
        }
      }
    },
    async expectAssignments(): Promise<void> {
      for (const index of USERS.keys()) {
        const lasting = model.filter((each) => each.user === index && isLasting(each))
        const ids = lasting.map(({ id }) => id).toSorted()
        for (const server of SERVERS)
          expect((await grantsOf(index, server)).map(({ id }) => id)).toEqual(ids)
      }
    },
    async close(): Promise<void> {
      for (const server of servers) await server.close()
    },
  }
}

/** An organization with an owner, two members and a machine of each; returns their headers. */
async function furnish(
  store: Store,
  org: string,
  tokens: ReturnType<typeof createDeviceTokens>,
): Promise<{ readonly headers: readonly string[]; readonly devices: readonly string[] }> {
  const created_at = new Date(START_MS).toISOString()
  return store.transaction(async (writer) => {
    const settings = { entitled: true, resolve_unlisted_names: false, created_at }
    await writer.organizations.insert({ name: org, ...settings })
    const headers: string[] = []
    const devices: string[] = []
    for (const username of ['olga', ...USERS]) {
      if ((await writer.users.find(username)) === null)
        await writer.users.insert({ username, password_hash: null, created_at })
      const role = username === 'olga' ? ('owner' as const) : ('member' as const)
      await writer.memberships.insert({ org, username, role })
    }
    for (const username of USERS) {
      const id = randomUUID()
      const thumbprint = `hash of ${id}`
      await writer.devices.insert({
        id,
        org,
        username,
        thumbprint,
        name: null,
        labels: [],
        enrolment_token_id: null,
        created_at,
        revoked_at: null,
      })
      devices.push(id)
      headers.push(`DPoP ${tokens.issue({ id, thumbprint })}`)
    }
    return { headers, devices }
  })
}

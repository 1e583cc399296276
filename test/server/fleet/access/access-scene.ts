import type { AccessGrant, DeviceView, ReviewedAccessRequest } from '@palisade/protocol'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, expect } from 'vitest'
import { createAccessExpiry } from '../../../../server/src/fleet/access/access-expiry.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, headersOf, TEST_ORIGIN, type TestDevice } from '../../test-device.ts'
import type { AtEnd } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

export const PASSWORD = 'correct horse battery staple'
export const WANTED = {
  action: 'connect:tcp',
  resources: ['registry.example.com:443'],
  duration_seconds: 3600,
  reason: 'build of the release needs it',
} as const

/** An organization with a member, a machine of the member, and an owner who answers. */
export interface AccessScene {
  readonly org: string
  readonly paths: { readonly org: string; readonly requests: string; readonly policies: string }
  /** User names of the owner and the member. */
  readonly names: { readonly alice: string; readonly bob: string }
  readonly owner: Owner
  /** The access token of the member. */
  readonly bob: string
  /** A machine of the member. */
  readonly device: TestDevice
  post(path: string, as: string, payload?: object): Promise<LightMyRequestResponse>
  /** Asks as the member; returns the id of the request. */
  ask(changes?: object, as?: string): Promise<string>
  approve(id: string, changes?: object, as?: string): Promise<ReviewedAccessRequest>
  get(id: string, as?: string): Promise<ReviewedAccessRequest>
  assignment(as?: TestDevice): Promise<DeviceView['signed']>
  grants(as?: TestDevice): Promise<readonly AccessGrant[]>
  /** Ends the requests that are due, as the background task does. */
  endDue(): Promise<void>
  /** Kinds of the events about access, in their order. */
  kinds(): Promise<string[]>
}

/** Opens the server of a file, or of one test. */
export function openAccessServer(atEnd: AtEnd = afterAll): Promise<TestServer> {
  return openTestServer(atEnd, { settings: { PALISADE_PUBLIC_URL: TEST_ORIGIN } })
}

export async function openAccessScene(test: TestServer): Promise<AccessScene> {
  const org = freshName('acme')
  const names = { alice: freshName('alice'), bob: freshName('bob') }
  const base = `/api/v1/orgs/${org}`
  const requests = `${base}/access-requests`
  const paths = { org: base, requests, policies: `/v2/orgs/${org}/governance/policies` }
  const owner = await openOwner(test, org, names.alice)
  const bob = await owner.addMember(names.bob, 'member', PASSWORD)
  const device = await enrolTestDevice(test, bob, org, { user: names.bob })
  const audited = createAuditedStore({ store: test.store, now: () => new Date(test.now()) })
  const log = { error: (details: unknown) => expect.fail(JSON.stringify(details)) }
  const expiry = createAccessExpiry({
    store: audited,
    now: () => new Date(test.now()),
    log: log as never,
  })

  const post = (path: string, as: string, payload?: object) =>
    test.send('POST', path, { as, ...(payload === undefined ? {} : { payload }) })
  const assignment = async (as = device) => {
    const url = '/api/v1/device/view'
    const answer = await test.send('GET', url, { headers: headersOf(as, 'GET', url) })
    expect(answer.statusCode, answer.body).toBe(200)
    return answer.json<DeviceView>().signed
  }

  return {
    org,
    paths,
    names,
    owner,
    bob,
    device,
    post,
    assignment,
    async ask(changes = {}, as = bob) {
      const made = await post(requests, as, { ...WANTED, ...changes })
      expect(made.statusCode, made.body).toBe(201)
      return made.json<{ id: string }>().id
    },
    async approve(id, changes = {}, as = owner.as) {
      const answer = await post(`${requests}/${id}/approve`, as, changes)
      expect(answer.statusCode, answer.body).toBe(200)
      return answer.json()
    },
    async get(id, as = owner.as) {
      const answer = await test.send('GET', `${requests}/${id}`, { as })
      expect(answer.statusCode, answer.body).toBe(200)
      return answer.json()
    },
    async grants(as = device) {
      return ((await assignment(as)).grants ?? []) as AccessGrant[]
    },
    endDue: () => expiry.endDue(),
    async kinds() {
      const { data } = (await test.send('GET', `${base}/events`, { as: owner.as })).json<{
        data: { kind: string }[]
      }>()
      return data.map(({ kind }) => kind).filter((kind) => kind.startsWith('access.'))
    },
  }
}

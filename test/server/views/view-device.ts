import type { DeviceView } from '@palisade/protocol'
import type { LightMyRequestResponse } from 'fastify'
import { z } from 'zod'
import { fetchDeviceToken, type TestDevice } from '../test-device.ts'
import type { TestServer } from '../test-server.ts'

const fileSchema = z.object({
  version: z.int(),
  length: z.int(),
  hashes: z.object({ sha256: z.string() }),
})
const common = {
  version: z.int().positive(),
  expires: z.string(),
  'x-org': z.string(),
  'x-view': z.string(),
}
const timestampSchema = z.object({
  signed: z.object({
    ...common,
    'x-issued': z.string(),
    meta: z.object({ 'snapshot.json': fileSchema }),
  }),
})
const snapshotSchema = z.object({
  signed: z.object({
    version: z.int(),
    expires: z.string(),
    meta: z.object({ 'targets.json': fileSchema }),
  }),
})
const targetsSchema = z.object({
  signed: z.object({
    ...common,
    'x-settings': z.record(z.string(), z.unknown()),
    targets: z.record(
      z.string(),
      fileSchema.omit({ version: true }).extend({ custom: z.record(z.string(), z.unknown()) }),
    ),
  }),
})

export type Timestamp = z.infer<typeof timestampSchema>['signed']
export type Targets = z.infer<typeof targetsSchema>['signed']

const TOKEN_MS = 30 * 60 * 1000

/** A machine that verifies nothing; the test checks the answers. */
export interface ViewDevice {
  readonly org: string
  readonly view: string
  readonly base: string
  /** A path below the view. */
  get(path: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  timestamp(): Promise<Timestamp>
  /** The targets, found through timestamp and snapshot. */
  targets(): Promise<Targets>
  /** The documents of the view in the order of their names. */
  policies(): Promise<{ readonly id: string; readonly name: string }[]>
}

/** The current assignment. */
export async function openViewDevice(
  test: Pick<TestServer, 'send' | 'now'>,
  machine: TestDevice,
): Promise<ViewDevice> {
  let as = machine
  let asOfMs = test.now()
  /** Renews the token long before it expires, like agents. */
  async function renew(): Promise<void> {
    if (test.now() - asOfMs < TOKEN_MS) return
    as = { ...as, token: await fetchDeviceToken(test, as.prove) }
    asOfMs = test.now()
  }

  const assigned = await test.send('GET', '/api/v1/device/view', { as })
  if (assigned.statusCode !== 200) throw new Error(assigned.body)
  const { org, view } = assigned.json<DeviceView>().signed
  const base = `/api/v1/orgs/${org}/views/${view}`
  async function get(path: string, headers: Record<string, string> = {}) {
    await renew()
    return test.send('GET', `${base}/${path}`, { as, headers })
  }

  async function read<T>(path: string, schema: z.ZodType<{ signed: T }>): Promise<T> {
    const answer = await get(`metadata/${path}`)
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.body}`)
    return schema.parse(answer.json()).signed
  }

  const timestamp = () => read('timestamp.json', timestampSchema)
  async function targets(): Promise<Targets> {
    const { version } = (await timestamp()).meta['snapshot.json']
    const snapshot = await read(`${version}.snapshot.json`, snapshotSchema)
    return read(`${snapshot.meta['targets.json'].version}.targets.json`, targetsSchema)
  }

  return {
    org,
    view,
    base,
    get,
    timestamp,
    targets,
    async policies() {
      const listed = Object.entries((await targets()).targets)
      const bodies = listed.map(async ([name, { hashes }]) => {
        const answer = await get(`targets/${name.replace('/', `/${hashes.sha256}.`)}`)
        return answer.json<{ id: string; name: string }>()
      })
      return Promise.all(bodies)
    },
  }
}

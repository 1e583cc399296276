import type { Rollout, RolloutStatus } from '@palisade/protocol'
import { expect } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, type TestDevice } from '../../test-device.ts'
import type { AtEnd } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { openViewDevice } from '../../views/view-device.ts'

export const STAGES = [{ label: 'canary' }, { percent: 100 }]

/** An organization with a machine in the first stage and one outside. */
export interface RolloutScene {
  readonly test: TestServer
  readonly org: string
  readonly paths: { readonly org: string; readonly rollouts: string; readonly policies: string }
  /** The user name of the owner. */
  readonly username: string
  readonly owner: Owner
  readonly ring: TestDevice
  readonly other: TestDevice
  /** Enrols a machine with the labels; a `user` of null means no user. */
  enrol(labels: readonly string[], user?: string): Promise<TestDevice>
  label(device: TestDevice, labels: readonly string[]): Promise<void>
  createPolicy(name: string, scope?: object): Promise<string>
  start(request?: object): Promise<Rollout>
  /** Posts to the rollout; expects 200. */
  take(rollout: Rollout, action: string, payload?: object): Promise<Rollout>
  status(rollout: Rollout): Promise<RolloutStatus>
  /** The policies that a machine would enforce now. */
  enforced(device: TestDevice): Promise<{ readonly names: string[]; readonly revision: number }>
  revision(): Promise<number>
  /** Stores a machine's report as a server writes it. */
  report(device: TestDevice, revision: number, code?: string): Promise<void>
}

/** Opens the server of a file. */
export function openRolloutServer(atEnd: AtEnd): Promise<TestServer> {
  const settings = { PALISADE_ACCESS_TOKEN_MINUTES: '60', PALISADE_DEVICE_TOKEN_MINUTES: '60' }
  return openTestServer(atEnd, { settings })
}

export async function openRolloutScene(test: TestServer): Promise<RolloutScene> {
  const [org, username] = [freshName('acme'), freshName('alice')]
  const owner = await openOwner(test, org, username)
  const { as } = owner
  const base = `/api/v1/orgs/${org}`
  const policies = `/v2/orgs/${org}/governance/policies`
  const paths = { org: base, rollouts: `${base}/rollouts`, policies }

  async function label({ enrolment }: TestDevice, labels: readonly string[]): Promise<void> {
    const url = `${paths.org}/devices/${enrolment.device_id}`
    const answer = await test.send('PATCH', url, { as, payload: { labels } })
    expect(answer.statusCode, answer.body).toBe(200)
  }
  async function enrol(labels: readonly string[], user?: string): Promise<TestDevice> {
    const device = await enrolTestDevice(test, as, org, user === undefined ? {} : { user })
    if (labels.length > 0) await label(device, labels)
    return device
  }
  const scene = {
    test,
    org,
    paths,
    username,
    owner,
    enrol,
    label,
    async createPolicy(name: string, scope: object = {}) {
      const answer = await test.send('POST', paths.policies, { as, payload: { name, scope } })
      expect(answer.statusCode, answer.body).toBe(201)
      return answer.json<{ id: string }>().id
    },
    async start(request: object = {}) {
      const payload = { stages: STAGES, max_rejected: { machines: 0 }, ...request }
      const answer = await test.send('POST', paths.rollouts, { as, payload })
      expect(answer.statusCode, answer.body).toBe(201)
      return answer.json<Rollout>()
    },
    async take({ id }: Rollout, action: string, payload?: object) {
      const body = payload === undefined ? {} : { payload }
      const answer = await test.send('POST', `${paths.rollouts}/${id}/${action}`, { as, ...body })
      expect(answer.statusCode, answer.body).toBe(200)
      return answer.json<Rollout>()
    },
    async status({ id }: Rollout) {
      const answer = await test.send('GET', `${paths.rollouts}/${id}`, { as })
      expect(answer.statusCode, answer.body).toBe(200)
      return answer.json<RolloutStatus>()
    },
    async enforced(device: TestDevice) {
      const view = await openViewDevice(test, device)
      const names = (await view.policies()).map(({ name }) => name).toSorted()
      return { names, revision: Number((await view.targets())['x-settings']['revision']) }
    },
    async revision() {
      return (await test.send('GET', paths.org, { as })).json<{ revision: number }>().revision
    },
    async report({ enrolment: { device_id } }: TestDevice, revision: number, code?: string) {
      const reported_at = new Date(test.now()).toISOString()
      const error = { error_code: code ?? null, error_detail: code === undefined ? null : '' }
      const state = code === undefined ? ('fresh' as const) : ('rejected' as const)
      const grant = { grant_id: null, grant_begun_at: null }
      const enforced = { proxy_enforcement: null, assurance: null, policy_digest: null }
      const machine = { device_id, agent_version: '0.1.0', ...grant, ...enforced }
      const report = { ...machine, reported_at, revision, state, ...error }
      await test.store.transaction((writer) => writer.deviceReports.put([report]))
    },
  }
  await scene.createPolicy('first')
  return { ...scene, ring: await enrol(['canary']), other: await enrol(['x']) }
}

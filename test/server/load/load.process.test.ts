import { createDeviceKey, createProver } from '@palisade/client'
import { deviceViewSchema } from '@palisade/protocol'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { casesOfRun } from '../../lanes/run-size.ts'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** `PALISADE_CASES=300` makes this ten minutes. */
const SECONDS = casesOfRun(2)
/** Requests a second, evenly spaced: half the capacity of a small machine that runs the client. */
const RATE = 200
/** Every twentieth request is a write. */
const WRITE_EVERY = 20
/** Growth of resident memory in an hour, computed from the second half of a run. */
const MOST_MIB_AN_HOUR = 120
/** In shorter runs the growth of caches and heap to their normal size dominates the slope. */
const LEAST_SECONDS_FOR_SLOPE = 600
const MOST_MIB = 400
/**
 * V8 doubles its young generation, up to 64 MiB, when many objects survive. A step of 32 MiB in the
 * second half of a run would look like a leak, so the size is limited.
 */
const YOUNG_GENERATION = '--max-semi-space-size=8'

it(
  'a steady load causes no errors and no growth of memory',
  async () => {
    const settings = { PALISADE_DATA_DIR: join(temporaryDirectory(), 'data') }
    const init = await runServerCommand(
      ['init', '--org', 'acme', '--owner', 'alice', '--json'],
      settings,
    )
    const { personal_token: secret } = JSON.parse(init.stdout) as { personal_token: string }
    const server = await startServerProcess({
      ...settings,
      PALISADE_LOG_LEVEL: 'info',
      NODE_OPTIONS: YOUNG_GENERATION,
    })
    const client = await openClient(server.url, secret)
    const latenciesMs: number[] = []
    const memory: { readonly second: number; readonly mib: number }[] = []
    const running = new Set<Promise<void>>()
    const start = performance.now()
    for (let sent = 0; sent < SECONDS * RATE; sent += 1) {
      const due = start + (sent * 1000) / RATE
      const earlyMs = due - performance.now()
      if (earlyMs > 0) await pause(earlyMs)
      // Before the access token expires.
      if (sent % (RATE * 300) === 0) await client.signIn()
      if (sent % RATE === 0) memory.push({ second: sent / RATE, mib: residentMib(server.pid) })
      // Measured from the scheduled time, so that a blocked server shows in the latencies.
      const request = client
        .send(sent)
        .then(() => void latenciesMs.push(performance.now() - due))
        .finally(() => running.delete(request))
      running.add(request)
    }
    await Promise.all(running)

    const sorted = latenciesMs.toSorted((a, b) => a - b)
    const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)
    const settled = memory.slice(Math.floor(memory.length / 2))
    const growth = slope(settled) * 3600
    const most = Math.max(...memory.map(({ mib }) => mib))
    process.stdout.write(
      `load: ${SECONDS} s of ${RATE} requests/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ` +
        `p99.9 ${at(0.999)} ms, at most ${most.toFixed(0)} MiB resident, ` +
        `${growth.toFixed(1)} MiB an hour over the second half\n`,
    )
    expect(sorted).toHaveLength(SECONDS * RATE)
    expect(most).toBeLessThan(MOST_MIB)
    expect(SECONDS < LEAST_SECONDS_FOR_SLOPE || growth < MOST_MIB_AN_HOUR).toBe(true)
  },
  300_000 + SECONDS * 2_000,
)

/** Sends the polls, reads and writes of one machine and one administrator on one policy. */
async function openClient(origin: string, secret: string) {
  const api = `${origin}/v2/orgs/acme/governance/policies`
  let token = ''
  const ask = async (
    expected: number,
    url: string,
    method = 'GET',
    payload?: object,
    proof: { dpop?: string } = {},
  ) => {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...proof,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
    })
    const text = await response.text()
    if (response.status !== expected) throw new Error(`${method} ${url}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }
  const signIn = async (): Promise<void> => {
    const credentials = { username: 'alice', password: secret }
    const answer = await ask(200, `${origin}/v2/auth/token`, 'POST', credentials)
    token = String(answer['access_token'])
  }
  await signIn()
  const policy = `${api}/${String((await ask(201, api, 'POST', { name: 'loaded' }))['id'])}`
  const devices = `${origin}/api/v1/orgs/acme/devices`
  const prove = createProver(createDeviceKey(), Date.now)
  await ask(201, devices, 'POST', {}, { dpop: prove({ method: 'POST', url: devices }) })
  const authorize = async (): Promise<string> => {
    const url = `${origin}/api/v1/device/token`
    const issued = await ask(200, url, 'POST', undefined, { dpop: prove({ method: 'POST', url }) })
    return String(issued['access_token'])
  }
  let device = await authorize()

  const viewUrl = `${origin}/api/v1/device/view`
  const dpop = prove({ method: 'GET', url: viewUrl, accessToken: device })
  const headers = { authorization: `DPoP ${device}`, dpop }
  const assigned = await fetch(viewUrl, { headers })
  const { view } = deviceViewSchema.parse(await assigned.json()).signed
  const timestamp = `${origin}/api/v1/orgs/acme/views/${view}/metadata/timestamp.json`

  async function poll(): Promise<void> {
    const response = await fetch(timestamp, { headers: { authorization: `DPoP ${device}` } })
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`a poll was answered ${response.status}`)
  }

  return {
    async signIn() {
      await signIn()
      device = await authorize()
    },
    async send(index: number): Promise<void> {
      if (index % WRITE_EVERY === 0)
        await ask(200, policy, 'PATCH', { name: `loaded ${String(index)}` })
      else if (index % 4 === 0) await ask(200, api)
      else if (index % 4 === 1) await ask(200, policy)
      else await poll()
    },
  }
}

/** Resident memory of the process, as counted by the kernel. */
function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** Slope by least squares, in MiB a second. */
function slope(points: readonly { readonly second: number; readonly mib: number }[]): number {
  const mean = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [second, mib] = [mean((point) => point.second), mean((point) => point.mib)]
  const covariance = mean((point) => (point.second - second) * (point.mib - mib))
  const variance = mean((point) => (point.second - second) ** 2)
  return variance === 0 ? 0 : covariance / variance
}

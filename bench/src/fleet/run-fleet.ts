import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeMachine } from '../report/describe-machine.ts'
import { createSchedule } from '../../../agent/src/sync/update/timetable.ts'
import type { SyncOutcome } from '../../../agent/src/sync/update/synchronizer.ts'
import { startServer } from '../server/cases/request-rows.ts'
import { freePort } from '../server/free-port.ts'
import type { MeasuredProcess } from '../server/measured-process.ts'
import { signIn, type SignedIn } from '../server/requests.ts'
import { createLightAgent, createWholeAgent } from './agents.ts'
import { isOneOf, PERIOD_MS, SCHEDULE, type Extent } from './extent.ts'
import { fillFleet, type FilledFleet, type FleetDevice } from './fill-fleet.ts'
import { rootOf, type LightState } from './light-channel.ts'
import { observe, type Sample } from './observe.ts'
import { createPooledFetch } from './pooled-fetch.ts'
import { createCatchUpClock } from './catch-up-clock.ts'
import { createTimeline, type Second, type Timeline } from './timeline.ts'

/** Far fewer than there are agents, far more than a server handles at a time. */
const CONNECTIONS = 256
const START_EVERY_MS = 5
const START_AT_ONCE = 20

/** Everything observed in a run. Times are milliseconds since its start. */
export interface FleetRun {
  readonly started_at: string
  readonly machine: ReturnType<typeof describeMachine>
  readonly extent: Extent
  readonly marks: {
    /** Start of the first agent. */
    readonly firstMs: number
    readonly changedMs: number
    readonly downMs: number
    readonly upMs: number
    readonly endMs: number
  }
  readonly seconds: readonly Second[]
  readonly samples: readonly Sample[]
  /**
   * Milliseconds from the change to its adoption, of the agents that adopted it before the outage;
   * ascending.
   */
  readonly adoptedMs: readonly number[]
  /** How many agents the server counted at the new revision before the outage. */
  readonly applied: number
}

/** Runs a fleet against one server: at rest, through a change and through an outage. */
export async function runFleet(
  extent: Extent,
  tell: (line: string) => void,
  start: typeof startServer = startServer,
): Promise<FleetRun> {
  const started_at = new Date().toISOString()
  const folder = mkdtempSync(join(tmpdir(), 'palisade-fleet-'))
  const data = join(folder, 'server')
  const port = await freePort()
  tell(`enrol ${extent.agents}`)
  const { agents } = extent
  // The last device is not part of the fleet: it fetches the initial state.
  const hasKey = (index: number): boolean =>
    index === agents ||
    isOneOf(extent.whole, index, agents) ||
    isOneOf(extent.fetching, index, agents)
  const filled = await fillFleet(data, { count: agents + 1, hasKey }, `http://127.0.0.1:${port}`)
  let server = await start(data, {}, port)
  const startedMs = performance.now()
  const since = (): number => performance.now() - startedMs
  const timeline = createTimeline(() => performance.now())
  const observer = observe(startedMs)
  observer.watch(server)
  try {
    const [signedIn] = await signIn(port, [filled])
    if (signedIn === undefined) throw new Error('no editor signed in')
    const fleet = createFleet(filled, join(folder, 'agents'), timeline)
    await fleet.create(extent)
    tell('start all agents')
    const firstMs = since()
    await fleet.start(extent)
    tell('steady')
    await sleep(extent.steadyMs)
    tell('change')
    const changedMs = since()
    await addRule(port, signedIn)
    await sleep(extent.changeMs)
    const adoptedMs = fleet.adoptedAt().map((atMs) => atMs - startedMs - changedMs)
    const applied = await countApplied(port, signedIn, fleet.revision())
    tell(`${adoptedMs.length} updated, ${applied} by the server's count; outage`)
    const downMs = since()
    observer.watch(null)
    process.kill(server.pid, 'SIGKILL')
    await sleep(extent.outageMs)
    tell('back')
    const upMs = since()
    server = await start(data, {}, port)
    observer.watch(server)
    await sleep(extent.backMs)
    const marks = { firstMs, changedMs, downMs, upMs, endMs: since() }
    const seconds = timeline.seconds().slice(0, Math.floor(marks.endMs / 1000))
    const found = { marks, seconds, samples: observer.samples(), adoptedMs, applied }
    return { started_at, machine: describeMachine(), extent, ...found }
  } finally {
    observer.stop()
    kill(server)
    rmSync(folder, { recursive: true, force: true })
  }
}

function kill({ pid }: MeasuredProcess): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already exited.
  }
}

interface Fleet {
  create(extent: Extent): Promise<void>
  /** Resolves when the last agent has begun. */
  start(extent: Extent): Promise<void>
  /** The newest revision that an agent adopted. */
  revision(): number
  /** When each agent adopted it, ascending, by the monotonic clock. */
  adoptedAt(): number[]
}

function createFleet(filled: FilledFleet, folder: string, timeline: Timeline): Fleet {
  const fetch = createPooledFetch(CONNECTIONS, timeline)
  const devices = filled.devices.slice(0, -1)
  const first = filled.devices.at(-1)
  if (first === undefined) throw new Error('the fleet has no device')
  const root = rootOf(first.enrolment)
  const clock = createCatchUpClock(Date.now, setImmediate)
  const schedule = createSchedule(SCHEDULE, clock)
  const created: { start(): void }[] = []
  const adopted = new Map<number, number>()
  let newest = 0

  const adopt = (index: number): void => {
    if (adopted.has(index)) return
    adopted.set(index, performance.now())
    timeline.adopted()
  }
  /** Fetches the server's current state, which all agents start with. */
  const learn = (): Promise<LightState> =>
    new Promise((resolve, reject) => {
      createLightAgent(first, null, {
        fetch,
        schedule,
        clock,
        root,
        fetches: true,
        phase: 0,
        onState: resolve,
        onOutcome: ({ error }) => error && reject(new Error(error.message)),
      }).start()
    })

  return {
    async create({ whole, fetching, agents }) {
      const known = await learn()
      const create = (device: FleetDevice, index: number): { start(): void } => {
        const phase = (index + 0.5) / agents
        const onOutcome = ({ revision }: SyncOutcome): void => {
          newest = Math.max(newest, revision ?? 0)
          if (revision !== null && revision > known.revision) adopt(index)
        }
        const from = { fetch, schedule, clock, phase }
        if (isOneOf(whole, index, agents))
          return createWholeAgent(device, { ...from, folder, onOutcome })
        if (isOneOf(fetching, index, agents))
          return createLightAgent(device, known, { ...from, root, fetches: true, onOutcome })
        return createLightAgent(device, known, {
          ...from,
          root,
          fetches: false,
          onOutcome: () => undefined,
          onState: ({ snapshot }) => void (snapshot > known.snapshot && adopt(index)),
        })
      }
      for (const [index, device] of devices.entries()) created.push(create(device, index))
    },
    async start({ rampMs, agents }) {
      const beganMs = Date.now()
      // In a full run each agent starts at its own tick, so that the load is steady from the start.
      const plan = created.map((agent, index) => {
        const phase = (index + 0.5) / agents
        const tickMs = (phase * PERIOD_MS - (beganMs % PERIOD_MS) + PERIOD_MS) % PERIOD_MS
        return { agent, atMs: (tickMs / PERIOD_MS) * rampMs }
      })
      plan.sort((a, b) => a.atMs - b.atMs)
      let next = 0
      while (next < plan.length) {
        // In small batches, so that the event loop can send their requests between the batches.
        for (let n = 0; n < START_AT_ONCE; n += 1) {
          const each = plan[next]
          if (each === undefined || each.atMs > Date.now() - beganMs) break
          each.agent.start()
          next += 1
        }
        await sleep(START_EVERY_MS)
      }
    },
    revision: () => newest,
    adoptedAt: () => [...adopted.values()].toSorted((a, b) => a - b),
  }
}

async function addRule(port: number, { org, policyIds, accessTokens }: SignedIn): Promise<void> {
  const url = `http://127.0.0.1:${port}/v2/orgs/${org}/governance/policies/${policyIds[0]}/rules`
  const rule = {
    name: 'added',
    actions: ['connect:tcp'],
    decision: 'deny',
    resources: ['added.example.com:443'],
  }
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${accessTokens[0]}`,
      'content-type': 'application/json',
      // A kept-alive connection may be closed before the next request.
      connection: 'close',
    },
    body: JSON.stringify(rule),
  })
  if (answer.status !== 201) throw new Error(`no rule: ${answer.status} ${await answer.text()}`)
}

/** Reads the count from the server's own revision status. */
async function countApplied(port: number, signedIn: SignedIn, revision: number): Promise<number> {
  const url = `http://127.0.0.1:${port}/api/v1/orgs/${signedIn.org}/revisions/${revision}`
  const headers = { authorization: `Bearer ${signedIn.accessTokens[0]}`, connection: 'close' }
  const answer = await fetch(url, { headers })
  if (!answer.ok) throw new Error(`no revision: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { applied: number }).applied
}
